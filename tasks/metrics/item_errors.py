"""The error of each item alone, not clipped at the failure cost: which items are the worst."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tasks.metrics.contributions import Contributing
from tasks.metrics.measurement import Items
from tasks.structures.frames import Float

_FEWEST_VALUES = 2  # beside zero; a share has one: an item is off, or it is not


class _NotClipped(NamedTuple):
    """A metric whose errors are clipped nowhere."""

    n_items: int
    failure_cost: float | None = math.inf


def item_errors(kind: object, items: Items, metric: str) -> Float | None:
    """(k,) the error of each item, in the unit of the metric; infinite where it failed, NaN where it takes no part.

    None if the metric is not a mean over items, or if it says of an item only whether it is off.

    Args:
        kind: that measured the items.
    """
    if not isinstance(kind, Contributing):
        return None
    try:
        contributions = kind.contributions(items, {metric: _NotClipped(len(items))})
    except ValueError:  # an older version measured these
        return None
    of_metric = next((each for each in contributions if each.metric == metric), None)
    if of_metric is None:
        return None
    takes_part = of_metric.counts > 0
    means = np.divide(of_metric.sums, of_metric.counts, out=np.full(len(items), np.nan), where=takes_part)
    errors = of_metric.scale * means**of_metric.power
    errors[takes_part & (items.cause != 0)] = np.inf
    return errors if len(np.unique(errors[np.isfinite(errors) & (errors > 0)])) >= _FEWEST_VALUES else None
