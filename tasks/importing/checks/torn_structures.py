"""Structures that are torn across a cell vector along which they are not periodic: slabs that a program has wrapped.

Half of such a slab is at the bottom of the cell and half at the top, with a gap in place of the bonds. A structure is
torn if bonds across that boundary would join parts of it. Where atoms would overlap, the vector is no period.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from ase.data import covalent_radii
from ase.geometry import complete_cell
from ase.neighborlist import neighbor_list
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tasks.structures.frames import Float, Frames, Int

# Of the sum of two covalent radii: bonds of metals have up to 1.2 of it, and neighbours of other molecules 1.9.
BOND, OVERLAP = 1.3, 0.5
ROUNDING = 1e-3  # Å: atoms at both faces of the cell


class Tear(NamedTuple):
    """A structure that is torn.

    Args:
        direction: number of the cell vector.
        n_bonds: that cross the boundary.
    """

    structure: int
    direction: int
    n_bonds: int


def doubtful_tears(frames: Frames, ids: Sequence[str]) -> list[str]:
    """At most one line: the first structure that is torn, and how many there are.

    Args:
        ids: by structure, its name.
    """
    tears = list(find_tears(frames))
    if not tears:
        return []
    first, n = tears[0], len({tear.structure for tear in tears})
    more = f" ({n} structures in all)" if n > 1 else ""
    vector = "abc"[first.direction]
    return [
        f"positions: {ids[first.structure]}: is torn across its cell vector {vector}, along which it is not periodic: "
        f"{first.n_bonds} bonds cross that boundary{more}: move its atoms together, or state pbc there"
    ]


def find_tears(frames: Frames) -> Iterator[Tear]:
    """The structures that are torn, and where."""
    for direction in range(3):
        for index in _near_both_faces(frames, direction).tolist():
            n_bonds = _bonds_that_join(frames, index, direction)
            if n_bonds:
                yield Tear(index, direction, n_bonds)


def _near_both_faces(frames: Frames, direction: int) -> Int:
    """The structures with a cell vector in a direction that is not periodic, and atoms within a bond of both ends."""
    has_vector = ~frames.pbc[:, direction] & (np.abs(frames.cell[:, direction]).sum(axis=1) > 0)
    chosen = np.flatnonzero(has_vector & (frames.n_atoms > 1))
    if not chosen.size:
        return chosen
    part = frames.take(chosen)
    cells = part.cell.copy()
    for i in np.flatnonzero((np.abs(cells).sum(axis=2) == 0).any(axis=1)):
        cells[i] = complete_cell(cells[i])
    normals = np.cross(cells[:, direction - 2], cells[:, direction - 1])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.finfo(float).tiny)
    along = np.einsum("ai,ai->a", part.positions, normals[part.frame_index])
    starts = part.offsets[:-1]
    extents = np.maximum.reduceat(along, starts) - np.minimum.reduceat(along, starts)
    gaps = np.abs(np.einsum("ni,ni->n", cells[:, direction], normals)) - extents
    reach = 2 * BOND * np.maximum.reduceat(covalent_radii[part.numbers], starts)
    return np.asarray(chosen[(gaps > -ROUNDING) & (gaps < reach)])


def _bonds_that_join(frames: Frames, index: int, direction: int) -> int:
    """The bonds across a boundary, if they join parts of the structure that have no bonds to each other; else 0."""
    atoms = frames.atoms(index)
    atoms.pbc[direction] = True
    radii = covalent_radii[atoms.numbers]
    first, second, apart, shift = neighbor_list("ijdS", atoms, BOND * radii)
    crossing = shift[:, direction] != 0
    if (apart < OVERLAP * (radii[first] + radii[second]))[crossing].any():
        return 0
    inside = _n_parts(len(atoms), first[~crossing], second[~crossing])
    return int(crossing.sum()) // 2 if _n_parts(len(atoms), first, second) < inside else 0


def _n_parts(n: int, first: Int, second: Int) -> int:
    bonds: Float = np.ones(len(first))
    return int(connected_components(coo_array((bonds, (first, second)), shape=(n, n)))[0])
