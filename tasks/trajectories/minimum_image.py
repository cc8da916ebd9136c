"""Shortest vectors between atoms in periodic cells of any shape."""

from __future__ import annotations

import itertools

import numpy as np
from ase.cell import Cell
from ase.geometry import minkowski_reduce

from tasks.structures.frames import Bool, Float

# In a reduced cell the shortest image is at most one cell away from the rounded one, as in `ase.geometry.find_mic`.
NEIGHBOUR_CELLS = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=3)))
OWN_CELL = np.zeros((1, 3))


def reduced_cells(cells: Float, pbc: Bool) -> Float:
    """(f, 3, 3) cells of the same lattices with the shortest vectors [Å]; directions without period are filled up.

    Args:
        cells: (f, 3, 3) [Å].
        pbc: (3,) periodic directions; the vectors of the others are ignored.
    """
    # Most runs have one cell, in all frames.
    distinct, frame_cell = np.unique(cells, axis=0, return_inverse=True)
    reduced = np.empty_like(distinct)
    for index, cell in enumerate(distinct):
        complete = Cell(np.where(pbc[:, None], cell, 0.0)).complete()
        reduced[index] = minkowski_reduce(complete, pbc)[0] if pbc.any() else complete
    return reduced[frame_cell.reshape(-1)]


def largest_right_distance(cells: Float, pbc: Bool) -> float:
    """Half of the shortest lattice vector of all frames [Å]: up to here no atom has two images of another one."""
    if not pbc.any():
        return float("inf")
    return float(np.linalg.norm(reduced_cells(cells, pbc)[:, pbc], axis=2).min() / 2)


def is_rectangular(reduced: Float) -> bool:
    """Whether the vectors of all cells (f, 3, 3) are at right angles, so that rounding gives the shortest image."""
    metric = reduced @ reduced.transpose(0, 2, 1)
    squares = np.einsum("fii->fi", metric)
    scale = np.sqrt(squares[:, :, None] * squares[:, None, :])
    return bool((np.abs(metric - squares[:, :, None] * np.eye(3)) <= 1e-12 * scale).all())


def shortest_vectors(vectors: Float, cells: Float, pbc: Bool) -> Float:
    """(f, n, 3) the shortest periodic images of `vectors` (f, n, 3) [Å] in `cells` (f, 3, 3) [Å]."""
    if not pbc.any():
        return vectors
    reduced = reduced_cells(cells, pbc)
    scaled = vectors @ np.linalg.inv(reduced)
    rounded = (scaled - np.where(pbc, np.rint(scaled), 0.0)) @ reduced
    if is_rectangular(reduced):
        return np.asarray(rounded)
    shortest = rounded
    for shift in NEIGHBOUR_CELLS[(NEIGHBOUR_CELLS[:, ~pbc] == 0).all(axis=1)]:
        shifted = rounded + (shift @ reduced)[:, None, :]
        shorter = np.einsum("fni,fni->fn", shifted, shifted) < np.einsum("fni,fni->fn", shortest, shortest)
        shortest = np.where(shorter[:, :, None], shifted, shortest)
    return np.asarray(shortest)
