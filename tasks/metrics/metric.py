"""One number of a task, and one number of a part of its items. Imports no numpy, so that listing results stays fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict


@dataclass(frozen=True)
class Metric:
    """One number of a task, and over how many items it stands; stored as it is in `judge.records.records.Result`.

    Args:
        value: over the items that succeeded; None where none did.
        unit: in the field's notation (`meV/atom`), empty for a pure number.
        charged: the penalised value: every error is clipped at `failure_cost`, which also stands for a failed item.
            Nothing that a model can do by failing improves it. None where the metric has no such law (a count, a time).
        baseline: the same metric of the trivial model (composition only, or zero); None where there is none.
        failure_cost: of one failed item, in `unit`.
        n_items: items asked for.
        n_failed: of these, failed.
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
    """A metric over a part of the items: of one element, of one group. Stored as it is, like `Metric`.

    Args:
        by: `element` or `group`.
        name: which element, which group.
        metric: name of the metric that this is a part of.
        value: over the items that succeeded; None where none did.
    """

    by: str
    name: str
    metric: str
    value: float | None
    unit: str
    n_items: int
    n_failed: int = 0
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
