"""Frames of one trajectory that another trajectory of the same molecule has, too, within a small RMSD.

Two frames are compared after superposition, mirrored or not, and with equivalent atoms exchanged: a model that knows
the one knows the other. Most pairs of frames need no superposition. Displacements δ of n atoms change the distance of
two atoms by at most |δᵢ − δⱼ|, and the sum over pairs of |δᵢ − δⱼ|² is at most n Σ |δᵢ|² = n² RMSD². So the distances
of two frames differ by at most n × RMSD in the Euclidean norm, and their projections by no more. Pairs of frames
beyond this bound are out, and the RMSD of the others is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Float, Int
from tasks.trajectories.equivalent_atoms import same_molecule_orders
from tasks.trajectories.pair_distances import MoleculeFrames, pair_distances
from tasks.trajectories.superposition import superposed

# Principal components of the distances in the first comparison.
COMPONENTS = 16
# Pairs of frames that are compared at once.
PAIRS_AT_ONCE = 10_000_000
CANDIDATES_AT_ONCE = 50_000
ROUNDING = 1e-6  # Å


class FrameOverlap(NamedTuple):
    """The frames of a trajectory that lie near a frame of another one.

    Args:
        frames: (k,) their places in the first trajectory, increasing.
        nearest: (k,) the place in the other trajectory of the nearest frame.
        rmsd: (k,) its distance [Å].
    """

    frames: Int
    nearest: Int
    rmsd: Float


def frame_overlap(first: MoleculeFrames, other: MoleculeFrames, within: float) -> FrameOverlap | None:
    """The frames of `first` within an RMSD of `within` [Å] of a frame of `other`; None if these are other molecules.

    The order of atoms may differ between the two: `tasks.trajectories.equivalent_atoms` states which are matched.
    """
    orders = same_molecule_orders(first, other)
    if not orders:
        return None
    least = np.full(len(first.indices), np.inf)
    nearest = np.full(len(first.indices), -1, np.int64)
    theirs = _described(other.positions)
    for order in orders:
        ours = _described(first.positions[:, order], theirs)
        for i, j in _candidates(ours, theirs, within):
            distance = _least_rmsd(ours.positions[i], theirs.positions[j])
            sorting = np.lexsort((distance, i))
            chosen, place = np.unique(i[sorting], return_index=True)
            best = sorting[place]
            nearer = distance[best] < least[chosen]
            least[chosen[nearer]] = distance[best][nearer]
            nearest[chosen[nearer]] = j[best][nearer]
    near = np.flatnonzero(least <= within)
    return FrameOverlap(near, nearest[near], least[near])


class _Described(NamedTuple):
    """Frames with what they are compared by.

    Args:
        positions: (f, n, 3) about the mean of each frame [Å].
        distances: (f, p) of all pairs of atoms [Å].
        centre: (p,) from which projections are counted.
        axes: (p, c) orthonormal.
        short: (f, c) projections of the distances.
    """

    positions: Float
    distances: Float
    centre: Float
    axes: Float
    short: Float


def _described(positions: Float, other: _Described | None = None) -> _Described:
    """`positions` (f, n, 3) with centre and axes of their own, or those of `other`."""
    centred = positions - positions.mean(axis=1, keepdims=True)
    distances = pair_distances(centred)
    centre = distances.mean(axis=0) if other is None else other.centre
    axes = _principal_axes(distances) if other is None else other.axes
    return _Described(centred, distances, centre, axes, (distances - centre) @ axes)


def _candidates(ours: _Described, theirs: _Described, within: float) -> Iterator[tuple[Int, Int]]:
    """Pairs of frames that may be within `within` after superposition, part by part."""
    bound = ours.positions.shape[1] * within + ROUNDING
    a, b, short_a, short_b = ours.distances, theirs.distances, ours.short, theirs.short
    square_a, square_b = (short_a**2).sum(axis=1), (short_b**2).sum(axis=1)
    # The rounding of a difference of squares.
    slack = 1e-12 * float(square_a.max(initial=0.0) + square_b.max(initial=0.0))
    rows = max(1, PAIRS_AT_ONCE // len(b))
    for start in range(0, len(a), rows):
        part = slice(start, start + rows)
        square = square_a[part, None] + square_b[None, :] - 2 * short_a[part] @ short_b.T
        i, j = np.nonzero(square <= bound**2 + slack)
        i += start
        for begin in range(0, len(i), CANDIDATES_AT_ONCE):
            of_a, of_b = i[begin : begin + CANDIDATES_AT_ONCE], j[begin : begin + CANDIDATES_AT_ONCE]
            near = np.einsum("kp,kp->k", *(2 * [a[of_a] - b[of_b]])) <= bound**2
            of_a, of_b = of_a[near], of_b[near]
            near = _rough_rmsd(ours.positions[of_a], theirs.positions[of_b]) <= within + ROUNDING
            if near.any():
                yield of_a[near], of_b[near]


def _principal_axes(values: Float) -> Float:
    """(p, c) orthonormal directions of the largest variance of `values` (f, p), at most `COMPONENTS`."""
    centred = values - values.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes: Float = vectors[:, ::-1][:, :COMPONENTS]
    return axes


def _rough_rmsd(ours: Float, theirs: Float) -> Float:
    """(k,) RMSD [Å] of pairs of centred frames (k, n, 3), mirrored or not, to about 1e-6 Å.

    Without a mirror the least sum of squares is |A|² + |B|² − 2 (s₁ + s₂ ± s₃) with the singular values s of AᵀB and
    the sign of its determinant (W. Kabsch, Acta Cryst. A 34, 827 (1978), doi:10.1107/S0567739478001680); with it, the
    other sign. The less of the two has +.
    """
    overlap = np.linalg.svd(ours.transpose(0, 2, 1) @ theirs, compute_uv=False).sum(axis=1)
    squares = (ours**2).sum(axis=(1, 2)) + (theirs**2).sum(axis=(1, 2)) - 2 * overlap
    return np.asarray(np.sqrt(np.maximum(squares, 0.0) / ours.shape[1]))


def _least_rmsd(ours: Float, theirs: Float) -> Float:
    """(k,) RMSD [Å] of pairs of frames (k, n, 3) after superposition, mirrored or not."""
    values = []
    for mirror in (1.0, -1.0):
        difference = superposed(mirror * ours, theirs) - theirs
        values.append(np.sqrt(np.einsum("knx,knx->kn", difference, difference).mean(axis=1)))
    return np.asarray(np.minimum(*values), np.float64)
