"""Draws of errors relative to a baseline: both are redrawn with the same clusters."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage import coverage_of_relative, star
from scoring.bootstrap import ItemDraws, resample, resample_relative
from scoring.clusters import ClusterSums
from scoring.errors import ScoringError
from scoring.evaluation import Metrics, scores
from scoring.intervals import middle, resampled_scores
from scoring.lambench.answers import RelativeError
from scoring.shared_structures import Loss, SharedErrors
from scoring.tree import Float, How, Leaf, Node, RawMetric

B = 400
KEY = ("task", "mae")


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def sums(errors: Float, baseline: Float | None, task: str = "task", power: float = 1.0) -> ClusterSums:
    names = tuple(map(str, range(len(errors))))
    return ClusterSums(task, "mae", names, errors, np.ones(len(errors)), power, baseline=baseline)


def relative(metric: ClusterSums) -> Float:
    return resample_relative({"m": [metric]}, B, rng()).values["m"][metric.key]


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_a_multiple_of_the_baseline_is_the_same_multiple_in_every_draw(power: float) -> None:
    trivial = rng().lognormal(0.0, 1.5, 30)
    metric = sums(0.3 * trivial, trivial, power=power)
    assert relative(metric) == pytest.approx(metric.value)
    assert np.ptp(resample({"m": [metric]}, B, rng()).values["m"][KEY]) > 0.3 * metric.value


def test_a_baseline_that_is_equal_everywhere_changes_no_draw() -> None:
    metric = sums(rng().lognormal(0.0, 1.0, 30), np.full(30, 7.0))
    assert relative(metric) == pytest.approx(resample({"m": [metric]}, B, rng()).values["m"][KEY])


def test_a_cluster_whose_baseline_is_zero_is_drawn_too() -> None:
    trivial = np.array([0.0, 1.0, 2.0, 0.5])
    metric = sums(np.array([4.0, 1.0, 1.0, 1.0]), trivial)
    drawn = relative(metric)
    assert np.isfinite(drawn).all()
    low, high = middle(drawn, 0.95)
    assert low < metric.value < high


def test_what_has_no_baseline_of_the_same_clusters_is_not_drawn() -> None:
    """Nor items that share structures: the errors of their structures are redrawn, and the items stay."""
    errors = star(20) @ rng().normal(size=21)
    shared = SharedErrors(star(20), errors, Loss.ABSOLUTE, np.inf)
    names = tuple(map(str, range(20)))
    metric = ClusterSums("task", "mae", names, np.abs(errors), np.ones(20), shared=shared, baseline=np.ones(20))
    assert resample_relative({"m": [metric]}, B, rng()).values == {"m": {}}
    assert resample_relative({"m": [sums(np.abs(errors), None)]}, B, rng()).values == {"m": {}}


@pytest.mark.parametrize("baseline", [np.zeros(2), np.array([1.0, -1.0]), np.array([1.0, np.nan]), np.ones(3)])
def test_a_baseline_that_is_no_error_is_refused(baseline: Float) -> None:
    with pytest.raises(ScoringError, match="baseline"):
        sums(np.ones(2), baseline)


def near_the_cap(generator: np.random.Generator) -> tuple[Node, list[ClusterSums]]:
    """A domain of 20 to 60 small test sets, on which a model is about as good as the trivial one."""
    factor, stats = generator.choice([0.9, 1.0, 1.1]), []
    for task in range(int(generator.integers(20, 60))):
        trivial = generator.lognormal(0.0, generator.choice([0.3, 1.0, 1.5]), int(generator.integers(3, 40)))
        errors = factor * trivial * generator.lognormal(0.0, 0.05, len(trivial))
        stats.append(sums(errors, trivial, str(task), generator.choice([1.0, 0.5])))
    return domain(stats), stats


def domain(stats: list[ClusterSums]) -> Node:
    leaves = []
    for s in stats:
        assert s.baseline is not None
        scale = RelativeError(float(s.of_means(s.baseline.mean())), 1.0, 1e-3)
        leaves.append(Node(s.task, "", unit=s.task, leaf=Leaf(RawMetric(s.task, "mae", s.value), scale)))
    return Node("error", "", parts=tuple(leaves), how=How.LOGARITHMIC_MEAN, pool=True, absent=1.0)


def is_inside(tree: Node, metrics: Metrics) -> bool:
    """Whether the value lies in the middle of its draws, before it becomes an end of them."""
    (drawn,) = scores({"m": tree}, metrics={"m": metrics}).values()
    low, high = middle(drawn, 0.95)
    (value,) = scores({"m": tree})["m"]
    return bool(low * (1 - 1e-9) <= value <= high * (1 + 1e-9))


def test_a_value_lies_in_its_own_interval() -> None:
    """With the baseline of the test set, errors that are redrawn beyond the cap are cut, and others are not.

    It lies outside of some draws all the same: of many ratios near the cap, most are cut on one side.
    """
    redrawn = held = 0
    for seed in range(16):
        generator = np.random.default_rng(seed)
        tree, stats = near_the_cap(generator)
        redrawn += is_inside(tree, resample_relative({"m": stats}, B, rng()).values["m"])
        held += is_inside(tree, resample({"m": stats}, B, rng()).values["m"])
    assert redrawn >= 12
    assert held <= 8


def test_scores_have_the_relative_draws_and_metrics_the_raw_ones() -> None:
    trivial = rng().lognormal(0.0, 1.0, 30)
    stats = [sums(0.5 * trivial, trivial)]
    raw, ratios = resample({"m": stats}, B, rng()).values, resample_relative({"m": stats}, B, rng()).values
    result = resampled_scores({"m": domain(stats)}, ItemDraws.same(ratios), raw=raw)["m"].uncertainty
    assert result.score[:2] == pytest.approx((0.5, 0.5))
    assert result.metrics[KEY][:2] == pytest.approx(tuple(map(float, middle(raw["m"][KEY], 0.95))))


@pytest.mark.parametrize("common", [True, False])
@pytest.mark.parametrize("power", [1.0, 0.5])
def test_relative_errors_are_covered(common: bool, power: float) -> None:
    assert coverage_of_relative(50, power, 300, common) >= 0.9


def test_relative_errors_are_not_covered_with_the_baseline_of_the_test_set() -> None:
    assert coverage_of_relative(50, 0.5, 300, common=False, held=True) < 0.88
