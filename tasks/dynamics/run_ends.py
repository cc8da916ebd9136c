"""How runs ended, and when: what the engine saw in every step, and what the stored frames show.

| cause | seen | time |
| --- | --- | --- |
| not finite, or no answer | by the engine, in every step | of the last good step |
| exploded: beyond the bounds | by the engine, in every step | of the last good step |
| exploded: 10,000 K hotter than the bath | by the engine, in every step | of the next stored frame |
| an atom has left the others (UNSTABLE) | in stored frames | of the first one |
| no force above 1e-6 eV/Å (NO_FORCES) | in stored frames, all of them | of the start |

An atom that leaves for good is seen in the next stored frame. Thermal forces are some 0.1 eV/Å and more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.dynamics.simulate import DynamicsSettings
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause
from tasks.trajectories.neighbours import nearest_distances
from tasks.trajectories.stability import ESCAPE_DISTANCE, EXPLOSION_RISE_K, first_escape
from tasks.trajectories.trajectory import Trajectory

SMALLEST_FORCE = 1e-6  # eV/Å
# An atom has left the others if its nearest one is farther than this times the farthest nearest one at the start.
ESCAPE_RATIO = 1.5
UNSTABLE_CAUSES = (Cause.NON_FINITE, Cause.EXPLODED, Cause.UNSTABLE, Cause.NO_FORCES)


class RunEnds(NamedTuple):
    """(t,) each: codes of `Cause`, 0 for a sound run, and the time until which the run was sound [ps]."""

    cause: NDArray[np.int8]
    ended_ps: Float

    @property
    def first_cause(self) -> int:
        """The code of the run that ended first; 0 if all are sound."""
        failed = np.flatnonzero(self.cause)
        return int(self.cause[failed[np.argmin(self.ended_ps[failed])]]) if failed.size else 0


def escape_distance(frames: Frames, index: int, stated: float | None) -> float:
    """The distance [Å] of the nearest other atom beyond which an atom of structure `index` has left the others."""
    if stated is not None or frames.n_atoms[index] < 2:
        return np.inf if stated is None else stated
    positions = frames.positions[frames.atom_slice(index)]
    reach, nearest = ESCAPE_DISTANCE, np.full(1, np.inf)
    while not np.isfinite(nearest).all():  # images as far as the whole box would be many
        nearest = nearest_distances(positions, positions, frames.cell[index], frames.pbc[index], reach, rank=2)
        reach *= 2
    return max(ESCAPE_DISTANCE, ESCAPE_RATIO * float(nearest.max()))


def trajectory_of(
    copies: Frames, run: int, arrays: Mapping[str, NDArray[Any]], settings: DynamicsSettings, n_frames: int
) -> Trajectory:
    """The first `n_frames` stored frames of a run."""
    atoms = copies.atom_slice(run)
    step_ps = settings.store_every * settings.timestep_fs / 1000
    return Trajectory(
        arrays["positions"][:n_frames, atoms],
        arrays["cells"][:n_frames, run],
        copies.pbc[run],
        copies.numbers[atoms],
        np.arange(n_frames, dtype=np.float64) * step_ps,
        energies=arrays["potential"][run, :n_frames],
    )


def run_ends(
    copies: Frames,
    arrays: Mapping[str, NDArray[Any]],
    settings: DynamicsSettings,
    distances: Sequence[float],
    temperatures: Sequence[float] | None = None,
) -> RunEnds:
    """The ends of t runs.

    Args:
        copies: the t structures, replicas among them.
        arrays: of `tasks.dynamics.simulate.simulate`.
        distances: (t,) see `escape_distance`.
        temperatures: (t,) [K] of the heat baths; None: those of the settings.
    """
    hottest = max(settings.temperature_k, settings.end_temperature_k or 0.0)
    cause = arrays["failure"].copy()
    ended = arrays["completed_steps"] * settings.timestep_fs / 1000
    for run in range(len(copies)):
        n_frames = int(np.isfinite(arrays["potential"][run]).sum())
        limit = (hottest if temperatures is None else temperatures[run]) + EXPLOSION_RISE_K
        seen = _seen(copies, run, arrays, settings, n_frames, distances[run], limit) if n_frames else []
        if seen:
            time_ps, code = min(seen)
            if cause[run] == 0 or time_ps < ended[run]:
                cause[run], ended[run] = code, time_ps
        elif cause[run] == 0 and (arrays["largest_force"][run] <= SMALLEST_FORCE).all():
            cause[run], ended[run] = Cause.NO_FORCES, 0.0
    return RunEnds(cause, ended)


def _seen(
    copies: Frames,
    run: int,
    arrays: Mapping[str, NDArray[Any]],
    settings: DynamicsSettings,
    n_frames: int,
    distance: float,
    limit: float,
) -> list[tuple[float, Cause]]:
    """Time [ps] and cause of each fault that the stored frames show."""
    trajectory = trajectory_of(copies, run, arrays, settings, n_frames)
    too_hot = np.flatnonzero(arrays["hottest"][run, :n_frames] > limit)
    faults = [(float(trajectory.times_ps[too_hot[0]]), Cause.EXPLODED)] if too_hot.size else []
    if np.isfinite(distance) and (escape := first_escape(trajectory, distance)):
        faults.append((escape.time_ps, Cause.UNSTABLE))
    return faults
