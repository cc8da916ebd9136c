"""Intervals of scores, ranks and tie groups, against values by hand or against statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scoring.bootstrap import ItemDraws, pools, resample
from scoring.clusters import ClusterSums
from scoring.errors import ScoringError
from scoring.intervals import Interval, Uncertainty, middle, resampled_scores
from scoring.order import tie_groups, with_ranks
from scoring.ranking import ranks
from scoring.set_spread import SetDraws, draw_sets
from scoring.tree import AsItIs, Float, How, Leaf, Node, RawMetric

B = 1000
NAMES = tuple("abcdefghij")
TASKS = ("t1", "t2", "t3")
DIFFICULTY = np.random.default_rng(5).gamma(1.0, 1.0, (len(TASKS), len(NAMES)))


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def stats(errors: Float) -> list[ClusterSums]:
    """By task, the sums by cluster of errors (tasks, clusters)."""
    ones = np.ones(len(NAMES))
    return [ClusterSums(t, "mae", NAMES, values, ones) for t, values in zip(TASKS, errors, strict=False)]


def leaf(task: str, value: float | None, unit: str = "eV") -> Node:
    return Node(task, "", unit=task, leaf=Leaf(RawMetric(task, "mae", value, unit), AsItIs()))


def tree(sums: list[ClusterSums], *, pool: bool = True) -> Node:
    return Node("error", "", parts=tuple(leaf(s.task, s.value) for s in sums), pool=pool, absent=1.0)


def drawn(
    trees: Mapping[str, Node], sums: Mapping[str, list[ClusterSums]], n: int, generator: np.random.Generator
) -> tuple[ItemDraws, SetDraws]:
    """Resampled metrics by model, and sets."""
    return resample(sums, n, generator), draw_sets(pools(trees.values()), n, generator)


def bootstrapped(
    trees: Mapping[str, Node], sums: Mapping[str, list[ClusterSums]], *, lower_is_better: bool = True
) -> dict[str, Uncertainty]:
    return with_ranks(resampled_scores(trees, *drawn(trees, sums, B, rng())), lower_is_better=lower_is_better)


def board(*models: Float) -> dict[str, Uncertainty]:
    sums = {f"m{i}": stats(errors) for i, errors in enumerate(models)}
    return bootstrapped({m: tree(s) for m, s in sums.items()}, sums)


def overlap(a: Interval, b: Interval) -> bool:
    return a.low <= b.high and b.low <= a.high


def test_a_constant_difference_separates_models_whose_intervals_overlap() -> None:
    result = board(DIFFICULTY, DIFFICULTY + 0.05)
    assert overlap(result["m0"].score, result["m1"].score)
    assert [result[m].group for m in ("m0", "m1")] == [1, 2]
    assert [result[m].rank_interval[:2] for m in ("m0", "m1")] == [(1, 1), (2, 2)]


def test_the_same_difference_with_noise_ties() -> None:
    noise = np.random.default_rng(1).normal(size=DIFFICULTY.shape)
    result = board(DIFFICULTY, DIFFICULTY + 0.05 + noise - noise.mean())
    assert [result[m].rank for m in ("m0", "m1")] == [1, 2]
    assert [result[m].group for m in ("m0", "m1")] == [1, 1]
    assert [result[m].rank_interval[:2] for m in ("m0", "m1")] == [(1, 2), (1, 2)]


def test_equal_models_share_rank_and_group() -> None:
    result = board(DIFFICULTY, DIFFICULTY, DIFFICULTY + 1)
    assert [r.rank for r in result.values()] == [1, 1, 3]
    assert [r.group for r in result.values()] == [1, 1, 2]
    assert result["m1"].rank_interval[:2] == (1, 1)


def test_order_and_company_of_models_change_no_interval() -> None:
    sums = {f"m{i}": stats(DIFFICULTY + i) for i in range(3)}
    trees = {m: tree(s) for m, s in sums.items()}
    together = bootstrapped(trees, sums)
    turned = {m: trees[m] for m in reversed(trees)}
    assert bootstrapped(turned, sums) == together
    alone = bootstrapped({"m1": trees["m1"]}, {"m1": sums["m1"]})["m1"]
    assert (alone.nodes, alone.metrics) == (together["m1"].nodes, together["m1"].metrics)


def test_every_metric_domain_and_score_has_the_interval_of_its_resamples() -> None:
    sums = stats(DIFFICULTY)
    first, second, third = (leaf(s.task, s.value) for s in sums)
    domains = (
        Node("d1", "", parts=(first, second), pool=True, how=How.LOGARITHMIC_MEAN),
        Node("d2", "", parts=(third,), pool=True),
    )
    root = Node("error", "", parts=domains)
    metrics = resample({"m": sums}, B, rng()).values
    result = with_ranks(resampled_scores({"m": root}, ItemDraws.same(metrics)), lower_is_better=True)["m"]
    t1, t2, t3 = (metrics["m"][t, "mae"] for t in TASKS)
    d1 = np.sqrt(t1 * t2)
    expected = {
        ("error",): (d1 + t3) / 2,
        ("error", "d1"): d1,
        ("error", "d2"): t3,
        ("error", "d1", "t1"): t1,
        ("error", "d1", "t2"): t2,
        ("error", "d2", "t3"): t3,
    }
    assert set(result.nodes) == set(expected)
    for path, values in expected.items():
        ordered = np.sort(values)
        assert result.nodes[path][:2] == pytest.approx((ordered[24], ordered[975])), path
    assert result.score == result.nodes[("error",)]
    assert result.metrics["t1", "mae"][:2] == result.nodes[("error", "d1", "t1")][:2]
    assert [result.nodes[p].n_held for p in (("error",), ("error", "d1"), ("error", "d2"))] == [0, 0, 0]


def test_one_cluster_and_one_test_set_have_no_interval_and_separate_nothing() -> None:
    sums = {m: [ClusterSums("t1", "mae", ("a",), np.array([v]), np.ones(1))] for m, v in (("good", 0.1), ("bad", 9.0))}
    trees = {m: tree(s) for m, s in sums.items()}
    result = bootstrapped(trees, sums)
    for model in ("good", "bad"):
        uncertain = result[model]
        assert not uncertain.score.known
        assert not uncertain.metrics["t1", "mae"].known
        assert not uncertain.rank_interval.known
        assert uncertain.score.n_held == 1
        assert uncertain.group == 1
    assert [result[m].rank for m in ("good", "bad")] == [1, 2]


def test_a_metric_that_is_held_is_counted() -> None:
    sums = stats(DIFFICULTY)[:2]
    trees = {"m": tree(sums, pool=False)}
    result = bootstrapped(trees, {"m": sums[:1]})["m"]
    assert result.score.known
    assert result.score.n_held == 1
    assert math.isnan(result.metrics["t2", "mae"].low)


def test_a_model_without_a_score_has_neither_rank_nor_group() -> None:
    sums = {"a": stats(DIFFICULTY), "none": []}
    trees = {"a": tree(sums["a"]), "none": Node("error", "", parts=tuple(leaf(t, None) for t in TASKS), absent=1.0)}
    result = bootstrapped(trees, sums)
    assert (result["none"].rank, result["none"].group) == (None, None)
    assert not result["none"].score.known
    assert not result["none"].rank_interval.known
    assert (result["a"].rank, result["a"].group) == (1, 1)
    assert with_ranks(resampled_scores({}, ItemDraws.same({})), lower_is_better=True) == {}


def test_tie_groups_by_hand() -> None:
    """b ties with the leader a. c ties with b but not with a, so c leads the next group. d ties with c."""
    drawn = {
        "a": np.array([1.0, 1.0, 1.0]),
        "b": np.array([0.9, 1.1, 1.7]),
        "c": np.array([1.4, 1.5, 1.6]),
        "d": np.array([0.5, 2.0, 3.0]),
        "e": np.array([5.0, 5.0, 5.0]),
    }
    scores = {"d": 1.9, "c": 1.5, "a": 1.0, "b": 1.2, "e": 5.0, "none": math.nan}
    assert tie_groups(scores, drawn, lower_is_better=True) == (("a", "b"), ("c", "d"), ("e",))
    mirrored = {m: -v for m, v in drawn.items()}
    assert tie_groups({m: -s for m, s in scores.items()}, mirrored, lower_is_better=False) == (
        ("a", "b"),
        ("c", "d"),
        ("e",),
    )
    held = {m: v for m, v in drawn.items() if m != "e"}
    assert tie_groups(scores, held, lower_is_better=True) == (("a", "b"), ("c", "d", "e"))


def test_a_difference_between_two_infinite_errors_is_none() -> None:
    drawn = {"a": np.array([1.0, np.inf, np.nan]), "b": np.array([2.0, np.nan, np.inf])}
    assert tie_groups({"a": 1.0, "b": 2.0}, drawn, lower_is_better=True) == (("a", "b"),)
    finite = {model: values[:1] for model, values in drawn.items()}
    assert tie_groups({"a": 1.0, "b": 2.0}, finite, lower_is_better=True) == (("a",), ("b",))


def test_ranks_share_and_leave_missing_scores_last() -> None:
    values = np.array([[2.0, math.nan], [1.0, 4.0], [2.0, 3.0], [math.nan, math.nan]])
    assert ranks(values, lower_is_better=True).T.tolist() == [[2, 1, 2, 4], [3, 2, 1, 3]]
    assert ranks(values, lower_is_better=False).T.tolist() == [[1, 3, 1, 4], [3, 1, 2, 3]]


def test_the_middle_needs_no_interpolation() -> None:
    assert [float(b) for b in middle(np.arange(1000.0)[::-1], 0.95)] == [24, 975]
    assert [float(b) for b in middle(np.array([1.0, np.inf, np.nan, 2.0]), 0.95)] == [1, math.inf]
    assert np.isnan(middle(np.array([np.nan, np.nan]), 0.95)).all()
    for level in (0.0, 1.0, math.nan, 95.0):
        with pytest.raises(ScoringError, match="level"):
            middle(np.arange(3.0), level)


@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e6, 1e6)), st.floats(0.5, 0.99))
def test_the_middle_holds_at_least_its_level(values: Float, level: float) -> None:
    low, high = middle(values, level)
    assert np.mean((low <= values) & (values <= high)) >= level - 1e-12
    wider = middle(values, (1 + level) / 2)
    assert wider[0] <= low <= high <= wider[1]
