"""The LAMBench efficiency: how fast a model is beside 100 µs/atom."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scoring.errors import ScoringError
from scoring.lambench.rules import EfficiencyRule
from scoring.tree import Float, How, Leaf, Node, RawMetric, Scale


@dataclass(frozen=True)
class Speed(Scale):
    """reference / time, both in µs/atom."""

    name = "speed"
    reference: float

    def __call__(self, values: Float) -> Float:
        return self.reference / values


def efficiency_tree(times: Mapping[str, float | None], rule: EfficiencyRule, metric: str = "time") -> Node:
    """The efficiency of one model; higher is better, and 1 is the reference speed.

        η = η₀ / t,   t = mean over tasks of the mean time per atom,   η₀ = 100 µs/atom

    which is the harmonic mean of the tasks' own η₀ / t. Times are as charged: a frame that failed counts a declared
    time, so that leaving slow frames out never makes a model look faster. A task without any time (None) is infinitely
    slow: then the efficiency is 0; or, as LAMBench does it, there is none. None of value where no task has a time.

    Args:
        times: mean time [µs/atom] by task of the suite; None where the model has none.
        metric: what the time is called in the record it comes from.

    Raises:
        ScoringError: a time that is zero or negative.

    Source: LAMBench, arXiv:2504.19578, "efficiency".
    """
    parts = tuple(_task(name, times[name], rule, metric) for name in sorted(times))
    said = f"{rule.reference_us_per_atom:g} µs/atom over the mean time"
    return Node(
        "Efficiency", said, parts=parts, how=How.HARMONIC_MEAN, absent=rule.absent, pool=True, source=rule.source
    )


def _task(name: str, time: float | None, rule: EfficiencyRule, metric: str) -> Node:
    facts = (("reference", rule.reference_us_per_atom),)
    measured = time is not None and time < math.inf  # NaN loses
    if measured and time is not None and time <= 0:
        raise ScoringError(f"task {name}: a time of {time} µs/atom is not positive")
    raw = RawMetric(name, metric, time if measured else None, "µs/atom", facts)
    leaf = Leaf(raw, Speed(rule.reference_us_per_atom))
    said = f"{rule.reference_us_per_atom:g} µs/atom over the mean time"
    return Node(name, said if measured else f"no time: {rule.missing.in_words}", leaf=leaf, unit=name)
