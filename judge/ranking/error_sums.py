"""Sums of the errors of a result over groups of its items, for the ranking of a choice (`scoring.choice`)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scoring.shared_structures import Terms, independent_items
from tasks.metrics.contributions import Contribution
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric
from tasks.structures.frames import Float, Int

AGREEMENT = 1e-6  # as in `judge.ranking.cluster_statistics`
MOST_BLOCKS = 100
"""More blocks would make the files of the chooser large. A group has at least one."""


class ErrorSums(NamedTuple):
    """The sums over each of g groups, of a result and a metric.

    Args:
        n_clusters, trivial, trivial_squares: (g,) as in `scoring.choice_sums.SumGroup`.
        errors, spreads, slopes, failed: (g,) as in `scoring.choice_sums.ModelSums`.
        factor: as in `scoring.choice_sums.ReferenceSums`.
        dependence: as in `scoring.choice_sums.ReferenceSums`.
        root: whether the metric is a root mean square.
        block_groups, block_trivial, block_errors: (b,) of blocks of clusters, as in `scoring.choice_sums`.
    """

    n_clusters: Int
    trivial: Float
    trivial_squares: Float
    errors: Float
    spreads: Float
    slopes: Float
    failed: Int
    factor: float
    dependence: float
    root: bool
    block_groups: Int
    block_trivial: Float
    block_errors: Float


def error_sums(c: Contribution, stored: Metric, items: Items, labels: Int, n_groups: int) -> ErrorSums | None:
    """The sums of a metric; None if the items do not give the stored value, or if there is no trivial error.

    Args:
        labels: (k,) by item its group, −1 for an item that takes no part.
    """
    members = labels >= 0
    counted = float(c.counts.sum())
    value = c.scale * (float(c.sums.sum()) / counted) ** c.power if counted > 0 else math.nan
    usable = stored.baseline is not None and 0 < stored.baseline < math.inf
    if stored.charged is None or not usable or not math.isclose(value, stored.charged, rel_tol=AGREEMENT):
        return None
    trivial = _trivial(c, stored)
    divided = c.counts if trivial is None else trivial
    factor = 1.0 if trivial is not None else c.scale / (stored.baseline or math.nan)
    names = np.unique(np.array(items.cluster)[members], return_inverse=True)[1].ravel()
    codes, index = np.unique(np.stack([labels[members], names]), axis=1, return_inverse=True)
    group, index = codes[0], index.ravel()
    s, d = (_binned(index, values[members], codes.shape[1]) for values in (c.sums, divided))

    def total(values: Float) -> Float:
        return _binned(group, values, n_groups)

    ratio = np.divide(total(s), total(d), out=np.zeros(n_groups), where=total(d) > 0)
    rest = s - ratio[group] * d
    if not all(
        np.isfinite(total(values)).all() for values in (d * d, rest * rest, rest * d)
    ):  # beyond double precision
        return None
    failed = np.bincount(labels[members], items.cause[members] != 0, n_groups).astype(np.int64)
    clusters = np.bincount(group, minlength=n_groups)
    shared = clusters, total(d), total(d * d)
    block_groups, block = _blocks(group)
    of_blocks = [_binned(block, values, len(block_groups)) for values in (d, s)]
    of_model = total(s), total(rest * rest), total(rest * d)
    root, dependence = c.power == 0.5, _dependence(c, items)
    return ErrorSums(*shared, *of_model, failed, factor, dependence, root, block_groups, *of_blocks)


def _dependence(c: Contribution, items: Items) -> float:
    """Over the whole metric; 1 if its items share no structures."""
    if items.terms is None or c.errors is None:
        return 1.0
    chosen = c.counts > 0
    n_independent = independent_items(Terms(*items.terms).matrix(len(items))[chosen])
    return max(1.0, len(np.unique(np.array(items.cluster)[chosen])) / n_independent)


def _blocks(group: Int) -> tuple[Int, Int]:
    """(b,) the group of each block, and (k,) the block of each cluster, from the groups of clusters (k,), ascending."""
    numbers = np.arange(len(group)) * MOST_BLOCKS // max(len(group), MOST_BLOCKS)
    starts = np.ones(len(group), np.bool_)
    starts[1:] = (np.diff(group) != 0) | (np.diff(numbers) != 0)
    return group[starts], np.cumsum(starts) - 1


def _binned(index: Int, values: Float, n: int) -> Float:
    """(n,) the sums of `values` (k,) by `index` (k,)."""
    return np.bincount(index, values, n).astype(np.float64)


def _trivial(c: Contribution, stored: Metric) -> Float | None:
    """(k,) the sums of the trivial model, if these give the baseline; None if a card or a suite states another."""
    if c.baseline is None or stored.baseline is None:
        return None
    value = c.scale * float(c.baseline.sum() / c.counts.sum()) ** c.power
    return c.baseline if math.isclose(value, stored.baseline, rel_tol=AGREEMENT) else None
