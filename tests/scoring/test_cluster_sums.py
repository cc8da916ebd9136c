"""The statistics of a metric by cluster, by hand: sums of 2, 6 and 0 over 1, 3 and 0 items."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from scoring.clusters import Clusters, ClusterSums, cluster_sums
from scoring.errors import ScoringError
from scoring.studentised import binomial_interval
from scoring.tree import Float


def array(*values: float) -> Float:
    return np.array(values)


def stats(**changes: Any) -> ClusterSums:
    fields: dict[str, Any] = {
        "clusters": ("a", "b", "c"), "sums": array(2, 6, 0), "counts": array(1, 3, 0), "limit": 4.0,
        "baseline": array(4, 12, 0),
    }  # fmt: skip
    return ClusterSums("ice", "energy", **fields | changes)


def test_the_metric_and_its_numbers_of_clusters() -> None:
    plain = stats()
    assert (plain.key, plain.value, plain.mean, plain.n_clusters) == (("ice", "energy"), 2.0, 2.0, 2)
    assert plain.n_independent == 2.0
    rooted = stats(power=0.5, scale=10.0)
    assert rooted.value == pytest.approx(10 * math.sqrt(2))
    assert rooted.of_means(array(4.0, 9.0)).tolist() == [20.0, 30.0]
    assert ClusterSums("ice", "energy", ("a",), array(3.0), array(1.0)).limit == np.inf


def test_a_resample_without_items_has_the_value_of_the_test_set() -> None:
    assert stats().resampled(array(6.0, 0.0), array(2.0, 0.0)).tolist() == [3.0, 2.0]
    assert stats().resampled(array(6.0, 1.0), array(2.0, 0.5)).tolist() == [3.0, 2.0]


def test_a_multiple_of_the_baseline() -> None:
    """Σ s / Σ d = 8 / 16, times the baseline 16 / 4; bounds are those of the metric itself, over the baseline."""
    relative = stats().relative
    assert relative is not None
    assert (relative.value, relative.scale, relative.mean, relative.limit) == (2.0, 4.0, 0.5, np.inf)
    assert relative.counts.tolist() == [4.0, 12.0, 0.0]
    assert (relative.baseline, relative.relative) == (None, None)
    low, high = binomial_interval(0.5, 16 / 10)
    assert stats().bounds == pytest.approx((4 * low, 4 * high))
    assert relative.bounds == pytest.approx((low, high))
    assert stats(baseline=None).relative is None
    tiny = stats(baseline=array(0, 12, 0)).relative
    assert tiny is not None
    assert tiny.counts.tolist() == [12e-12, 12.0, 0.0]


def test_bounds_need_a_largest_mean_and_no_negative_sums() -> None:
    assert stats(limit=np.inf).bounds is None
    assert stats(sums=array(-1, 6, 0)).bounds is None
    unbounded = stats(limit=np.inf).relative
    assert unbounded is not None
    assert unbounded.bounds is None


def test_items_fold_into_clusters_with_their_baseline() -> None:
    clusters = Clusters.of(["b", "a", "b"])
    assert (clusters.names, clusters.of_items.tolist()) == (("a", "b"), [1, 0, 1])
    folded = cluster_sums("ice", "energy", clusters, array(1, 4, 3), array(1, 2, 3), baseline=array(5, 6, 7))
    assert folded.baseline is not None
    assert folded.baseline.tolist() == [6.0, 12.0]
    assert (folded.power, folded.scale, folded.limit, folded.shared) == (1.0, 1.0, np.inf, None)
    with pytest.raises(ScoringError, match=r"^task ice: energy: 3 items have sums of shape \(2,\) and counts of shape"):
        cluster_sums("ice", "energy", clusters, array(1, 4), array(1, 2, 3))
    with pytest.raises(ScoringError, match=r"3 items have sums of shape \(3,\) and counts of shape \(2,\)"):
        cluster_sums("ice", "energy", clusters, array(1, 4, 3), array(1, 2))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"sums": array(2, 6)}, "3 clusters have sums of shape (2,) and counts of shape (3,); give one of each"),
        ({"counts": array(1, 3)}, "3 clusters have sums of shape (3,) and counts of shape (2,); give one of each"),
        ({"clusters": ("a", "b", "a")}, "clusters: a name is given twice; add up its sums and counts"),
        ({"sums": array(np.nan, 6, 0)}, "sums: NaN; penalise failed items, or leave them out of sum and count"),
        ({"sums": array(-np.inf, 6, 0)}, "sums: NaN; penalise failed items, or leave them out of sum and count"),
        ({"counts": array(-1, 3, 0)}, "counts: NaN, infinite or negative; count items"),
        ({"counts": array(np.inf, 3, 0)}, "counts: NaN, infinite or negative; count items"),
        ({"sums": array(0, 0, 0), "counts": array(0, 0, 0)}, "counts: no item at all; leave the metric out"),
        ({"sums": array(2, 6, 1)}, "sums: not 0 where nothing is counted; count the items that are penalised"),
        ({"power": 0.0}, "power 0, scale 1: both must be positive"),
        ({"power": np.inf}, "power inf, scale 1: both must be positive"),
        ({"scale": 0.0}, "power 1, scale 0: both must be positive"),
        ({"scale": np.inf}, "power 1, scale inf: both must be positive"),
        ({"sums": array(-1, 6, 0), "power": 0.5}, "sums: negative under a root; sum squares"),
        ({"baseline": array(4, 12)}, "baseline: not positive and finite; leave it out"),
        ({"baseline": array(-1, 12, 0)}, "baseline: not positive and finite; leave it out"),
        ({"baseline": array(0, 0, 0)}, "baseline: not positive and finite; leave it out"),
        ({"baseline": array(np.inf, 1, 0)}, "baseline: not positive and finite; leave it out"),
    ],
)
def test_what_cannot_be_averaged_is_one_line(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(ScoringError) as error:
        stats(**changes)
    assert str(error.value) == f"task ice: energy: {fault}"
