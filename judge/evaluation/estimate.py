"""Estimates the time of a unit from the timings of the preflight. Pure.

A call of n atoms is assumed to take a + b·nᵖ, for molecules and for crystals and liquids; of the latter b grows with a
power of the density, as the number of neighbours does. A task takes the sum of its calls, its containers, and what the
judge needs itself.

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
UNIT_S = 0.25  # of the judge itself for a unit: to claim it, to empty the caches of its image, to measure it
POWERS = (1.0, 1.5, 2.0, 2.5, 3.0)
DENSITY_POWERS = (0.0, 0.5, 1.0, 1.5, 2.0)
DENSITY = 0.05  # atoms per Å³, as of silicon
CLEARLY_BETTER, NOISE = 0.7, 0.05  # a higher power must fit so much better; relative deviations below NOISE say nothing


class CallTime(NamedTuple):
    """The time of one call: constant + factor · n_atoms ** power · (density / DENSITY) ** density_power [s]."""

    constant_s: float
    factor_s: float
    power: float
    density_power: float = 0.0

    def seconds(self, n_atoms: Float, density: Float) -> Float:
        """(k,) the times of calls of so many atoms, at so many atoms per Å³ [s]."""
        return self.constant_s + self.factor_s * _growth(n_atoms, density, self.power, self.density_power)


def _growth(n_atoms: Float, density: Float, power: float, density_power: float) -> Float:
    relative = np.where(density > 0, density / DENSITY, 1.0)
    grown: Float = n_atoms**power * relative**density_power
    return grown


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
        kinds = ((self.crystal, work.density > 0), (self.molecule, work.density == 0))
        return sum(
            float(work.times[of] @ call.seconds(work.n_atoms[of], work.density[of])) for call, of in kinds if call
        )


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
    crystals = [timing for timing in timings if timing.density != 0]
    molecules = [timing for timing in timings if not timing.density]
    session_s = report.startup_s if report.session_s is None else report.session_s
    return ModelSpeed(fit_call_time(crystals), fit_call_time(molecules), session_s or 0.0)


def fit_call_time(timings: Sequence[Timing]) -> CallTime | None:
    """The time with the smallest of `POWERS` that fits well, by least squares; None without timings.

    Neither the constant nor the factor is negative. The constant is 0 and the power 1 if all timings have one size.
    """
    if not timings:
        return None
    n_atoms = np.array([timing.n_atoms for timing in timings], np.float64)
    seconds = np.array([timing.seconds for timing in timings])
    density = np.array([timing.density or 0.0 for timing in timings])
    if np.ptp(n_atoms) == 0:
        return CallTime(0.0, float(np.mean(seconds) / n_atoms[0]), 1.0)
    of_density = DENSITY_POWERS if np.ptp(density) > 0 else (0.0,)
    best_of_powers = [
        min((_fit(n_atoms, density, seconds, power, each) for each in of_density), key=lambda fit: fit[1])
        for power in POWERS
    ]
    best = min(deviation for _, deviation in best_of_powers)
    return next(call for call, deviation in best_of_powers if CLEARLY_BETTER * deviation <= max(best, NOISE))


def _fit(n_atoms: Float, density: Float, seconds: Float, power: float, density_power: float) -> tuple[CallTime, float]:
    """The best time of a call with these powers, and the root mean square of its relative deviations.

    A deviation has the weight of the number of atoms: large structures take most of the time of a task.
    """
    from scipy.optimize import nnls  # it takes long to import

    weights = np.sqrt(n_atoms / n_atoms.sum())
    growth = _growth(n_atoms, density, power, density_power)
    columns = np.stack([weights / seconds, weights * growth / seconds], axis=1)
    (constant, factor), deviation = nnls(columns, weights)
    return CallTime(float(constant), float(factor), power, density_power), float(deviation)


def cost_of(work: Work, speed: ModelSpeed | None, time_limit_s: float, n_sessions: int = 1) -> Cost:
    """The expected time of a unit: its containers, the judge's own share, and at most `time_limit_s` of work."""
    if speed is None:
        return Cost(None)
    seconds = speed.seconds(work)
    return Cost(UNIT_S + n_sessions * speed.session_s + min(seconds, time_limit_s), limited=seconds >= time_limit_s)


def training_cost(wall_s: float, speed: ModelSpeed | None) -> Cost:
    """The expected time of a training that uses its time up, and of two containers; its answers count as nothing."""
    return Cost(UNIT_S + wall_s + 2 * (speed.session_s if speed else 0.0))


def total_of(costs: Iterable[Cost]) -> Total:
    """The expected time of all these units."""
    all_costs = list(costs)
    known = [cost.seconds for cost in all_costs if cost.seconds is not None]
    return Total(sum(known), len(all_costs) - len(known), sum(cost.limited for cost in all_costs))
