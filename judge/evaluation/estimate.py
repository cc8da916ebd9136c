"""How long a unit will take, told beforehand from what the preflight timed. Pure.

A call of n atoms is taken to last a + b·n, with a and b fitted to the preflight's timings by non-negative least
squares; a task that asks for f structures of N atoms together then lasts f·a + N·b, and the container its own start.
What that leaves out: a model that takes whole batches pays `a` less often, one whose cost grows faster than its atoms
pays more, and the steps of relaxations are what is usual. A task is cut off at its time limit: no unit costs more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from submissions.records import PreflightReport, Timing
from tasks.kind import Work

HOUR_S = 3600.0


class ModelSpeed(NamedTuple):
    """What a model costs.

    Args:
        per_call_s: of one structure, however small [s].
        per_atom_s: of each of its atoms [s].
        startup_s: of a container [s].
    """

    per_call_s: float
    per_atom_s: float
    startup_s: float = 0.0

    def seconds(self, work: Work) -> float:
        """How long `work` takes, without the start of the container [s]."""
        return work.frames * self.per_call_s + work.atoms * self.per_atom_s


class Cost(NamedTuple):
    """What a unit will take.

    Args:
        seconds: [s]; None where the model's speed is not known.
        limited: the task's time limit is what it will take: it will not get done.
    """

    seconds: float | None
    limited: bool = False


class Total(NamedTuple):
    """What several units will take together.

    Args:
        seconds: of those whose cost is known [s].
        unknown: how many are of unknown cost.
        limited: how many will run into their time limit.
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
    """(a, b) of seconds = a + b·n_atoms, neither negative, by least squares; a is 0 where all are of one size."""
    n_atoms = np.array([timing.n_atoms for timing in timings], np.float64)
    seconds = np.array([timing.seconds for timing in timings])
    constant = np.zeros(len(timings)) if np.ptp(n_atoms) == 0 else np.ones(len(timings))
    (per_call, per_atom), _ = nnls(np.stack([constant, n_atoms], axis=1), seconds)
    return float(per_call), float(per_atom)


def cost_of(work: Work, speed: ModelSpeed | None, time_limit_s: float) -> Cost:
    """What a unit will take, a container's start and at most `time_limit_s`."""
    if speed is None:
        return Cost(None)
    seconds = speed.seconds(work)
    return Cost(speed.startup_s + min(seconds, time_limit_s), limited=seconds >= time_limit_s)


def total_of(costs: Iterable[Cost]) -> Total:
    """What units cost together."""
    all_costs = list(costs)
    known = [cost.seconds for cost in all_costs if cost.seconds is not None]
    return Total(sum(known), len(all_costs) - len(known), sum(cost.limited for cost in all_costs))
