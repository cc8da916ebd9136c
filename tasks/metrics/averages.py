"""Metrics that are means over components of items: values, breakdowns, and the contribution of each item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tasks.metrics.contributions import Contribution, WithFailureCost
from tasks.metrics.failure_cost import failure_cost, penalised_sums
from tasks.metrics.metric import Metric, MetricPart
from tasks.structures.frames import Bool, Float

# With more groups a breakdown would be as long as the list of items.
MAX_GROUPS = 100


class Average(NamedTuple):
    """A metric as a mean over components of items.

    Args:
        name: of the metric.
        sums: (k,) by item the sum over its components; NaN where it failed; not read where `counts` is 0.
        counts: (k,) by item its components; 0: the item takes no part.
        root: whether the metric is the root of the mean.
        scale: by which the mean is multiplied: 100 for a share in percent.
        errors: (k,) with their signs, of which `sums` are the absolute values or the squares; None: there are none.
        baseline: (k,) `sums` of the trivial model, whose mean is the baseline; None: the baseline is another one.
    """

    name: str
    unit: str
    sums: Float
    counts: Float
    root: bool = False
    scale: float = 1.0
    errors: Float | None = None
    baseline: Float | None = None

    def metric(self, baseline: float | None, cost: float | None = None) -> Metric:
        """The metric over all items.

        Args:
            baseline: the same metric of the trivial model; None: there is none.
            cost: of a failed item, in `unit`; None: it follows from the baseline.

        Raises:
            ValueError: there is neither a cost nor a baseline that gives one.
        """
        if cost is None:
            cost = failure_cost(self.name, np.nan if baseline is None else baseline)
        takes_part = self.counts > 0
        sums, counts = self.sums[takes_part], self.counts[takes_part]
        penalised = self.contribution(cost).sums[takes_part].sum() / counts.sum()
        value, n_failed = self._mean(np.ones(len(self.counts), np.bool_))
        charged = self.scale * float(penalised) ** (0.5 if self.root else 1.0)
        return Metric(value, self.unit, len(sums), n_failed, charged, baseline, cost)

    def contribution(self, cost: float) -> Contribution:
        """The contribution of each item to the penalised value, if a failed item costs `cost`, in `unit`."""
        cost, power = (cost**2, 0.5) if self.root else (cost / self.scale, 1.0)
        counts = np.where(self.counts > 0, self.counts, 0.0)
        sums = penalised_sums(self.sums, self.counts, cost)
        baseline = None if self.baseline is None else np.where(counts > 0, self.baseline, 0.0)
        return Contribution(self.name, sums, counts, power, self.scale, cost, self.errors, baseline)

    def over(self, chosen: Bool) -> Average:
        """The average over the items where `chosen` (k,) is true, without the others."""
        errors, baseline = (None if each is None else each[chosen] for each in (self.errors, self.baseline))
        return self._replace(sums=self.sums[chosen], counts=self.counts[chosen], errors=errors, baseline=baseline)

    def part(self, by: str, name: str, chosen: Bool) -> MetricPart:
        """The metric over the items where `chosen` (k,) is true."""
        value, n_failed = self._mean(chosen)
        n_items = int((chosen & (self.counts > 0)).sum())
        return MetricPart(by, name, self.name, value, self.unit, n_items, n_failed)

    def _mean(self, chosen: Bool) -> tuple[float | None, int]:
        """The metric over the chosen items (k,) that did not fail (None if all failed), and the number that failed."""
        takes_part = chosen & (self.counts > 0)
        answered = takes_part & np.isfinite(self.sums)
        n_failed = int(takes_part.sum() - answered.sum())
        if not answered.any():
            return None, n_failed
        mean = float(self.sums[answered].sum() / self.counts[answered].sum())
        return self.scale * mean ** (0.5 if self.root else 1.0), n_failed


def parts_by_group(averages: Iterable[Average], groups: Sequence[str]) -> list[MetricPart]:
    """Each average over the items of each group; empty for one group, or for too many to read."""
    names, index = np.unique(np.array(groups), return_inverse=True)
    if not 1 < len(names) <= MAX_GROUPS:
        return []
    return [average.part("group", str(name), index == k) for average in averages for k, name in enumerate(names)]


def contributions_to(metrics: Mapping[str, WithFailureCost], averages: Iterable[Average]) -> list[Contribution]:
    """The contributions of the averages that are in `metrics`.

    Raises:
        ValueError: a metric has no failure cost.
    """
    contributions = []
    for average in averages:
        if average.name in metrics:
            cost = metrics[average.name].failure_cost
            if cost is None:
                raise ValueError(f"metrics: {average.name}: has no failure cost: measure it again")
            contributions.append(average.contribution(cost))
    return contributions
