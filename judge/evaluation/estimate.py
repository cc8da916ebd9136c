"""Estimates the time of a unit from the timings of the preflight. Pure.

A call of n atoms is assumed to take a + b·nᵖ, for crystals and for molecules by themselves. A task takes the sum of its
calls, and a container that is started and removed.

The estimate is wrong for some models: one that takes whole batches pays `a` less often. Relaxations are assumed to take
a usual number of steps. A task is cut off at its time limit, so no unit takes longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from submissions.records import PreflightReport, Timing
from tasks.model.work import Work
from tasks.structures.frames import Float

HOUR_S = 3600.0
POWERS = (1.0, 1.5, 2.0, 2.5, 3.0)
CLEARLY_BETTER, NOISE = 0.6, 0.02  # a higher power must fit so much better; relative deviations below NOISE say nothing


class CallTime(NamedTuple):
    """The time of one call: constant + factor · n_atoms ** power [s]."""

    constant_s: float
    factor_s: float
    power: float

    def seconds(self, n_atoms: Float | float) -> Float | float:
        """The times of calls of that many atoms [s]."""
        return self.constant_s + self.factor_s * n_atoms**self.power


class ModelSpeed(NamedTuple):
    """The speed of a model.

    Args:
        crystal: time of a structure with three periodic directions; None if the preflight got no answer to one, and the
            judge expects none.
        molecule: of any other structure, in the same way.
        session_s: time of a container that is started, asked nothing and removed [s].
    """

    crystal: CallTime | None
    molecule: CallTime | None
    session_s: float = 0.0

    def seconds(self, work: Work) -> float:
        """The time of `work` without that of its container [s]."""
        kinds = ((self.crystal, work.periodic), (self.molecule, ~work.periodic))
        return sum(float(np.sum(work.times[of] * call.seconds(work.n_atoms[of]))) for call, of in kinds if call)


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
    timings = [t for t in report.timings if t.n_atoms > 0 and np.isfinite(t.seconds) and t.seconds > 0]
    if not timings:
        return None
    crystals = [timing for timing in timings if timing.periodic is not False]
    molecules = [timing for timing in timings if timing.periodic is not True]
    session_s = report.startup_s if report.session_s is None else report.session_s
    return ModelSpeed(fit_call_time(crystals), fit_call_time(molecules), session_s or 0.0)


def fit_call_time(timings: Sequence[Timing]) -> CallTime | None:
    """The smallest of `POWERS` that fits well, by least squares of relative deviations; None without timings.

    Neither the constant nor the factor is negative. The constant is 0 and the power 1 if all timings have one size.
    """
    if not timings:
        return None
    n_atoms = np.array([timing.n_atoms for timing in timings], np.float64)
    seconds = np.array([timing.seconds for timing in timings])
    if np.ptp(n_atoms) == 0:
        return CallTime(0.0, float(np.mean(seconds) / n_atoms[0]), 1.0)
    fits = [_fit(n_atoms, seconds, power) for power in POWERS]
    best = min(deviation for _, deviation in fits)
    return next(call for call, deviation in fits if CLEARLY_BETTER * deviation <= max(best, NOISE))


def _fit(n_atoms: Float, seconds: Float, power: float) -> tuple[CallTime, float]:
    """The best time of a call that grows with `power`, and the root mean square of its relative deviations."""
    from scipy.optimize import nnls  # it takes long to import

    columns = np.stack([1.0 / seconds, n_atoms**power / seconds], axis=1)
    (constant, factor), residual = nnls(columns, np.ones(len(seconds)))
    return CallTime(float(constant), float(factor), power), float(residual) / len(seconds) ** 0.5


def cost_of(work: Work, speed: ModelSpeed | None, time_limit_s: float) -> Cost:
    """The expected time of a unit: a container, and at most `time_limit_s` of work."""
    if speed is None:
        return Cost(None)
    seconds = speed.seconds(work)
    return Cost(speed.session_s + min(seconds, time_limit_s), limited=seconds >= time_limit_s)


def total_of(costs: Iterable[Cost]) -> Total:
    """The expected time of all these units."""
    all_costs = list(costs)
    known = [cost.seconds for cost in all_costs if cost.seconds is not None]
    return Total(sum(known), len(all_costs) - len(known), sum(cost.limited for cost in all_costs))
