"""The first hydrogen that leaves its molecule for good, as MLIPAudit 0.1.8 defines it (benchmark `stability`).

A hydrogen drifts from the first frame from which on it is more than 2.5 Å from every heavy atom until the end. Only
hydrogens count that are at some time more than 2.5 Å from the atom that they are bonded to at the start: one that
changes its partner does not drift. MLIPAudit ignores periodicity; here that is `periodic=False`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Bool, Float, Int
from tasks.trajectories.minimum_image import shortest_vectors
from tasks.trajectories.trajectory import Trajectory, frame_slices, index_array

DRIFT_DISTANCE = 2.5  # Å


class HydrogenDrift(NamedTuple):
    """The frame from which on `hydrogen` drifts, and its time [ps]."""

    frame: int
    time_ps: float
    hydrogen: int


def hydrogen_drift(
    trajectory: Trajectory,
    bonds: Sequence[Sequence[int]] | Int,
    distance: float = DRIFT_DISTANCE,
    periodic: bool = True,
) -> HydrogenDrift | None:
    """The earliest drift of a hydrogen of `bonds`, or None.

    Args:
        bonds: (n, 2) heavy atom and hydrogen at the start, those of water left out, as the topology states them.
        distance: beyond which a bond is broken and a hydrogen alone [Å].
        periodic: whether images of atoms count.

    Raises:
        ValueError: bonds of another shape or between other atoms, or positions that are not finite.
    """
    pairs = _checked_bonds(trajectory, bonds)
    pbc = trajectory.pbc & periodic
    positions = trajectory.finite_positions()
    leaving = np.unique(pairs[_broken(positions, trajectory.cells, pbc, pairs, distance), 1])
    if not leaving.size:
        return None
    heavy = np.flatnonzero(trajectory.numbers != 1)
    alone = np.stack([_alone(positions, trajectory.cells, pbc, atom, heavy, distance) for atom in leaving])
    # From here to the end: the reverse of what was alone in all frames from the last one on.
    for_good = np.logical_and.accumulate(alone[:, ::-1], axis=1)[:, ::-1]
    if not for_good.any():
        return None
    frame = int(np.argmax(for_good.any(axis=0)))
    return HydrogenDrift(frame, float(trajectory.times_ps[frame]), int(leaving[np.argmax(for_good[:, frame])]))


def _broken(positions: Float, cells: Float, pbc: Bool, pairs: Int, distance: float) -> Bool:
    """(n,) whether a bond is longer than `distance` in any frame."""
    broken = np.zeros(len(pairs), np.bool_)
    for frames in frame_slices(len(positions), 3 * len(pairs)):
        vectors = positions[frames][:, pairs[:, 1]] - positions[frames][:, pairs[:, 0]]
        lengths = np.linalg.norm(shortest_vectors(vectors, cells[frames], pbc), axis=2)
        broken |= (lengths > distance).any(axis=0)
    return broken


def _alone(positions: Float, cells: Float, pbc: Bool, atom: int, heavy: Int, distance: float) -> Bool:
    """(f,) whether `atom` is farther than `distance` from all `heavy` atoms."""
    alone = np.empty(len(positions), np.bool_)
    for frames in frame_slices(len(positions), 6 * len(heavy)):
        vectors = shortest_vectors(positions[frames][:, heavy] - positions[frames, atom, None], cells[frames], pbc)
        alone[frames] = (np.einsum("fnk,fnk->fn", vectors, vectors) > distance**2).all(axis=1)
    return alone


def _checked_bonds(trajectory: Trajectory, bonds: Sequence[Sequence[int]] | Int) -> Int:
    """(n, 2) the bonds as an array."""
    pairs = index_array("bonds", np.asarray(bonds), trajectory.n_atoms)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"bonds must have shape (n, 2), not {pairs.shape}")
    is_hydrogen = trajectory.numbers[pairs] == 1
    wrong = np.flatnonzero(is_hydrogen[:, 0] | ~is_hydrogen[:, 1])
    if wrong.size:
        first, second = pairs[wrong[0]]
        raise ValueError(f"bonds: {first}–{second} is not a heavy atom and a hydrogen: give them in that order")
    return pairs
