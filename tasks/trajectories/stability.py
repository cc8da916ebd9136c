"""Faults of a run, each with the frame and the time at which it happened: NaN, explosion, escape of an atom.

The functions with `as_published` or `published` follow MLIPAudit 0.1.8 instead (utils/stability.py): periodicity is
ignored, an escape is looked for in the last frame alone, and a temperature of NaN explodes nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Bool, Float
from tasks.trajectories.neighbours import nearest_distances
from tasks.trajectories.trajectory import Trajectory

ESCAPE_DISTANCE = 2.5  # Å
EXPLOSION_RISE_K = 10_000.0
EXPLOSION_RATIO = 100.0


class InstabilityCause(StrEnum):
    """What went wrong in a run."""

    NOT_FINITE = "not finite"
    EXPLOSION = "explosion"
    ESCAPE = "escape"


class StabilityFault(NamedTuple):
    """A fault, the first frame that shows it, and its time [ps]; `atom` is the first atom at fault, −1 for all."""

    cause: InstabilityCause
    frame: int
    time_ps: float
    atom: int = -1


def first_not_finite(trajectory: Trajectory) -> StabilityFault | None:
    """The first frame with a position that is not finite, or None."""
    broken = np.asarray(~np.isfinite(trajectory.positions).all(axis=2))
    frames = np.flatnonzero(broken.any(axis=1))
    if not frames.size:
        return None
    return _fault(trajectory, InstabilityCause.NOT_FINITE, int(frames[0]), int(np.argmax(broken[frames[0]])))


def first_explosion(
    trajectory: Trajectory, temperatures_k: Float, target_k: float, as_published: bool = False
) -> StabilityFault | None:
    """The first frame hotter than `target_k` + 10,000 K, or than 100 times the frame before, or None.

    Args:
        temperatures_k: (f,) [K], of each frame; NaN explodes.
        as_published: a frame above the limit counts before any sudden rise; NaN does not count.

    Raises:
        ValueError: temperatures of another number of frames.
    """
    if np.shape(temperatures_k) != (len(trajectory),):
        raise ValueError(f"temperatures_k must have shape ({len(trajectory)},), not {np.shape(temperatures_k)}")
    limit, rises = target_k + EXPLOSION_RISE_K, EXPLOSION_RATIO * np.asarray(temperatures_k)[:-1]
    if as_published:
        too_hot = temperatures_k > limit
        exploded = too_hot if too_hot.any() else np.append(False, temperatures_k[1:] > rises)
    else:
        # Written so that NaN explodes. A first frame at 0 K, before velocities are drawn, is no start of a rise.
        sudden = ~(temperatures_k[1:] <= rises) & (rises > 0)
        exploded = ~(temperatures_k <= limit) | np.append(False, sudden)
    return _fault(trajectory, InstabilityCause.EXPLOSION, int(np.argmax(exploded))) if exploded.any() else None


def first_escape(trajectory: Trajectory, distance: float = ESCAPE_DISTANCE) -> StabilityFault | None:
    """The first frame in which an atom has no other atom, nor an image of one, within `distance` [Å], or None.

    An atom that is alone in the first frame has escaped before, in a minimisation.

    Raises:
        ValueError: a single atom, or positions that are not finite.
    """
    positions = trajectory.finite_positions()
    for frame, cell in enumerate(trajectory.cells):
        alone = isolated_atoms(positions[frame], cell, trajectory.pbc, distance)
        if alone.any():
            return _fault(trajectory, InstabilityCause.ESCAPE, frame, int(np.argmax(alone)))
    return None


def published_escape(trajectory: Trajectory, distance: float = ESCAPE_DISTANCE) -> StabilityFault | None:
    """The last frame, if an atom has no other one within `distance` [Å] in it; periodicity ignored, as published."""
    last = trajectory.positions[-1]
    alone = isolated_atoms(last, trajectory.cells[-1], np.zeros(3, np.bool_), distance)
    return (
        _fault(trajectory, InstabilityCause.ESCAPE, len(trajectory) - 1, int(np.argmax(alone))) if alone.any() else None
    )


def first_fault(
    trajectory: Trajectory, temperatures_k: Float, target_k: float, distance: float = ESCAPE_DISTANCE
) -> StabilityFault | None:
    """The earliest of the three faults, or None; of faults in one frame, the first in the order of `InstabilityCause`.

    Raises:
        ValueError: see `first_explosion` and `first_escape`.
    """
    broken = first_not_finite(trajectory)
    faults = [broken, first_explosion(trajectory, temperatures_k, target_k)]
    end = len(trajectory) if broken is None else broken.frame
    if end:
        faults.append(first_escape(trajectory.first_frames(end), distance))
    return min((fault for fault in faults if fault is not None), key=lambda fault: fault.frame, default=None)


def published_fault(trajectory: Trajectory, temperatures_k: Float, target_k: float) -> StabilityFault | None:
    """What makes a run unstable in MLIPAudit 0.1.8 (`is_simulation_stable`), or None; in its order of tests.

    Raises:
        ValueError: temperatures of another number of frames.
    """
    return (
        first_not_finite(trajectory)
        or first_explosion(trajectory, temperatures_k, target_k, as_published=True)
        or published_escape(trajectory)
    )


def isolated_atoms(positions: Float, cell: Float, pbc: Bool, distance: float) -> Bool:
    """(N,) whether an atom has no other atom, nor an image of one, within `distance` [Å].

    Raises:
        ValueError: a single atom, which has no other one.
    """
    if len(positions) < 2:
        raise ValueError("positions: a single atom cannot escape: analyse at least two")
    return np.asarray(~(nearest_distances(positions, positions, cell, pbc, distance, rank=2) <= distance))


def _fault(trajectory: Trajectory, cause: InstabilityCause, frame: int, atom: int = -1) -> StabilityFault:
    return StabilityFault(cause, frame, float(trajectory.times_ps[frame]), atom)
