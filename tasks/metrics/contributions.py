"""The contribution of each item to the penalised value of a metric. Intervals come from resampling these.

A kind computes the contributions from the stored table of items alone, with the arithmetic of `measure`: the formula
over all items gives `Metric.charged`. Quantities that were fitted to all items (the energy shifts of labelled frames,
and W) keep their measured values. Clusters of items are resampled together, and the baseline with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from tasks.metrics.measurement import Items
from tasks.structures.frames import Float

_BASELINE = "_baseline"


class WithFailureCost(Protocol):
    """The fields of a `Metric` that contributions need."""

    @property
    def failure_cost(self) -> float | None: ...

    @property
    def n_items(self) -> int: ...


class Contribution(NamedTuple):
    """The contribution of each item to the penalised value of a metric.

        penalised = scale × (sums[counts > 0].sum() / counts.sum()) ** power

    Args:
        sums: (k,) by item, clipped at the failure cost, which also stands for a failed item; 0 where `counts` is 0.
        counts: (k,) by item its components; 0: the item takes no part.
        power: 0.5 for the root of a mean of squares.
        scale: 100 for a share in percent; the number of items for a count of them.
        limit: the largest mean, which is that of failed items.
        errors: (k,) with signs, NaN where failed, of which `sums` are the absolute values, or the squares under a root;
            None: there are none.
        baseline: (k,) by item the sums of the trivial model, 0 where `counts` is 0; None: the baseline is not computed
            from the items.
    """

    metric: str
    sums: Float
    counts: Float
    power: float = 1.0
    scale: float = 1.0
    limit: float = math.inf
    errors: Float | None = None
    baseline: Float | None = None


@runtime_checkable
class Contributing(Protocol):
    """A kind whose metrics are means, roots of means, shares or counts over items."""

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """One contribution for each of `metrics` that is such a mean; `items` and `metrics` belong to one result.

        Raises:
            ValueError: the items lack a column, or a metric its failure cost: they were measured by an older version.
        """
        ...


def baseline_column(name: str) -> str:
    """The name of the column that holds the trivial model's values of the column `name`."""
    return name + _BASELINE


def is_baseline_column(name: str) -> bool:
    """True for a name of `baseline_column`."""
    return name.endswith(_BASELINE)


def stored_column(columns: Mapping[str, Float], name: str) -> Float:
    """(k,) the column of that name, of those of the items.

    Raises:
        ValueError: there is none.
    """
    if name not in columns:
        raise ValueError(f"items: column {name}: is missing: measure it again")
    return columns[name]
