"""Radial distribution functions g(r), their highest peaks, and numbers of neighbours.

Counts of pairs at their shortest periodic image are divided by those of an ideal gas at the volume of each frame:

    g(r) = counts / (n_pairs · Σ_frames 1/V · volume of the shell)

This is right up to half of the shortest lattice vector. Beyond, the shortest images alone miss pairs (for an ideal gas
in a cube of side L, g falls to 3L/(2r) − 2), so g(r) is refused there, unless it is asked for as published: MLIPAudit
0.1.8 counts to 20 Å in boxes of 25 Å, in mdtraj's compute_rdf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Float, Int
from tasks.trajectories.minimum_image import (
    NEIGHBOUR_CELLS,
    OWN_CELL,
    is_rectangular,
    largest_right_distance,
    reduced_cells,
)
from tasks.trajectories.trajectory import Trajectory, frame_slices

# Distances in one temporary array: few enough to stay in the processor's cache.
CACHED_DISTANCES = 2**15


class RadialBins(NamedTuple):
    """`n_bins` bins of one width from `start` to `end` [Å]."""

    start: float
    end: float
    n_bins: int


# MLIPAudit 0.1.8: 0.01 Å wide, centred on 0, 0.01, … 19.99 Å.
MLIPAUDIT_BINS = RadialBins(-0.005, 19.995, 2000)


class RadialDistribution(NamedTuple):
    """g(r) at k distances.

    Args:
        r: (k,) centres of the bins [Å].
        g: (k,).
        counts: (k,) pairs in all frames.
        neighbours: (k,) mean number of atoms of the second set in the shell about an atom of the first one.
        largest_right: distance up to which g(r) is right [Å].
    """

    r: Float
    g: Float
    counts: Int
    neighbours: Float
    largest_right: float


def radial_distribution(
    trajectory: Trajectory,
    first: Sequence[int] | Int,
    second: Sequence[int] | Int | None,
    bins: RadialBins,
    beyond_half_cell: bool = False,
) -> RadialDistribution:
    """g(r) between two sets of atoms, averaged over all frames.

    Args:
        first, second: atoms without a common one; None for the pairs within `first`.
        beyond_half_cell: also give the values that are not right, as published.

    Raises:
        ValueError: atoms that do not exist or are in both sets, bins that end beyond half of the cell, no volume.
    """
    sets = _atom_sets(trajectory, first, second)
    volumes = trajectory.volumes()
    largest = largest_right_distance(trajectory.cells, trajectory.pbc)
    if not (bins.end > bins.start and bins.end > 0 and bins.n_bins > 0):
        raise ValueError(f"bins: {bins.n_bins} bins from {bins.start:g} to {bins.end:g} Å: state an increasing range")
    if bins.end > largest * (1 + 1e-9) and not beyond_half_cell:
        raise ValueError(
            f"bins: g(r) is right up to {largest:.3f} Å, half of the shortest cell vector, not to {bins.end:g} Å: "
            "end the bins there, or ask for the values as published"
        )
    counts = _count_pairs(trajectory, sets, bins)
    n_first, n_second = len(sets[0]), len(sets[-1])
    n_pairs = n_first * n_second if len(sets) == 2 else n_first * (n_first - 1) // 2
    edges = np.linspace(bins.start, bins.end, bins.n_bins + 1)
    shells = 4 / 3 * np.pi * np.diff(edges**3)
    g = counts / (n_pairs * (1 / volumes).sum() * shells)
    ends = 2 if len(sets) == 1 else 1  # each pair within one set is a neighbour of two atoms
    neighbours = ends * counts / (len(trajectory) * n_first)
    return RadialDistribution((edges[1:] + edges[:-1]) / 2, g, counts, neighbours, largest)


def highest_peak(distribution: RadialDistribution, above: float, up_to: float) -> float:
    """The r [Å] of the highest g(r) in `above` < r ≤ `up_to` [Å]: the first peak, if the interval holds no other.

    Raises:
        ValueError: there is no bin or no pair in the interval.
    """
    inside = (distribution.r > above) & (distribution.r <= up_to)
    if not inside.any() or not distribution.g[inside].max() > 0:
        raise ValueError(f"peak: no pair of atoms from {above:g} to {up_to:g} Å: state another interval")
    return float(distribution.r[inside][np.argmax(distribution.g[inside])])


def _atom_sets(
    trajectory: Trajectory, first: Sequence[int] | Int, second: Sequence[int] | Int | None
) -> tuple[Int, ...]:
    """One or two arrays of atoms, checked."""
    one = trajectory.atom_indices("first", first)
    if second is None:
        if len(one) < 2:
            raise ValueError("first: one atom has no pair: name at least two atoms, or a second set")
        return (one,)
    two = trajectory.atom_indices("second", second)
    common = np.intersect1d(one, two)
    if common.size:
        raise ValueError(f"second: atom {common[0]} is also in the first set: give sets without a common atom")
    return one, two


def _count_pairs(trajectory: Trajectory, sets: tuple[Int, ...], bins: RadialBins) -> Int:
    """(n_bins,) pairs of atoms at their shortest images, in all frames together."""
    positions = trajectory.finite_positions()
    counts = np.zeros(bins.n_bins, np.int64)
    reduced = reduced_cells(trajectory.cells, trajectory.pbc)
    heights = 1 / np.linalg.norm(np.linalg.inv(reduced), axis=1)
    # Rounding finds every pair closer than half of the smallest height, also in an oblique cell.
    rounding_is_right = is_rectangular(reduced) or bins.end <= heights.min() / 2
    shifts = OWN_CELL if rounding_is_right else NEIGHBOUR_CELLS
    for frames in frame_slices(len(trajectory), len(sets[-1]), CACHED_DISTANCES):
        inverse = np.linalg.inv(reduced[frames])
        scaled = [np.moveaxis(positions[frames, atoms] @ inverse, 2, 0).copy() for atoms in sets]
        for index in range(len(sets[0])):
            partners = scaled[1] if len(sets) == 2 else scaled[0][:, :, index + 1 :]
            if partners.shape[2]:
                difference = partners - scaled[0][:, :, index, None]
                squares = _smallest_squares(difference, reduced[frames], shifts)
                counts += np.histogram(np.sqrt(squares), bins.n_bins, (bins.start, bins.end))[0]
    return counts


def _smallest_squares(scaled: Float, cells: Float, shifts: Float) -> Float:
    """(f, n) squared lengths [Å²] of the shortest images of `scaled` (3, f, n), in multiples of the cell vectors."""
    scaled -= np.rint(scaled)
    metric = np.einsum("fik,fjk->ijf", cells, cells)[..., None]
    smallest = _squares(scaled, metric)
    for shift in shifts[(shifts != 0).any(axis=1)]:
        np.minimum(smallest, _squares(scaled + shift[:, None, None], metric), out=smallest)
    return smallest


def _squares(scaled: Float, metric: Float) -> Float:
    """(f, n) Σ_ij s_i G_ij s_j [Å²] of `scaled` (3, f, n) and `metric` (3, 3, f, 1)."""
    total = metric[0, 0] * scaled[0] ** 2
    for i, j in ((1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        if metric[i, j].any():
            total += (metric[i, j] if i == j else 2 * metric[i, j]) * scaled[i] * scaled[j]
    return np.asarray(np.maximum(total, 0.0))
