"""The LAMBench efficiency: the speed of a model relative to 100 µs/atom."""

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

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, math.inf


def efficiency_tree(times: Mapping[str, float | None], rule: EfficiencyRule, metric: str = "time") -> Node:
    """The efficiency of one model; higher is better, and 1 is the reference speed.

        η = η₀ / t,   t = mean over tasks of the mean time per atom,   η₀ = 100 µs/atom

    which is the harmonic mean of η₀ / t over tasks. Times contain failure costs: a failed frame counts a declared time,
    so that a model does not look faster if it leaves slow frames out. A task without a time (None) counts as infinitely
    slow, so that the efficiency is 0; or, as in LAMBench, the efficiency has no value. It has none either if no task
    has a time.

    Args:
        times: mean time [µs/atom] by task of the suite; None if the model has none.
        metric: the name of the time in the record that it comes from.

    Raises:
        ScoringError: a time is zero or negative.

    Source: LAMBench, arXiv:2504.19578, "efficiency".
    """
    parts = tuple(_task(name, times[name], rule, metric) for name in sorted(times))
    return Node(
        "Efficiency",
        _in_words(rule),
        parts=parts,
        how=How.HARMONIC_MEAN,
        absent=rule.absent,
        pool=True,
        source=rule.source,
    )


def _task(name: str, time: float | None, rule: EfficiencyRule, metric: str) -> Node:
    facts = (("reference", rule.reference_us_per_atom),)
    measured = time is not None and time < math.inf  # NaN loses
    if measured and time is not None and time <= 0:
        raise ScoringError(f"task {name}: a time of {time} µs/atom is not positive")
    raw = RawMetric(name, metric, time if measured else None, "µs/atom", facts)
    leaf = Leaf(raw, Speed(rule.reference_us_per_atom))
    text = _in_words(rule) if measured else f"no time: {rule.missing.in_words}"
    return Node(name, text, leaf=leaf, unit=name)


def _in_words(rule: EfficiencyRule) -> str:
    return f"{rule.reference_us_per_atom:g} µs/atom over the mean time"
