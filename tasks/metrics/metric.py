"""One number of a task, and one number of a part of its items. Without numpy, so that listing results stays fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict


@dataclass(frozen=True)
class Metric:
    """One number of a task, with its number of items; stored unchanged in `judge.records.records.Result`.

    Args:
        value: over the items that succeeded; None if none did.
        unit: in the field's notation (`meV/atom`), empty for a pure number.
        charged: the penalised value: every error is clipped at `failure_cost`, and a failed item counts
            `failure_cost`. A model never improves it by failing. None if the metric has no such law (a count, a time).
        baseline: the same metric of the trivial model (composition only, or zero); None if there is none.
        failure_cost: of one failed item, in `unit`.
        n_items: the number of items.
        n_failed: the number of failed items.
    """

    value: float | None
    unit: str
    n_items: int
    n_failed: int = 0
    charged: float | None = None
    baseline: float | None = None
    failure_cost: float | None = None
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class MetricPart:
    """A metric over a part of the items: one element, or one group. Stored unchanged, like `Metric`.

    Args:
        by: `element` or `group`.
        name: of the element or group.
        metric: name of the whole metric.
        value: over the items that succeeded; None if none did.
    """

    by: str
    name: str
    metric: str
    value: float | None
    unit: str
    n_items: int
    n_failed: int = 0
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
