"""The LAMBench efficiency: how fast a model is beside 100 µs/atom."""

from __future__ import annotations

import math
from collections.abc import Mapping

from scoring.release import EfficiencyRule, ScoringError
from scoring.term import Term, mean


def efficiency(times: Mapping[str, float | None], rule: EfficiencyRule) -> Term:
    """The efficiency of one model; higher is better, and 1 is the reference speed.

        η = η₀ / t,   t = mean over tasks of the mean time per atom,   η₀ = 100 µs/atom

    Times are as charged: a frame that failed counts a declared time, so that leaving slow frames out never makes a
    model look faster. A task without any time (None) is infinitely slow: then the efficiency is 0. None of value where
    no task has a time.

    Args:
        times: mean time [µs/atom] by task of the suite; None where the model has none.

    Raises:
        ScoringError: a time that is zero or negative.

    Source: LAMBench, arXiv:2504.19578, "efficiency".
    """
    parts = tuple(_task(name, times[name], rule) for name in sorted(times))
    covered = sum(part.covered for part in parts)
    if not covered:
        value = None
    elif covered < len(parts):
        value = 0.0
    else:
        value = rule.reference_us_per_atom / mean(float(t) for t in times.values() if t is not None)
    return Term("Efficiency", value, "100 µs/atom over the mean time", covered, len(parts), parts=parts)


def _task(name: str, time: float | None, rule: EfficiencyRule) -> Term:
    if time is None or not time < math.inf:  # NaN loses
        return Term(name, None, "no time: counted as infinitely slow", 0, 1)
    if time <= 0:
        raise ScoringError(f"task {name}: a time of {time} µs/atom is not positive")
    return Term(name, rule.reference_us_per_atom / time, "100 µs/atom over the mean time", 1, 1)
