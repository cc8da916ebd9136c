"""Neighbours within a distance, in one frame: periodic in any directions, cells of any shape and size."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from ase.cell import Cell

from tasks.structures.frames import Bool, Float, Int


class NeighbourPairs(NamedTuple):
    """n pairs of a centre and a neighbour, in the order of the centres.

    Args:
        centre, neighbour: (n,) rows of the two sets of positions.
        vectors: (n, 3) from the centre to that image of the neighbour [Å].
    """

    centre: Int
    neighbour: Int
    vectors: Float


class _Images(NamedTuple):
    """Centres (n, 3) inside the cell, and images (k, 3) of other atoms as far as `distance` around it [Å]."""

    centres: Float
    positions: Float
    atom: Int


def neighbour_pairs(centres: Float, others: Float, cell: Float, pbc: Bool, distance: float) -> NeighbourPairs:
    """The pairs of `centres` (n, 3) and `others` (m, 3) up to `distance` apart [Å], each image a pair of its own."""
    from scipy.spatial import cKDTree  # slow to import, and only needed here

    images = _images(centres, others, cell, pbc, distance)
    found: Any = cKDTree(images.positions).query_ball_point(images.centres, distance)
    counts = np.array([len(indices) for indices in found], np.int64)
    image = np.concatenate([np.asarray(indices, np.int64) for indices in found])
    centre = np.repeat(np.arange(len(centres)), counts)
    return NeighbourPairs(centre, images.atom[image], images.positions[image] - images.centres[centre])


def nearest_distances(centres: Float, others: Float, cell: Float, pbc: Bool, distance: float, rank: int = 1) -> Float:
    """(n,) distance [Å] from each of `centres` (n, 3) to the `rank`-th nearest of `others`; inf beyond `distance`.

    With `rank` 2, `others` may hold the centres themselves, each at distance 0 from itself.
    """
    from scipy.spatial import cKDTree

    images = _images(centres, others, cell, pbc, distance)
    # The tree leaves out what is exactly as far as its bound.
    bound = np.nextafter(distance, np.inf)
    nearest, _ = cKDTree(images.positions).query(images.centres, k=[rank], distance_upper_bound=bound)
    return np.asarray(nearest, np.float64)[:, 0]


def _images(centres: Float, others: Float, cell: Float, pbc: Bool, distance: float) -> _Images:
    """The centres inside the cell, and the images of `others` that can be within `distance` of one of them."""
    if not pbc.any():
        return _Images(centres, others, np.arange(len(others)))
    complete = np.asarray(Cell(np.where(pbc[:, None], cell, 0.0)).complete())
    inverse = np.linalg.inv(complete)
    margins = distance * np.linalg.norm(inverse, axis=0) * (1 + 1e-9)
    scaled, atom = others @ inverse, np.arange(len(others))
    scaled -= np.where(pbc, np.floor(scaled), 0.0)
    for direction in np.flatnonzero(pbc):
        margin, unit = margins[direction], np.eye(3)[direction]
        reach = int(np.ceil(margin))
        shifted = scaled[None] + np.arange(-reach, reach + 1)[:, None, None] * unit
        near = (shifted[..., direction] >= -margin) & (shifted[..., direction] <= 1 + margin)
        scaled, atom = shifted[near], np.broadcast_to(atom, near.shape)[near]
    inside = centres @ inverse
    inside -= np.where(pbc, np.floor(inside), 0.0)
    return _Images(inside @ complete, scaled @ complete, atom)
