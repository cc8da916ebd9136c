"""Estimates the time of a unit from the timings of the preflight. Pure.

A call of n atoms is assumed to take a + b·n. Non-negative least squares fit a and b to the preflight's timings. A task
with f structures of N atoms in all then takes f·a + N·b, and the start of its container.

The estimate is wrong for some models: one that takes whole batches pays `a` less often, and one whose cost grows faster
than the number of atoms takes longer. Relaxations are assumed to take a usual number of steps. A task is cut off at its
time limit, so no unit takes longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from submissions.records import PreflightReport, Timing
from tasks.kind import Work

HOUR_S = 3600.0


class ModelSpeed(NamedTuple):
    """The speed of a model.

    Args:
        per_call_s: time of one structure, independent of its size [s].
        per_atom_s: time of each of its atoms [s].
        startup_s: time until the container has started [s].
    """

    per_call_s: float
    per_atom_s: float
    startup_s: float = 0.0

    def seconds(self, work: Work) -> float:
        """The time of `work` without the start of the container [s]."""
        return work.frames * self.per_call_s + work.atoms * self.per_atom_s


class Cost(NamedTuple):
    """The expected time of a unit.

    Args:
        seconds: [s]; None if the model's speed is not known.
        limited: the unit will run into the time limit of its task.
    """

    seconds: float | None
    limited: bool = False


class Total(NamedTuple):
    """The expected time of several units.

    Args:
        seconds: of the units whose cost is known [s].
        unknown: number of units of unknown cost.
        limited: number of units that will run into their time limit.
    """

    seconds: float
    unknown: int
    limited: int


def speed_of(report: PreflightReport) -> ModelSpeed | None:
    """The speed that the preflight measured; None if it timed nothing."""
    timings = [t for t in report.timings if t.n_atoms > 0 and np.isfinite(t.seconds) and t.seconds >= 0]
    if not timings:
        return None
    return ModelSpeed(*fit_line(timings), report.startup_s or 0.0)


def fit_line(timings: Sequence[Timing]) -> tuple[float, float]:
    """(a, b) of seconds = a + b·n_atoms by least squares, neither negative; a is 0 if all timings have one size."""
    from scipy.optimize import nnls  # it takes long to import

    n_atoms = np.array([timing.n_atoms for timing in timings], np.float64)
    seconds = np.array([timing.seconds for timing in timings])
    constant = np.zeros(len(timings)) if np.ptp(n_atoms) == 0 else np.ones(len(timings))
    (per_call, per_atom), _ = nnls(np.stack([constant, n_atoms], axis=1), seconds)
    return float(per_call), float(per_atom)


def cost_of(work: Work, speed: ModelSpeed | None, time_limit_s: float) -> Cost:
    """The expected time of a unit: the start of the container, and at most `time_limit_s`."""
    if speed is None:
        return Cost(None)
    seconds = speed.seconds(work)
    return Cost(speed.startup_s + min(seconds, time_limit_s), limited=seconds >= time_limit_s)


def total_of(costs: Iterable[Cost]) -> Total:
    """The expected time of all these units."""
    all_costs = list(costs)
    known = [cost.seconds for cost in all_costs if cost.seconds is not None]
    return Total(sum(known), len(all_costs) - len(known), sum(cost.limited for cost in all_costs))
