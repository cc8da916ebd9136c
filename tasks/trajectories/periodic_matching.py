"""RMSD of a periodic structure from a reference, for any origin, cell and images of its atoms."""

from __future__ import annotations

import numpy as np

from tasks.structures.frames import Bool, Float
from tasks.trajectories.minimum_image import shortest_vectors

# Atoms whose displacement is tried as the common one: any of them will do unless atoms moved by a quarter of the cell.
MAX_ORIGINS = 20
MAX_ROUNDS = 10


def crystal_displacements(positions: Float, cell: Float, reference: Float, reference_cell: Float) -> Float:
    """(n, 3) displacements [Å] of `positions` in `cell` from `reference` in `reference_cell`.

    The structure is periodic in all directions. Displacements are differences of fractional coordinates in units of
    the reference's cell. So a crystal that is strained as a whole, or turned, is not displaced: cells are compared by
    their volumes.

    Args:
        positions, reference: (n, 3) [Å] of the same atoms in the same order.
        cell, reference_cell: (3, 3) [Å], the same vectors of the lattice.
    """
    fractional = np.linalg.solve(cell.T, positions.T).T - np.linalg.solve(reference_cell.T, reference.T).T
    return np.asarray(fractional @ reference_cell)


def matched(displacements: Float, cell: Float, pbc: Bool) -> Float:
    """(n, 3) `displacements` [Å] without a common translation, each as its shortest periodic image in `cell`.

    The displacement of one atom after another is taken as the common translation, at most the first 20. The shortest
    images of what remains are taken, and their mean is added to the translation, until no image changes. The
    translation with the least sum of squares is the result.
    """
    best: Float | None = None
    for origin in displacements[:MAX_ORIGINS]:
        remaining = _settled(displacements, origin, cell, pbc)
        if best is None or (remaining**2).sum() < (best**2).sum():
            best = remaining
    assert best is not None  # a structure has atoms
    return best


def _settled(displacements: Float, translation: Float, cell: Float, pbc: Bool) -> Float:
    for _ in range(MAX_ROUNDS):
        images = nearest(displacements - translation, cell, pbc)
        mean = images.mean(axis=0)
        translation = translation + mean
        if np.abs(mean).max() < 1e-12:
            break
    return np.asarray(images - mean)


def nearest(vectors: Float, cell: Float, pbc: Bool) -> Float:
    """(n, 3) the shortest periodic images of `vectors` (n, 3) [Å] in `cell` (3, 3) [Å]."""
    return np.asarray(shortest_vectors(vectors[None], cell[None], pbc)[0])
