"""Public trajectories: of public data sets alone, thinned and rounded.

A hidden structure must not leave the judge, and a trajectory begins with it. So nothing of a hidden data set is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np
from ase.data import chemical_symbols
from numpy.typing import NDArray

from judge.disclosure.public_curves import PUBLIC_DIGITS, is_hidden
from judge.disclosure.redaction import rounded
from judge.ranking.leaderboard import TaskLine
from tasks.structures.frames import Bool, Float
from tasks.trajectories.trajectory import Trajectory

MOST_FRAMES = 50
MOST_BYTES = 2_000_000
"""Of the file of a trajectory: one of many atoms has fewer frames."""

PER_ANGSTROM = 100
FARTHEST = 9999.0
"""Å; frames with an atom farther out are left out."""

_BYTES_PER_NUMBER = 8  # "-999900,"
_BYTES_PER_SYMBOL = 5
_BYTES_PER_FRAME = 120  # cell and time
_BYTES_OF_THE_REST = 10_000
_SLACK = 1e-3  # of the time of an end, which has 4 digits


class PublicTrajectory(NamedTuple):
    """Some frames of a run of a public data set.

    Args:
        symbols: (N,) of the elements.
        times_ps: (f,).
        positions: (f, N, 3) [0.01 Å].
        cells: (f, 3, 3) [0.01 Å], rows are the vectors; zero where there is none.
    """

    symbols: tuple[str, ...]
    times_ps: tuple[float, ...]
    positions: NDArray[np.int64]
    cells: NDArray[np.int64]


def public_trajectory(
    line: TaskLine,
    run: str,
    ended_ps: float,
    read: Callable[[TaskLine, str], Trajectory | None],
    public: Collection[str],
) -> PublicTrajectory | None:
    """At most `MOST_FRAMES` frames of a run, from the start to its end; None if it has none, or if it is hidden.

    Args:
        run: its name.
        ended_ps: the time until which it was sound [ps].
        read: reads the stored frames; not called for a hidden data set.
        public: names of the public data sets.
    """
    trajectory = None if is_hidden(line, public) else read(line, run)
    return None if trajectory is None else thinned(trajectory, ended_ps)


def thinned(trajectory: Trajectory, ended_ps: float) -> PublicTrajectory | None:
    """Evenly chosen frames until a time [ps]; None if there is none, or too many atoms."""
    is_near = (np.abs(trajectory.positions) < FARTHEST).all(axis=(1, 2))  # False for NaN
    is_near &= (np.abs(trajectory.cells) < FARTHEST).all(axis=(1, 2))
    frames = np.flatnonzero(is_near & until(trajectory.times_ps, ended_ps))
    n_bytes = MOST_BYTES - _BYTES_OF_THE_REST - _BYTES_PER_SYMBOL * trajectory.n_atoms
    most = min(MOST_FRAMES, n_bytes // (3 * _BYTES_PER_NUMBER * trajectory.n_atoms + _BYTES_PER_FRAME), len(frames))
    if most < 1:
        return None
    chosen = frames[np.unique(np.linspace(0, len(frames) - 1, most).round().astype(int))]
    return PublicTrajectory(
        tuple(chemical_symbols[number] for number in trajectory.numbers.tolist()),
        tuple(rounded(time, PUBLIC_DIGITS) for time in trajectory.times_ps[chosen].tolist()),
        _hundredths(trajectory.positions[chosen]),
        _hundredths(trajectory.cells[chosen]),
    )


def until(times_ps: Float, ended_ps: float) -> Bool:
    """(f,) whether a time is not after the public time of an end [ps]."""
    return np.asarray(times_ps <= ended_ps * (1 + _SLACK))


def _hundredths(lengths: Float) -> NDArray[np.int64]:
    return np.rint(lengths * PER_ANGSTROM).astype(np.int64)
