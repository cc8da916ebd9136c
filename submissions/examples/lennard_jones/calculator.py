"""A Lennard-Jones potential with argon's parameters for every element, and a `compute_batch`.

It is wrong for nearly everything, but exact in every derivative and able to answer any structure: a floor for the
leaderboard, and the example for authors who want whole batches. The pair energy and the pair force both go
smoothly to zero at the cutoff:

    E(r) = φ(r) − φ(r_c) − (r − r_c) φ'(r_c),   φ(r) = 4ε[(σ/r)¹² − (σ/r)⁶]
"""

from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes
from ase.geometry import complete_cell
from scipy.spatial import cKDTree

EPSILON = 0.0103  # eV, argon
SIGMA = 3.4  # Å, argon
CUTOFF = 3 * SIGMA  # Å
VOIGT = ([0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1])  # xx, yy, zz, yz, xz, xy


class Pairs(NamedTuple):
    """Each pair within the cutoff, seen from both of its atoms."""

    first: np.ndarray  # (m,) int: index of the atom
    vector: np.ndarray  # (m, 3) Å: from the atom to its neighbour


def find_pairs(atoms: Atoms) -> Pairs:
    """All neighbours within `CUTOFF`, images of the atom itself included."""
    positions, cell, pbc = atoms.positions, complete_cell(atoms.cell), atoms.pbc
    inverse = np.linalg.inv(cell)
    home = positions - np.where(pbc, np.floor(positions @ inverse), 0.0) @ cell
    # Planes of the lattice along axis i lie 1/|row i of the inverse transpose| apart.
    spacing = 1.0 / np.linalg.norm(inverse, axis=0)
    reach = np.where(pbc, np.ceil(CUTOFF / spacing), 0).astype(int)
    shifts = np.array(list(product(*(range(-n, n + 1) for n in reach)))) @ cell
    images = (home[None] + shifts[:, None]).reshape(-1, 3)
    near = np.all((images > home.min(0) - CUTOFF) & (images < home.max(0) + CUTOFF), axis=1)
    images = images[near]
    found = cKDTree(home).sparse_distance_matrix(cKDTree(images), CUTOFF, output_type="ndarray")
    # The only zero distance between different points is a collision, which deserves its infinite energy; an atom
    # and itself in the home cell is not a pair.
    itself = np.flatnonzero(near).reshape(-1) == (len(shifts) // 2) * len(home) + np.arange(len(home))[:, None]
    own = itself.argmax(axis=1)
    keep = found["j"] != own[found["i"]]
    first, second = found["i"][keep], found["j"][keep]
    return Pairs(first, images[second] - home[first])


def evaluate(batch: list[Atoms]) -> list[dict[str, Any]]:
    """Energy [eV], forces [eV/Å] and, with three periodic directions, stress [eV/Å³] of each structure."""
    pairs = [find_pairs(atoms) for atoms in batch]
    sizes = np.array([len(atoms) for atoms in batch])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    first = np.concatenate([p.first + start for p, start in zip(pairs, starts, strict=False)])
    vector = np.concatenate([p.vector for p in pairs])
    frame = np.repeat(np.arange(len(batch)), [len(p.first) for p in pairs])

    def phi(r: Any) -> tuple[Any, Any]:
        s6 = (SIGMA / r) ** 6
        return 4 * EPSILON * (s6 * s6 - s6), 24 * EPSILON * (s6 - 2 * s6 * s6) / r

    r = np.linalg.norm(vector, axis=1)
    (energy, slope), (end, end_slope) = phi(r), phi(CUTOFF)
    pair_energy = 0.5 * (energy - end - (r - CUTOFF) * end_slope)  # each pair is seen twice
    pair_force = ((slope - end_slope) / r)[:, None] * vector  # on the first atom

    def add_up(index: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
        return np.stack([np.bincount(index, column, n) for column in values.T], axis=-1)

    energies = np.bincount(frame, pair_energy, len(batch))
    forces = add_up(first, pair_force, int(starts[-1]))
    dyad = 0.5 * vector[:, VOIGT[0]] * pair_force[:, VOIGT[1]]
    strain_derivatives = add_up(frame, dyad, len(batch))

    results: list[dict[str, Any]] = []
    for n, atoms in enumerate(batch):
        result = {"energy": float(energies[n]), "forces": forces[starts[n] : starts[n + 1]]}
        if atoms.pbc.all():
            result["stress"] = strain_derivatives[n] / atoms.get_volume()
        results.append(result)
    return results


class LennardJones(Calculator):
    """The potential as an ASE calculator that also takes whole batches."""

    implemented_properties: ClassVar[list[str]] = ["energy", "forces", "stress"]

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: list[str] | None = None,
        system_changes: list[str] = all_changes,
    ) -> None:
        super().calculate(atoms, properties, system_changes)
        self.results = evaluate([self.atoms])[0]

    def compute_batch(self, atoms: list[Atoms], properties: list[str]) -> list[dict[str, Any] | Exception]:
        """One result a structure, in order; a structure that fails takes no other with it."""
        try:
            return list(evaluate(atoms))
        except Exception:  # noqa: BLE001 - whatever one structure does, the others are answered
            return [self._alone(one) for one in atoms]

    def _alone(self, atoms: Atoms) -> dict[str, Any] | Exception:
        try:
            return evaluate([atoms])[0]
        except Exception as error:  # noqa: BLE001
            return error


def make_calculator(device: str = "cpu", domain: str | None = None) -> LennardJones:
    """A Lennard-Jones calculator. It has one set of parameters and runs on the CPU, whatever is asked."""
    return LennardJones()
