"""What a trainer is tried on: frames of ethanol, labelled by a small analytic force field that is written here.

    E = Σ_bonds ½ k_b (r − r₀)² + Σ_angles ½ k_a (θ − θ₀)²

r₀ and θ₀ are those of ASE's geometry of ethanol, so that its energy is 0. Bonds are pairs closer than 1.7 Å (with
hydrogen: 1.2 Å); angles are all pairs of bonds that share an atom. The constants are of the size of real ones.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from submissions.preflight.public_structures import stated_molecule
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Labels

THEORY = "harmonic bonds and angles"
N_FRAMES = 60
SEED = 22
DISPLACEMENT = 0.04  # Å, standard deviation of each coordinate
BOND_CONSTANT, BOND_TO_HYDROGEN_CONSTANT = 30.0, 28.0  # eV/Å²
ANGLE_CONSTANT = 4.0  # eV/rad²
BOND_LENGTH, BOND_TO_HYDROGEN_LENGTH = 1.7, 1.2  # Å, the longest


def public_training_frames() -> tuple[Frames, Labels]:
    """`N_FRAMES` frames of ethanol with energies [eV] and forces [eV/Å]: the same ones in every call."""
    ethanol = stated_molecule("CH3CH2OH")
    field = HarmonicField(ethanol.numbers, ethanol.positions)
    displacements = np.random.default_rng(SEED).normal(0.0, DISPLACEMENT, (N_FRAMES, len(ethanol), 3))
    frames, energies, forces = [], [], []
    for displacement in displacements:
        displaced = ethanol.copy()
        displaced.positions += displacement
        energy, force = field.evaluate(displaced.positions)
        frames.append(displaced)
        energies.append(energy)
        forces.append(force)
    return Frames.from_atoms(frames), Labels(np.array(energies), np.concatenate(forces))


class HarmonicField:
    """The force field whose minimum is a given geometry.

    Args:
        numbers: (N,) atomic numbers.
        positions: (N, 3) [Å] of the minimum.
    """

    def __init__(self, numbers: np.ndarray, positions: Float) -> None:
        bonds = []
        for i, j in combinations(range(len(numbers)), 2):
            with_hydrogen = 1 in (numbers[i], numbers[j])
            longest = BOND_TO_HYDROGEN_LENGTH if with_hydrogen else BOND_LENGTH
            if np.linalg.norm(positions[i] - positions[j]) < longest:
                bonds.append((i, j, BOND_TO_HYDROGEN_CONSTANT if with_hydrogen else BOND_CONSTANT))
        self._first, self._second, constants = (np.array(column) for column in zip(*bonds, strict=True))
        self._bond_constants = constants.astype(float)
        ends = [{i, j} for i, j, _ in bonds]
        angles = [(min(a - b), min(a & b), min(b - a)) for a, b in combinations(ends, 2) if len(a & b) == 1]
        self._left, self._middle, self._right = (np.array(column) for column in zip(*angles, strict=True))
        self._lengths, _ = self._bonds(positions)
        self._angles, _, _ = self._angles_at(positions)

    def evaluate(self, positions: Float) -> tuple[float, Float]:
        """Energy [eV] and forces (N, 3) [eV/Å] at `positions` (N, 3) [Å]."""
        lengths, along = self._bonds(positions)
        angles, by_left, by_right = self._angles_at(positions)
        stretch, bend = lengths - self._lengths, angles - self._angles
        energy = 0.5 * float(self._bond_constants @ stretch**2 + ANGLE_CONSTANT * bend @ bend)
        gradient = np.zeros_like(positions)
        push = (self._bond_constants * stretch)[:, None] * along
        np.add.at(gradient, self._second, push)
        np.add.at(gradient, self._first, -push)
        left, right = ANGLE_CONSTANT * bend[:, None] * by_left, ANGLE_CONSTANT * bend[:, None] * by_right
        np.add.at(gradient, self._left, left)
        np.add.at(gradient, self._right, right)
        np.add.at(gradient, self._middle, -left - right)
        return energy, -gradient

    def _bonds(self, positions: Float) -> tuple[Float, Float]:
        """Lengths (b,) [Å], and unit vectors (b, 3) from each bond's first atom to its second."""
        vectors = positions[self._second] - positions[self._first]
        lengths = np.linalg.norm(vectors, axis=1)
        return lengths, vectors / lengths[:, None]

    def _angles_at(self, positions: Float) -> tuple[Float, Float, Float]:
        """Angles (a,) [rad], and their derivatives (a, 3) by the positions of the left and of the right atom."""
        left, right = positions[self._left] - positions[self._middle], positions[self._right] - positions[self._middle]
        a, b = np.linalg.norm(left, axis=1, keepdims=True), np.linalg.norm(right, axis=1, keepdims=True)
        u, v = left / a, right / b
        cosine = np.sum(u * v, axis=1, keepdims=True)
        sine = np.sqrt(1 - cosine**2)
        return np.arccos(cosine[:, 0]), (cosine * u - v) / (a * sine), (cosine * v - u) / (b * sine)
