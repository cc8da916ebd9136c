"""What each item adds to a metric's charged value: what resampling of clusters of items is made from.

A kind that has this reads it off the items table alone, long after measuring, and by the arithmetic it was measured by:
the formula of a contribution over all items gives `Metric.charged` back. What was fitted or computed over all items at
once (the energy shift of labelled frames, the baseline and W) is held where it was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from tasks.metrics.failure_cost import charged_sums
from tasks.metrics.measurement import Items
from tasks.structures.frames import Float


class Charged(Protocol):
    """What is needed of a metric: of `Metric`, or of one read back from where it was stored."""

    @property
    def failure_cost(self) -> float | None: ...

    @property
    def n_items(self) -> int: ...


class Contribution(NamedTuple):
    """What each item adds to a metric's charged value.

        charged = scale × (sums[counts > 0].sum() / counts.sum()) ** power

    Args:
        sums: (k,) by item, clipped at what a failure costs and charged that where it failed; 0 where `counts` is 0.
        counts: (k,) by item its components; 0: it does not take part.
        power: 0.5 for the root of a mean of squares.
        scale: 100 for a share in percent; the number of items for a count of them.
    """

    metric: str
    sums: Float
    counts: Float
    power: float = 1.0
    scale: float = 1.0


@runtime_checkable
class Contributing(Protocol):
    """A kind of which metrics are means, roots of means, shares or counts over items."""

    def contributions(self, items: Items, metrics: Mapping[str, Charged]) -> list[Contribution]:
        """One for each of `metrics` that is such a mean; `items` and `metrics` are of one result.

        Raises:
            ValueError: the items lack a column, or a metric its failure cost: they were measured by an older version.
        """
        ...


def charged_mean_of(
    metric: str, sums: Float, counts: Float, cost: float, power: float = 1.0, scale: float = 1.0
) -> Contribution:
    """The contribution of items with these sums, clipped and charged as in `tasks.metrics.failure_cost.charged_mean`.

    Args:
        sums: (k,) NaN where an item failed; whatever it is where `counts` is 0.
        cost: of an item that failed, in the unit of its mean, before `power` and `scale`.
    """
    return Contribution(metric, charged_sums(sums, counts, cost), np.where(counts > 0, counts, 0.0), power, scale)


def mean_of(
    metrics: Mapping[str, Charged], name: str, sums: Float, counts: Float, root: bool = False
) -> list[Contribution]:
    """The contribution to the mean `name`, or to the root of the mean of squares; none where there is no such metric.

    Raises:
        ValueError: the metric has no failure cost.
    """
    if name not in metrics:
        return []
    cost = metrics[name].failure_cost
    if cost is None:
        raise ValueError(f"metrics: {name}: has no failure cost: measure it again")
    return [charged_mean_of(name, sums, counts, cost**2 if root else cost, 0.5 if root else 1.0)]


def stored_column(items: Items, name: str) -> Float:
    """(k,) the column of that name.

    Raises:
        ValueError: there is none.
    """
    if name not in items.columns:
        raise ValueError(f"items: column {name}: is missing: measure it again")
    return items.columns[name]
