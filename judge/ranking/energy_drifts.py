"""The instability of constant-energy runs as an error of items, so that a choice of a reader can count it.

A run counts by how many decades its energy drift exceeds the tolerance, as in LAMBench's instability. The most that
counts takes the place of the trivial model's error. A run that failed or ran out of time counts as much.
"""

from __future__ import annotations

import numpy as np

from scoring.lambench.instability import Decades
from tasks.metrics.contributions import Contribution, stored_column
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric

DRIFT = "slope_geomean"
"""The metric of the kind: decades of a geometric mean are a mean of decades."""


def drift_decades(items: Items, scale: Decades) -> tuple[Contribution, Metric]:
    """The decades of each run, and their mean, at most `scale.worst`.

    Raises:
        ValueError: an older version measured the items, without slopes.
    """
    slopes = stored_column(items.columns, "slope")
    sound = (items.cause == 0) & np.isfinite(slopes)
    decades = np.where(sound, np.minimum(scale(np.where(sound, slopes, np.inf)), scale.worst), scale.worst)
    each = np.ones(len(items))
    mean, failed = float(decades.mean()), int((~sound).sum())
    metric = Metric(None, "", len(items), failed, mean, scale.worst, scale.worst)
    return Contribution(DRIFT, decades, each, limit=scale.worst, baseline=scale.worst * each), metric
