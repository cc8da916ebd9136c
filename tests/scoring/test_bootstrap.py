"""Resampled clusters and test sets: coverage, correlation, pairing, and draws that do not depend on other input."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from scoring.bootstrap import pools, resample
from scoring.clusters import Clusters, ClusterSums, cluster_sums
from scoring.errors import ScoringError
from scoring.intervals import middle
from scoring.tree import AsItIs, Float, Leaf, Node, RawMetric

N_RESAMPLES = 400
KEY = ("water", "energy")


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def metric_sums(
    sums: list[float],
    counts: list[float] | None = None,
    names: str = "abcdefgh",
    power: float = 1.0,
    scale: float = 1.0,
) -> ClusterSums:
    counts = [1.0] * len(sums) if counts is None else counts
    return ClusterSums(*KEY, tuple(names[: len(sums)]), np.array(sums), np.array(counts), power, scale)


def resampled_values(stats: ClusterSums, n_resamples: int = N_RESAMPLES) -> Float:
    """On the clusters drawn, without studentisation."""
    return resample({"m": [stats]}, n_resamples, rng(), plain=True).values["m"][stats.key]


def multiplicities(names: str, n_resamples: int) -> Float:
    """(B, C) how often each cluster of `KEY` was drawn, from metrics that each count one cluster."""
    probes = [
        ClusterSums(KEY[0], f"probe {name}", tuple(names), np.eye(len(names))[i], np.ones(len(names)))
        for i, name in enumerate(names)
    ]
    drawn = resample({"probe": probes}, n_resamples, rng(), plain=True).values["probe"]
    times: Float = np.rint(len(names) * np.array([drawn[probe.key] for probe in probes])).T
    return times


def test_items_fold_into_sums_per_cluster() -> None:
    stats = cluster_sums(
        *KEY, Clusters.of(["b", "a", "b"]), np.array([1.0, 4.0, 3.0]), np.array([1.0, 2.0, 3.0]), scale=10.0
    )
    assert stats.clusters == ("a", "b")
    assert stats.sums.tolist() == [4.0, 4.0]
    assert stats.counts.tolist() == [2.0, 4.0]
    assert stats.value == pytest.approx(10 * 8 / 6)
    assert cluster_sums(
        *KEY, Clusters.of(["a", "a"]), np.array([9.0, 7.0]), np.ones(2), power=0.5
    ).value == pytest.approx(math.sqrt(8))


def test_95_percent_intervals_cover_a_known_mean() -> None:
    """300 datasets of 50 clusters whose items share an effect; the true mean is 2."""
    draw = np.random.default_rng(0)
    stats, clusters = [], Clusters.of([str(i // 4) for i in range(200)])
    for number in range(300):
        effect = 2.0 + draw.normal(size=50)
        items = np.repeat(effect, 4) + draw.normal(size=200)
        stats.append(cluster_sums(f"set {number}", "error", clusters, items, np.ones(200)))
    drawn = resample({"m": stats}, N_RESAMPLES, rng()).values["m"]
    low, high = middle(np.array([drawn[s.key] for s in stats]), 0.95)
    coverage = float(np.mean((low <= 2.0) & (high >= 2.0)))
    assert 0.90 <= coverage <= 0.98


def test_correlated_clusters_widen_by_the_root_of_their_size() -> None:
    size, draw = 9, np.random.default_rng(0)
    values = np.repeat(draw.normal(size=200), size)
    items = [str(i) for i in range(len(values))]
    clusters = [str(i // size) for i in range(len(values))]
    stats = [cluster_sums(*KEY, Clusters.of(names), values, np.ones(len(values))) for names in (clusters, items)]
    widths = [float(np.subtract(*middle(resampled_values(each, 1000), 0.95))) for each in stats]
    assert widths[0] / widths[1] == pytest.approx(math.sqrt(size), rel=0.15)


def test_rmse_is_that_of_a_loop_over_the_drawn_items() -> None:
    names, draw = "abcdef", np.random.default_rng(3)
    errors = {name: draw.normal(size=n) for n, name in enumerate(names, 1)}
    stats = metric_sums(
        [float(np.sum(errors[n] ** 2)) for n in names], [float(len(errors[n])) for n in names], power=0.5, scale=1000
    )
    values = resampled_values(stats, 50)
    for times, value in zip(multiplicities(names, 50), values, strict=True):
        drawn = np.concatenate([errors[n] for n, k in zip(names, times, strict=True) for _ in range(int(k))])
        assert value == pytest.approx(1000 * np.sqrt(np.mean(drawn**2)), rel=1e-12)


def test_each_resample_has_as_many_clusters_as_the_task_and_each_is_as_likely() -> None:
    times = multiplicities("abcde", 4000)
    assert (times.sum(axis=1) == 5).all()
    assert times.mean(axis=0) == pytest.approx(np.ones(5), abs=0.08)
    assert times.var(axis=0) == pytest.approx(np.full(5, 0.8), abs=0.1)  # binomial of 5, 1/5


def test_clusters_are_drawn_by_their_alphabetical_order() -> None:
    """The order of a Python set would differ between processes."""
    assert np.array_equal(multiplicities("abcdefgh", 10), multiplicities("klmnopqr", 10))


def test_all_metrics_of_all_models_of_a_task_share_the_draw() -> None:
    sums = np.array([1.0, 5.0, 2.0, 8.0])
    a, b = metric_sums(list(sums)), metric_sums(list(sums + 3))
    other = ClusterSums(KEY[0], "force", a.clusters, 2 * sums, a.counts)
    drawn = resample({"A": [a, other], "B": [b]}, N_RESAMPLES, rng(), plain=True).values
    assert np.ptp(drawn["A"][KEY]) > 2
    assert drawn["B"][KEY] - drawn["A"][KEY] == pytest.approx(np.full(N_RESAMPLES, 3.0))
    assert drawn["A"][other.key] == pytest.approx(2 * drawn["A"][KEY])


def test_tasks_are_drawn_apart() -> None:
    a, b = (
        metric_sums([1.0, 5.0, 2.0, 8.0]),
        ClusterSums("ice", "energy", tuple("abcd"), np.array([1.0, 5, 2, 8]), np.ones(4)),
    )
    drawn = resample({"A": [a, b]}, 1000, rng()).values["A"]
    assert abs(np.corrcoef(drawn[a.key], drawn[b.key])[0, 1]) < 0.15


def test_clusters_are_paired_by_name_not_by_place() -> None:
    a = metric_sums([1.0, 5.0, 2.0, 8.0])
    turned = ClusterSums(*KEY, tuple("dcba"), a.sums[::-1], a.counts)
    drawn = resample({"A": [a], "B": [turned]}, N_RESAMPLES, rng()).values
    assert np.array_equal(drawn["A"][KEY], drawn["B"][KEY])


def test_the_same_seed_gives_the_same_in_any_order_and_company() -> None:
    a, b = metric_sums([1.0, 5.0, 2.0, 8.0]), metric_sums([3.0, 4.0, 9.0, 1.0])
    ice = ClusterSums("ice", "energy", tuple("xyz"), np.array([1.0, 2.0, 3.0]), np.ones(3))
    alone = resample({"A": [a]}, N_RESAMPLES, rng()).values["A"][KEY]
    beside = resample({"B": [ice, b], "A": [ice, a], "0": [a]}, N_RESAMPLES, rng()).values
    turned = resample({"0": [a], "A": [a, ice], "B": [b, ice]}, N_RESAMPLES, rng()).values
    assert np.array_equal(alone, beside["A"][KEY])
    for model, metrics in beside.items():
        for key, values in metrics.items():
            assert np.array_equal(values, turned[model][key])
    assert not np.array_equal(alone, resample({"A": [a]}, N_RESAMPLES, np.random.default_rng(8)).values["A"][KEY])


def test_a_model_with_other_clusters_changes_nothing_where_all_are_named() -> None:
    a, b = metric_sums([1.0, 5.0, 2.0, 8.0]), metric_sums([3.0, 4.0, 9.0, 1.0], names="cdef")
    names = {KEY[0]: "abcdef"}
    alone = resample({"A": [a]}, N_RESAMPLES, rng(), clusters=names).values["A"][KEY]
    beside = resample({"A": [a], "B": [b]}, N_RESAMPLES, rng(), clusters=names).values["A"][KEY]
    assert np.array_equal(alone, beside)


def test_equal_models_stay_equal_to_the_last_bit() -> None:
    draw = np.random.default_rng(0)
    names = tuple(map(str, range(997)))
    sums = [draw.random(997) for _ in range(11)]
    stats = {f"{i} {copy}": [ClusterSums(*KEY, names, s, np.ones(997))] for i, s in enumerate(sums) for copy in "ab"}
    drawn = resample(stats, N_RESAMPLES, rng()).values
    for i in range(11):
        assert np.array_equal(drawn[f"{i} a"][KEY], drawn[f"{i} b"][KEY])


@pytest.mark.parametrize("n_clusters", [2, 5, 30, 300])
def test_no_resample_depends_on_the_number_of_other_models(n_clusters: int) -> None:
    """To the last bit: BLAS adds in another order if a matrix has another number of rows."""
    draw = np.random.default_rng(0)
    names = tuple(map(str, range(n_clusters)))
    stats = {
        f"{i:03}": [ClusterSums(*KEY, names, np.exp(3 * draw.normal(size=n_clusters)), np.ones(n_clusters))]
        for i in range(150)
    }
    together = resample(stats, N_RESAMPLES, rng()).values
    for n_models in (1, 2, 3, 7, 63, 64, 65, 100):
        for first in (0, 1, 50):
            chosen = dict(list(stats.items())[first : first + n_models])
            for model, metrics in resample(chosen, N_RESAMPLES, rng()).values.items():
                assert np.array_equal(metrics[KEY], together[model][KEY])


def test_a_resample_without_any_item_keeps_the_value() -> None:
    rare = metric_sums([6.0, 2.0, 0.0, 0.0, 0.0, 0.0], [2.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    values, times = resampled_values(rare), multiplicities("abcdef", N_RESAMPLES)
    empty = times[:, :2].sum(axis=1) == 0
    assert empty.any()
    assert values[empty] == pytest.approx(np.full(empty.sum(), 8 / 3))
    assert values[~empty] == pytest.approx((times[:, :2] @ [6, 2])[~empty] / (times[:, :2] @ [2, 1])[~empty])


def test_a_metric_of_one_cluster_is_left_out() -> None:
    assert resample({"A": [metric_sums([3.0])], "B": [metric_sums([3.0, 0.0], [2.0, 0.0])]}, 10, rng()).values == {
        "A": {},
        "B": {},
    }


def test_an_infinite_error_makes_every_resample_with_it_infinite() -> None:
    values, times = resampled_values(metric_sums([1.0, math.inf, 3.0])), multiplicities("abc", N_RESAMPLES)
    assert (np.isinf(values) == (times[:, 1] > 0)).all()
    assert not np.isnan(values).any()


def test_many_clusters_are_drawn_in_blocks() -> None:
    n = 30_000  # 133 resamples at once
    stats = ClusterSums(*KEY, tuple(map(str, range(n))), np.arange(n, dtype=float), np.ones(n))
    values = resampled_values(stats, 140)
    assert values.shape == (140,)
    assert len(set(values)) == 140
    assert values.std() == pytest.approx(n / math.sqrt(12 * n), rel=0.2)  # of the mean of n uniform numbers


@pytest.mark.parametrize(
    ("sums", "counts", "power", "says"),
    [
        ([1.0, math.nan], [1.0, 1.0], 1.0, "sums: NaN"),
        ([1.0, 1.0], [1.0, math.nan], 1.0, "counts: NaN"),
        ([1.0, 1.0], [1.0, -1.0], 1.0, "counts"),
        ([0.0, 0.0], [0.0, 0.0], 1.0, "no item at all"),
        ([1.0, 1.0], [1.0, 0.0], 1.0, "where nothing is counted"),
        ([1.0, -2.0], [1.0, 1.0], 0.5, "negative under a root"),
        ([1.0, 2.0], [1.0, 1.0], 0.0, "positive"),
        ([1.0], [1.0, 1.0], 1.0, "shape"),
    ],
)
def test_bad_statistics_are_refused(sums: list[float], counts: list[float], power: float, says: str) -> None:
    with pytest.raises(ScoringError, match=f"task water: energy: .*{says}"):
        ClusterSums(*KEY, ("a", "b"), np.array(sums), np.array(counts), power)


def test_a_name_or_a_metric_given_twice_is_refused() -> None:
    with pytest.raises(ScoringError, match="water: energy: clusters"):
        ClusterSums(*KEY, ("a", "a"), np.ones(2), np.ones(2))
    with pytest.raises(ScoringError, match="water: energy: twice for model A"):
        resample({"A": [metric_sums([1.0, 2.0]), metric_sums([1.0, 3.0])]}, 10, rng())
    with pytest.raises(ScoringError, match="water: energy: 2 items"):
        cluster_sums(*KEY, Clusters.of(["a", "b"]), np.ones(3), np.ones(3))


def unit(name: str, *metrics: str) -> Node:
    parts = tuple(Node(m, "", leaf=Leaf(RawMetric(name, m, 1.0), AsItIs())) for m in metrics)
    return Node(name, "", unit=name, parts=parts)


def pool(name: str, *parts: Node) -> Node:
    return Node(name, "", parts=parts, pool=True)


def test_pools_hold_the_units_of_all_trees_the_innermost_first() -> None:
    inner = pool("inner", unit("c", "x"), unit("d", "x"))
    trees = [
        Node("score", "", parts=(pool("one", unit("b", "x"), unit("a", "x")), pool("two", unit("e", "x"), inner))),
        Node("score", "", parts=(pool("one", unit("f", "x")),)),
    ]
    assert pools(trees) == {
        ("score", "one"): ("a", "b", "f"),
        ("score", "two"): ("e",),
        ("score", "two", "inner"): ("c", "d"),
    }


def test_a_unit_in_two_pools_is_refused() -> None:
    with pytest.raises(ScoringError, match="task a: in two pools, score / one and score / two"):
        pools([Node("score", "", parts=(pool("one", unit("a", "x")), pool("two", unit("a", "y"))))])


def test_large_boards_are_quick() -> None:
    names, draw = tuple(map(str, range(1000))), np.random.default_rng(0)
    board = {
        f"{m}": [ClusterSums(f"{t}", "e", names, draw.random(1000), np.ones(1000)) for t in range(5)] for m in range(20)
    }
    begin = time.perf_counter()
    resample(board, 500, rng())
    assert time.perf_counter() - begin < 3.0  # takes 0.1 s
