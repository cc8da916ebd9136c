"""Metrics broken down: the same means over the items of one group, or of one element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.metrics.measurement import MetricPart
from tasks.structures.frames import Bool, Float

# More are a list of items, not a breakdown.
MAX_GROUPS = 100


class Averaged(NamedTuple):
    """A metric as a mean over components of items.

    Args:
        name: of the metric.
        sums: (k,) by item the sum over its components; NaN where it failed.
        counts: (k,) by item its components; 0: it does not take part.
        root: the metric is the root of the mean.
    """

    name: str
    unit: str
    sums: Float
    counts: Float
    root: bool = False


def part_of(by: str, name: str, metric: Averaged, chosen: Bool) -> MetricPart:
    """`metric` over the items where `chosen` (k,) is true."""
    there = chosen & (metric.counts > 0)
    good = there & np.isfinite(metric.sums)
    mean = float(metric.sums[good].sum() / metric.counts[good].sum()) if good.any() else None
    value = mean**0.5 if metric.root and mean is not None else mean
    return MetricPart(by, name, metric.name, value, metric.unit, int(there.sum()), int(there.sum() - good.sum()))


def parts_by_group(metrics: Sequence[Averaged], groups: Sequence[str]) -> list[MetricPart]:
    """Each of `metrics` over the items of each group; none where there is one group, or more than can be read."""
    names, index = np.unique(np.array(groups), return_inverse=True)
    if not 1 < len(names) <= MAX_GROUPS:
        return []
    return [part_of("group", str(name), m, index == k) for m in metrics for k, name in enumerate(names)]
