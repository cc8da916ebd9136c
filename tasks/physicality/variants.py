"""Transformed copies of structures: rotated, translated, reordered, in another cell, doubled, displaced, strained.

The right answer to a copy follows from the answer to its original: the energy times the number of originals in it, and
the forces of each atom's original, rotated alike. Each transformation changes one thing and keeps the centroid (except
the translation), so that a failure names its cause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Bool, Float, Frames, Int
from tasks.structures.rotations import other_order, random_rotation

FARTHEST = 10.0  # Å, of each component of a translation
# Strains in Voigt order xx, yy, zz, yz, xz, xy: the components of the symmetric matrix that are strained.
VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))


class Original(NamedTuple):
    """One structure: positions (n, 3) and cell (3, 3) [Å], pbc (3,)."""

    positions: Float
    cell: Float
    pbc: Bool

    @property
    def periodic(self) -> Int:
        """The periodic directions."""
        return np.flatnonzero(self.pbc)

    @property
    def centroid(self) -> Float:
        """(3,) [Å]."""
        return np.asarray(self.positions.mean(axis=0))

    def copy(self, positions: Float, cell: Float | None = None) -> TransformedCopy:
        """The same atoms at other positions (n, 3) [Å], and in another cell (3, 3) [Å] if one is given."""
        atom = np.arange(len(self.positions))
        return TransformedCopy(positions, self.cell if cell is None else cell, atom, np.eye(3))

    def twice(self, half: Float, cell: Float) -> TransformedCopy:
        """The structure at minus and at plus the vector `half` (3,) [Å]."""
        positions = np.concatenate([self.positions - half, self.positions + half])
        return TransformedCopy(positions, cell, np.tile(np.arange(len(self.positions)), 2), np.eye(3))


class TransformedCopy(NamedTuple):
    """A transformed copy of one structure.

    Args:
        positions: (m, 3) [Å].
        cell: (3, 3) [Å].
        atom: (m,) which atom of the original each atom is.
        rotation: (3, 3) by which the forces are rotated.
    """

    positions: Float
    cell: Float
    atom: Int
    rotation: Float


# From an original, a generator, the number of copies and the separation of fragments [Å].
MakeCopies = Callable[[Original, np.random.Generator, int, float], list[TransformedCopy]]


def _rotated(original: Original, rng: np.random.Generator, n: int, _: float) -> list[TransformedCopy]:
    """Rotated about the centroid."""
    copies = []
    for _k in range(n):
        rotation = random_rotation(rng)
        positions = original.centroid + (original.positions - original.centroid) @ rotation.T
        copies.append(original.copy(positions, original.cell @ rotation.T)._replace(rotation=rotation))
    return copies


def _translated(original: Original, rng: np.random.Generator, n: int, _: float) -> list[TransformedCopy]:
    """Translated, without wrapping into the cell."""
    return [original.copy(original.positions + rng.uniform(-FARTHEST, FARTHEST, 3)) for _k in range(n)]


def _reordered(original: Original, rng: np.random.Generator, n: int, _: float) -> list[TransformedCopy]:
    """Atoms in another order."""
    n_atoms = len(original.positions)
    orders = [other_order(n_atoms, rng) for _k in range(n if n_atoms > 1 else 0)]
    return [original.copy(original.positions[order])._replace(atom=order) for order in orders]


def _other_images(original: Original, rng: np.random.Generator, n: int, _: float) -> list[TransformedCopy]:
    """Half of the atoms moved by lattice vectors, the other half by the opposite ones."""
    pairs = len(original.positions) // 2
    copies = []
    for _k in range(n if pairs and original.pbc.any() else 0):
        order = rng.permutation(len(original.positions))
        shift = rng.choice([-2, -1, 1, 2], (pairs, 3)) * original.pbc @ original.cell
        positions = original.positions.copy()
        positions[order[:pairs]] += shift
        positions[order[pairs : 2 * pairs]] -= shift
        copies.append(original.copy(positions))
    return copies


def _other_vectors(original: Original, rng: np.random.Generator, n: int, _: float) -> list[TransformedCopy]:
    """The same lattice with other vectors. The first copy, and then every other one, has the other handedness."""
    size = len(original.periodic)
    copies = []
    # A single vector has no other form than its inverse.
    for k in range(min(n, 1) if size == 1 else n * bool(size)):
        change = np.eye(3)
        change[np.ix_(original.periodic, original.periodic)] = change_of_basis(rng, size, 1 if k % 2 else -1)
        copies.append(original.copy(original.positions, change @ original.cell))
    return copies


def change_of_basis(rng: np.random.Generator, size: int, determinant: int) -> Float:
    """A random unimodular matrix (size, size): its rows are lattice vectors that span the same lattice.

    It adds vectors to others or subtracts them, exchanges and inverts some. These generate every change of basis.

    Args:
        determinant: 1, or -1 for a lattice of the other handedness.
    """
    pairs = [(row, column) for row in range(size) for column in range(row)]
    sums = np.eye(size)
    for row, column in pairs:
        sums[row, column] = rng.integers(-1, 2)
    if pairs:  # at least one sum
        sums[pairs[rng.integers(len(pairs))]] = rng.choice([-1, 1])
    exchanged = sums[rng.permutation(size)][:, rng.permutation(size)]
    matrix: Float = rng.choice([-1, 1], size)[:, None] * exchanged
    if np.linalg.det(matrix) * determinant < 0:
        matrix[0] *= -1
    return matrix


def _doubled_cells(original: Original, _rng: np.random.Generator, n: int, _: float) -> list[TransformedCopy]:
    """Two cells in one, along each periodic direction in turn."""
    copies = []
    for direction in original.periodic[:n]:
        vector = original.cell[direction]
        cell = original.cell.copy()
        cell[direction] *= 2.0
        copies.append(original.twice(vector / 2.0, cell))
    return copies


def _two_fragments(original: Original, rng: np.random.Generator, n: int, separation: float) -> list[TransformedCopy]:
    """A molecule and its copy, too far apart to interact."""
    copies = []
    for _k in range(0 if original.pbc.any() else n):
        direction = rng.normal(size=3)
        copies.append(original.twice(direction / np.linalg.norm(direction) * separation / 2.0, original.cell))
    return copies


def _unchanged(original: Original, _rng: np.random.Generator, _n: int, _: float) -> list[TransformedCopy]:
    return [original.copy(original.positions)]


# By probe, in the order of the questions: the repeated ones come last, after all others.
PROBES: dict[str, MakeCopies] = {
    "rotation": _rotated,
    "translation": _translated,
    "permutation": _reordered,
    "image": _other_images,
    "lattice": _other_vectors,
    "supercell": _doubled_cells,
    "fragments": _two_fragments,
    "repeat": _unchanged,
}


@dataclass(frozen=True, eq=False)
class Variants:
    """The v transformed copies, with V atoms, of n structures with N atoms.

    Args:
        probe: (v,) index in `PROBES`.
        original: (v,) which structure each is a copy of.
        atom: (V,) which of the N atoms each atom is a copy of.
        rotation: (v, 3, 3) the forces must be those of the original times its transpose.
    """

    frames: Frames
    probe: Int
    original: Int
    atom: Int
    rotation: Float


def variants(frames: Frames, rng: np.random.Generator, n: int, separation: float) -> Variants:
    """For each probe, `n` copies of each of `frames` to which it applies; of the repeats one, in reverse order.

    Args:
        separation: of two fragments [Å].
    """
    rows: list[tuple[int, int, TransformedCopy]] = []
    for probe, (name, make) in enumerate(PROBES.items()):
        order = range(len(frames))[::-1] if name == "repeat" else range(len(frames))
        for index in order:
            original = Original(frames.positions[frames.atom_slice(index)], frames.cell[index], frames.pbc[index])
            rows += [(probe, index, copy) for copy in make(original, rng, n, separation)]
    probes, originals, copies = zip(*rows, strict=True)
    index_of = np.array(originals, np.int64)
    atom = np.concatenate([frames.offsets[i] + copy.atom for i, copy in zip(index_of, copies, strict=True)])
    return Variants(
        frames=_frames(frames, index_of, atom, copies),
        probe=np.array(probes, np.int64),
        original=index_of,
        atom=atom,
        rotation=np.array([copy.rotation for copy in copies]),
    )


def _frames(frames: Frames, original: Int, atom: Int, copies: Sequence[TransformedCopy]) -> Frames:
    n_atoms = np.array([len(copy.atom) for copy in copies])
    times = n_atoms // frames.n_atoms[original]
    multiplicity = frames.multiplicity[original]
    return Frames(
        n_atoms=n_atoms,
        numbers=frames.numbers[atom],
        positions=np.concatenate([copy.positions for copy in copies]),
        cell=np.array([copy.cell for copy in copies]),
        pbc=frames.pbc[original],
        charge=times * frames.charge[original],
        # Two spins side by side add up; if the original states none, the copy states none.
        multiplicity=np.where(multiplicity > 0, times * (multiplicity - 1) + 1, 0),
        initial_magmoms=None if frames.initial_magmoms is None else frames.initial_magmoms[atom],
    )


def directions(frames: Frames, rng: np.random.Generator, n: int) -> Float:
    """(n, N, 3) random directions in which the atoms of each structure move, of length 1 over all its coordinates."""
    deviates = rng.normal(size=(n, len(frames.numbers), 3))
    squared = np.add.reduceat((deviates**2).sum(axis=2), frames.offsets[:-1], axis=1)
    return np.asarray(deviates / np.sqrt(squared)[:, frames.frame_index, None])


def displaced(frames: Frames, along: Float, steps: Sequence[float]) -> Frames:
    """len(along) × len(steps) × 2 × n structures: forward and back along each direction (…, N, 3), by each step [Å]."""
    moved = [
        frames.moved(frames.positions + signed * direction)
        for direction in along
        for step in steps
        for signed in (step, -step)
    ]
    return Frames.concatenate(moved)


def strained(frames: Frames, steps: Sequence[float]) -> Frames:
    """6 × len(steps) × 2 × n structures: strained by ±each step along each component of Voigt's order."""
    centroid = np.add.reduceat(frames.positions, frames.offsets[:-1], axis=0) / frames.n_atoms[:, None]
    middle = centroid[frames.frame_index]
    strained_frames = []
    for row, column in VOIGT:
        for signed in (signed for step in steps for signed in (step, -step)):
            deformation = np.eye(3)
            deformation[row, column] = deformation[column, row] = deformation[row, column] + signed
            positions = middle + (frames.positions - middle) @ deformation
            strained_frames.append(frames.moved(positions, frames.cell @ deformation))
    return Frames.concatenate(strained_frames)
