"""The metrics of a kind, as stated before a measurement."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Better(StrEnum):
    """Which values of a metric are better."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = ""


@dataclass(frozen=True)
class KindMetric:
    """A metric of a kind.

    Args:
        name: as in `Measurement.metrics`; * stands for any text (`*_mae`), where data sets name the quantities.
        label: for readers; empty: the name with spaces.
        unit: None where the parameters of the task choose it.
        scored: whether the property error counts it. It then needs a baseline, and lower must be better.
        law: whether it is a law that a model can keep without chemistry, such as stability: its baseline, the worst
            value, is no bound for such models.
    """

    name: str
    label: str = ""
    unit: str | None = None
    better: Better = Better.LOWER
    scored: bool = False
    law: bool = False
