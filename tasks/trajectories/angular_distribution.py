"""The distribution of angles between neighbours of an atom, such as O–O–O in water."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Float, Int
from tasks.trajectories.internal_coordinates import angles_between
from tasks.trajectories.neighbours import NeighbourPairs, neighbour_pairs
from tasks.trajectories.trajectory import Trajectory


class AngularDistribution(NamedTuple):
    """The density of angles: (n_bins,) centres [°] and density [1/°] of integral 1, and how many angles there are.

    The density is NaN if there is none.
    """

    angle: Float
    density: Float
    n_angles: int


def angular_distribution(
    trajectory: Trajectory,
    centres: Sequence[int] | Int,
    partners: Sequence[int] | Int,
    distance: float,
    n_bins: int = 180,
) -> AngularDistribution:
    """Angles at each centre between each two partners within `distance` [Å], over all frames.

    A centre that is also a partner is not its own neighbour. For directions without order the density is sin(angle)/2.

    Raises:
        ValueError: atoms that do not exist, or a distance or a number of bins that is not positive.
    """
    middle = trajectory.atom_indices("centres", centres)
    outer = trajectory.atom_indices("partners", partners)
    if not (distance > 0 and n_bins > 0):
        raise ValueError(f"distance, n_bins: {distance:g} Å and {n_bins} bins: both must be positive")
    positions = trajectory.finite_positions()
    counts = np.zeros(n_bins, np.int64)
    for frame, cell in zip(positions, trajectory.cells, strict=True):
        pairs = neighbour_pairs(frame[middle], frame[outer], cell, trajectory.pbc, distance)
        same = middle[pairs.centre] == outer[pairs.neighbour]
        own = same & (np.abs(pairs.vectors) < 1e-6).all(axis=1)  # not an image in the next cell
        counts += np.histogram(_angles(NeighbourPairs(*(array[~own] for array in pairs))), n_bins, (0.0, 180.0))[0]
    width = 180.0 / n_bins
    middles = (np.arange(n_bins, dtype=np.float64) + 0.5) * width
    n_angles = int(counts.sum())
    return AngularDistribution(middles, counts / (n_angles * width if n_angles else np.nan), n_angles)


def _angles(pairs: NeighbourPairs) -> Float:
    """(k,) the angles [°] between each two vectors of one centre."""
    lengths = np.bincount(pairs.centre)
    starts = np.cumsum(lengths) - lengths
    angles = []
    for size in np.unique(lengths[lengths > 1]):
        rows = starts[lengths == size][:, None] + np.arange(size)
        one, two = np.triu_indices(size, 1)
        angles.append(angles_between(pairs.vectors[rows[:, one]], pairs.vectors[rows[:, two]]).ravel())
    return np.concatenate(angles) if angles else np.zeros(0)
