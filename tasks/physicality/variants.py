"""Structures in other guises: turned, moved, renumbered, described by another cell, doubled, displaced, strained.

What a variant should be answered follows from the answer to its original: the energy times how often the original is in
it, the forces of each atom's original, turned as it was. Each guise changes one thing and leaves the centroid where it
is (but for the translation, whose point it is), so that what fails names what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Bool, Float, Frames, Int
from tasks.structures.rotations import random_rotation

FARTHEST = 10.0  # Å, of each component of a translation
# Strains in Voigt order xx, yy, zz, yz, xz, xy: which components of the symmetric matrix are strained.
VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))


class One(NamedTuple):
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
        return np.asarray(self.positions.mean(axis=0))


class Guise(NamedTuple):
    """A structure in another guise.

    Args:
        positions: (m, 3) [Å].
        cell: (3, 3) [Å].
        atom: (m,) which atom of the original each atom is.
        rotation: (3, 3) by which the forces are turned.
    """

    positions: Float
    cell: Float
    atom: Int
    rotation: Float


Make = Callable[[One, np.random.Generator, int, float], list[Guise]]


def _same(one: One, positions: Float, cell: Float | None = None) -> Guise:
    atoms = np.arange(len(one.positions))
    return Guise(positions, one.cell if cell is None else cell, atoms, np.eye(3))


def _turned(one: One, rng: np.random.Generator, n: int, _: float) -> list[Guise]:
    """Rotated about the centroid."""
    made = []
    for _k in range(n):
        rotation = random_rotation(rng)
        positions = one.centroid + (one.positions - one.centroid) @ rotation.T
        made.append(_same(one, positions, one.cell @ rotation.T)._replace(rotation=rotation))
    return made


def _moved(one: One, rng: np.random.Generator, n: int, _: float) -> list[Guise]:
    """Translated, out of the cell or not."""
    return [_same(one, one.positions + rng.uniform(-FARTHEST, FARTHEST, 3)) for _k in range(n)]


def _renumbered(one: One, rng: np.random.Generator, n: int, _: float) -> list[Guise]:
    """Atoms in another order."""
    atoms = np.arange(len(one.positions))
    orders = [rng.permutation(atoms) for _k in range(n if len(atoms) > 1 else 0)]
    orders = [np.roll(order, 1) if np.array_equal(order, atoms) else order for order in orders]
    return [_same(one, one.positions[order])._replace(atom=order) for order in orders]


def _other_images(one: One, rng: np.random.Generator, n: int, _: float) -> list[Guise]:
    """Half of the atoms moved by lattice vectors, the other half by the opposite ones."""
    pairs = len(one.positions) // 2
    made = []
    for _k in range(n if pairs and one.pbc.any() else 0):
        order = rng.permutation(len(one.positions))
        shift = rng.choice([-2, -1, 1, 2], (pairs, 3)) * one.pbc @ one.cell
        positions = one.positions.copy()
        positions[order[:pairs]] += shift
        positions[order[pairs : 2 * pairs]] -= shift
        made.append(_same(one, positions))
    return made


def _other_vectors(one: One, rng: np.random.Generator, n: int, _: float) -> list[Guise]:
    """The same lattice by other vectors: to one another one is added, or taken from it."""
    choices = [(first, second, sign) for first, second in permutations(one.periodic, 2) for sign in (1, -1)]
    made = []
    for k in rng.permutation(len(choices))[:n]:
        first, second, sign = choices[k]
        cell = one.cell.copy()
        cell[first] += sign * cell[second]
        made.append(_same(one, one.positions, cell))
    return made


def _doubled_cells(one: One, _rng: np.random.Generator, n: int, _: float) -> list[Guise]:
    """Two cells in one, along each periodic direction in turn."""
    made = []
    for direction in one.periodic[:n]:
        vector = one.cell[direction]
        cell = one.cell.copy()
        cell[direction] *= 2.0
        made.append(_twice(one, vector / 2.0, cell))
    return made


def _two_fragments(one: One, rng: np.random.Generator, n: int, separation: float) -> list[Guise]:
    """A molecule and its copy, too far apart to feel each other."""
    made = []
    for _k in range(0 if one.pbc.any() else n):
        direction = rng.normal(size=3)
        made.append(_twice(one, direction / np.linalg.norm(direction) * separation / 2.0, one.cell))
    return made


def _twice(one: One, half: Float, cell: Float) -> Guise:
    positions = np.concatenate([one.positions - half, one.positions + half])
    return Guise(positions, cell, np.tile(np.arange(len(one.positions)), 2), np.eye(3))


def _again(one: One, _rng: np.random.Generator, _n: int, _: float) -> list[Guise]:
    return [_same(one, one.positions)]


# By probe, in the order in which they are asked: what is asked again comes last, when all else has been asked between.
PROBES: dict[str, Make] = {
    "rotation": _turned,
    "translation": _moved,
    "permutation": _renumbered,
    "image": _other_images,
    "lattice": _other_vectors,
    "supercell": _doubled_cells,
    "fragments": _two_fragments,
    "repeat": _again,
}


@dataclass(frozen=True, eq=False)
class Variants:
    """v structures with V atoms, made from n with N.

    Args:
        probe: (v,) index in `PROBES`.
        original: (v,) of which structure.
        atom: (V,) of which of the N atoms each is a copy.
        rotation: (v, 3, 3) forces should be those of the original times its transpose.
    """

    frames: Frames
    probe: Int
    original: Int
    atom: Int
    rotation: Float


def variants(frames: Frames, rng: np.random.Generator, n: int, separation: float) -> Variants:
    """Each of `frames` in `n` guises of each probe that applies to it; asked again once, from the last to the first."""
    made: list[tuple[int, int, Guise]] = []
    for probe, (name, make) in enumerate(PROBES.items()):
        order = range(len(frames))[::-1] if name == "repeat" else range(len(frames))
        for index in order:
            one = One(frames.positions[frames.atom_slice(index)], frames.cell[index], frames.pbc[index])
            made += [(probe, index, guise) for guise in make(one, rng, n, separation)]
    probes, originals, guises = zip(*made, strict=True)
    original = np.array(originals, np.int64)
    atom = np.concatenate([frames.offsets[i] + g.atom for i, g in zip(original, guises, strict=True)])
    return Variants(
        frames=_frames(frames, original, atom, guises),
        probe=np.array(probes, np.int64),
        original=original,
        atom=atom,
        rotation=np.array([guise.rotation for guise in guises]),
    )


def _frames(frames: Frames, original: Int, atom: Int, guises: Sequence[Guise]) -> Frames:
    n_atoms = np.array([len(guise.atom) for guise in guises])
    copies = n_atoms // frames.n_atoms[original]
    multiplicity = frames.multiplicity[original]
    return Frames(
        n_atoms=n_atoms,
        numbers=frames.numbers[atom],
        positions=np.concatenate([guise.positions for guise in guises]),
        cell=np.array([guise.cell for guise in guises]),
        pbc=frames.pbc[original],
        charge=copies * frames.charge[original],
        # Two spins side by side add up; where none is stated, none is.
        multiplicity=np.where(multiplicity > 0, copies * (multiplicity - 1) + 1, 0),
    )


def directions(frames: Frames, rng: np.random.Generator, n: int) -> Float:
    """(n, N, 3) random directions in which the atoms of each structure move, each of length 1 in its 3 × atoms."""
    free = rng.normal(size=(n, len(frames.numbers), 3))
    squared = np.add.reduceat((free**2).sum(axis=2), frames.offsets[:-1], axis=1)
    return np.asarray(free / np.sqrt(squared)[:, frames.frame_index, None])


def displaced(frames: Frames, along: Float, steps: Sequence[float]) -> Frames:
    """len(along) × len(steps) × 2 × n structures: forth and back along each direction (…, N, 3), by each step [Å]."""
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
    made = []
    for row, column in VOIGT:
        for signed in (signed for step in steps for signed in (step, -step)):
            deformation = np.eye(3)
            deformation[row, column] = deformation[column, row] = deformation[row, column] + signed
            positions = middle + (frames.positions - middle) @ deformation
            made.append(frames.moved(positions, frames.cell @ deformation))
    return Frames.concatenate(made)
