"""Intervals hold the true value as often as they say, and laws that every draw keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.coverage import (
    HALF_NORMAL,
    HEAVY,
    coverage_of_domain,
    coverage_of_failures,
    coverage_of_metric,
    coverage_of_shared,
    normal,
    star,
    told_apart,
    water27,
)
from scoring.bootstrap import ItemDraws, pools, resample, resample_relative
from scoring.clusters import ClusterSums
from scoring.intervals import MIN_INDEPENDENT, middle, resampled_scores
from scoring.order import tie_groups, with_ranks
from scoring.set_spread import draw_sets
from scoring.shared_structures import Loss, SharedErrors, Terms, independent_items
from scoring.tree import AsItIs, Float, How, Leaf, Node, RawMetric

REPEATS = 300  # the standard error of a coverage of 0.9 is 0.017


@pytest.mark.parametrize("n", [10, 50])
@pytest.mark.parametrize("power", [1.0, 0.5])
def test_errors_of_a_normal_distribution_are_covered(n: int, power: float) -> None:
    assert coverage_of_metric(HALF_NORMAL, n, power, REPEATS) >= 0.9


def test_heavy_tails_are_covered_where_plain_resamples_do_not_cover_them() -> None:
    assert coverage_of_metric(HEAVY, 50, 0.5, REPEATS) >= 0.8
    assert coverage_of_metric(HEAVY, 50, 0.5, REPEATS, plain=True) < 0.75


@pytest.mark.parametrize("matrix", [water27(), star(64)], ids=["WATER27", "BUT14DIOL"])
@pytest.mark.parametrize("loss", list(Loss))
def test_shared_structures_are_covered_where_resampled_items_do_not_cover_them(matrix: Float, loss: Loss) -> None:
    assert coverage_of_shared(matrix, normal, loss, 200) >= 0.9
    assert coverage_of_shared(matrix, normal, loss, 200, plain=True) < 0.5


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_rare_failures_are_covered_without_an_interval_up_to_their_cost(power: float) -> None:
    """The upper end was 20 to 70 times the value."""
    coverage, upper = coverage_of_failures(0.01, 300, power, REPEATS)
    assert coverage >= 0.9
    assert upper < 3.0


@pytest.mark.parametrize("loss", list(Loss))
def test_failures_are_covered_if_structures_are_shared(loss: Loss) -> None:
    assert coverage_of_shared(star(64), normal, loss, 200, failing=0.1) >= 0.9
    assert coverage_of_shared(water27(), normal, loss, 200, failing=0.1) >= 0.9


def test_equal_models_are_told_apart_as_rarely_as_is_said() -> None:
    assert told_apart(HALF_NORMAL, MIN_INDEPENDENT, 1.0, REPEATS) <= 0.07
    assert told_apart(HEAVY, MIN_INDEPENDENT, 0.5, REPEATS) <= 0.07


def test_a_domain_of_few_test_sets_is_covered_better_than_before() -> None:
    """Resampled sets covered 0.71 with two test sets and 0.88 with five."""
    assert coverage_of_domain(2, 50, REPEATS) >= 0.92
    assert coverage_of_domain(5, 50, REPEATS) >= 0.92


def sums(values: Float, **more: object) -> ClusterSums:
    return ClusterSums("task", "mae", tuple(map(str, range(len(values)))), values, np.ones(len(values)), **more)  # type: ignore[arg-type]


def draws(metric: ClusterSums, n: int = 1000) -> Float:
    return resample({"m": [metric]}, n, np.random.default_rng(3)).with_unseen["m"]["task", "mae"]


def test_draws_scale_with_the_unit() -> None:
    values = np.random.default_rng(0).gamma(1.0, 1.0, 20)
    assert draws(sums(1e-200 * values)) == pytest.approx(1e-200 * draws(sums(values)), rel=1e-9)


@pytest.mark.parametrize("n", [2, 3, 5, 30])
def test_draws_stay_between_zero_and_the_largest_possible_mean(n: int) -> None:
    values = np.minimum(np.random.default_rng(n).exponential(1.0, n) ** 2, 2.0)
    drawn = draws(sums(values, limit=2.0))
    assert ((drawn >= 0) & (drawn <= 2.0)).all()
    low, high = middle(drawn, 0.95)
    assert low < values.mean() < high


def test_two_clusters_give_a_wide_interval() -> None:
    low, high = middle(draws(sums(np.array([1.0, 2.0]))), 0.95)
    assert low < 0.5
    assert high > 4.0


def test_equal_clusters_and_no_errors_give_the_value_itself() -> None:
    """Where no item can fail, or all did."""
    for value in (0.0, 0.3):
        assert (draws(sums(np.full(5, value))) == value).all()
    assert (draws(sums(np.full(5, 2.0), limit=2.0)) == 2.0).all()


def test_few_of_many_items_off_are_no_reason_for_a_share_of_all() -> None:
    off = np.zeros(50)
    off[:3] = 1.0
    low, high = middle(draws(sums(off, limit=1.0, scale=100.0)), 0.95)
    assert 0.0 < low < 6.0 < high < 40.0


@pytest.mark.parametrize(
    ("n", "failed", "exact"), [(60, 0, 0.0409), (60, 1, 0.0758), (300, 3, 0.0264), (1000, 2, 0.0064)]
)
@pytest.mark.parametrize("power", [1.0, 0.5])
def test_an_interval_ends_as_that_of_the_failures(n: int, failed: int, exact: float, power: float) -> None:
    """By Jeffreys; of all metrics with such items, and of scores near their best value."""
    values = 5e-4 * np.abs(np.random.default_rng(0).normal(size=n))
    values[:failed] = 1.0
    metric = sums(values ** (1 / power), power=power, limit=1.0, baseline=np.full(n, 0.1) ** (1 / power))
    relative = resample_relative({"m": [metric]}, 1000, np.random.default_rng(3)).with_unseen["m"][metric.key]
    for drawn in (draws(metric), relative):
        assert middle(drawn, 0.95)[1] ** (1 / power) == pytest.approx(exact, rel=0.12)
    if power == 1.0:
        assert middle(draws(sums(1.0 - values, limit=1.0)), 0.95)[0] == pytest.approx(1.0 - exact, rel=0.12)


def test_a_model_with_two_of_a_thousand_items_failed_is_not_tied_with_one_six_times_as_bad() -> None:
    rng, models = np.random.default_rng(0), {}
    for name, size, failed in (("failed", 0.05, 2), ("bad", 0.5, 0)):
        errors = size * np.abs(rng.normal(size=1000))
        errors[:failed] = 10.0
        models[name] = sums(errors, limit=10.0, baseline=np.ones(1000))
    drawn = resample_relative({m: [each] for m, each in models.items()}, 1000, rng).values
    of_model = {m: values["task", "mae"] for m, values in drawn.items()}
    groups = tie_groups({m: each.value for m, each in models.items()}, of_model, lower_is_better=True)
    assert groups == (("failed",), ("bad",))


def test_independent_items_of_shared_structures() -> None:
    """By hand: items that share one of two structures have a correlation of 1/2, so squares have one of 1/4."""
    assert independent_items(np.eye(7)) == pytest.approx(7.0)
    assert independent_items(star(64)) == pytest.approx(64 / (1 + 63 / 4))
    assert independent_items(np.ones((5, 1))) == pytest.approx(1.0)


def test_the_matrix_of_terms_has_a_column_for_each_structure_that_occurs() -> None:
    terms = Terms(np.array([0, 0, 1, 1]), np.array([9, 4, 9, 7]), np.array([1.0, -2.0, 1.0, 3.0]))
    assert terms.matrix(2).tolist() == [[-2.0, 0.0, 1.0], [0.0, 3.0, 1.0]]


def shared(errors: Float, matrix: Float, limit: float = np.inf) -> ClusterSums:
    losses = np.where(np.isnan(errors), limit, np.minimum(np.abs(errors), limit))
    return sums(losses, limit=limit, shared=SharedErrors(matrix, errors, Loss.ABSOLUTE, limit))


def test_models_with_equal_errors_stay_equal_and_a_multiple_stays_a_multiple() -> None:
    errors = star(40) @ np.random.default_rng(1).normal(size=41)
    drawn = {
        m: draws(shared(np.asarray(factor * errors), star(40))) for m, factor in (("a", 1.0), ("b", 1.0), ("c", 3.0))
    }
    assert np.array_equal(drawn["a"], drawn["b"])
    assert drawn["c"] == pytest.approx(3 * drawn["a"])


def test_failed_items_keep_their_cost() -> None:
    """Also if all of them failed, or all that have a structure."""
    errors = star(40) @ np.random.default_rng(1).normal(size=41)
    errors[:20] = math.nan
    drawn = draws(shared(errors, star(40), limit=10.0))
    assert ((drawn > 0) & (drawn <= 10.0)).all()
    assert np.ptp(drawn) > 0
    assert (draws(shared(np.nan * errors, star(40), limit=10.0)) == 10.0).all()


def test_items_fail_together_if_a_structure_that_no_other_item_has_is_in_all_of_them() -> None:
    """Of three molecules with three conformers each, the first fails altogether, and one conformer of the second."""
    errors = np.ones(9)
    errors[[0, 1, 2, 4]] = math.nan
    assert SharedErrors(np.kron(np.eye(3), star(3)), errors, Loss.ABSOLUTE, 10.0).unit_sizes().tolist() == [
        *(3, 0, 0),
        *(1, 1, 1),
        *(1, 1, 1),
    ]


def test_reactions_that_share_nothing_are_resampled_as_items() -> None:
    matrix = np.kron(np.eye(20), [[1.0, -1.0]]).astype(np.float64)
    errors = np.random.default_rng(1).normal(size=20)
    assert np.array_equal(draws(shared(errors, matrix)), draws(sums(np.abs(errors))))


def board(n_items: int) -> tuple[dict[str, Node], dict[str, list[ClusterSums]]]:
    stats = {
        m: [sums(factor * np.random.default_rng(2).gamma(4.0, 0.25, n_items))] for m, factor in (("a", 1), ("b", 5))
    }
    return {
        m: Node("error", "", parts=(Node("task", "", leaf=Leaf(RawMetric("task", "mae", s.value), AsItIs())),))
        for m, (s,) in stats.items()
    }, stats


@pytest.mark.parametrize("n_items", [MIN_INDEPENDENT - 1, MIN_INDEPENDENT])
def test_below_thirty_independent_items_there_is_no_order_and_no_tie(n_items: int) -> None:
    trees, stats = board(n_items)
    counts = {m: {s.key: s.n_independent for s in of_model} for m, of_model in stats.items()}
    metrics = resample(stats, 400, np.random.default_rng(0)).values
    result = with_ranks(resampled_scores(trees, ItemDraws.same(metrics), independent=counts), lower_is_better=True)
    enough = n_items >= MIN_INDEPENDENT
    assert [each.has_order for each in result.values()] == [enough, enough]
    assert [each.rank for each in result.values()] == [1, 2]
    assert [each.group for each in result.values()] == ([1, 2] if enough else [None, None])
    assert [each.rank_interval.known for each in result.values()] == [enough, enough]
    assert all(each.score.known for each in result.values())


def test_a_value_lies_in_its_interval() -> None:
    """Also of a mean of many metrics with heavy tails, whose resamples lie to one side of it."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        stats = [
            ClusterSums(f"t{i}", "rmse", tuple("abcdefgh"), np.exp(3 * rng.normal(size=8)), np.ones(8), 0.5)
            for i in range(30)
        ]
        leaves = tuple(
            Node(s.task, "", unit=s.task, leaf=Leaf(RawMetric(s.task, "rmse", s.value), AsItIs())) for s in stats
        )
        tree = Node("error", "", parts=leaves, how=How.LOGARITHMIC_MEAN, pool=True)
        metrics, sets = resample({"m": stats}, 200, rng).values, draw_sets(pools([tree]), 200, rng)
        result = resampled_scores({"m": tree}, ItemDraws.same(metrics), sets)["m"].uncertainty
        assert result.score.low <= result.value <= result.score.high
        for metric in stats:
            assert result.metrics[metric.key].low <= metric.value <= result.metrics[metric.key].high
        assert math.isfinite(result.score.high)
