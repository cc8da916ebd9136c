"""Means over components of items, penalised ones and breakdowns, by hand: 3, 5 and 40 over 1, 2 and 4 components."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from tasks.metrics.averages import MAX_GROUPS, Average, contributions_to, parts_by_group
from tasks.metrics.contributions import Contribution, baseline_column, is_baseline_column, stored_column
from tasks.metrics.failure_cost import failure_cost, penalised_sums
from tasks.structures.frames import Float


class Stated(NamedTuple):
    """What a metric states."""

    failure_cost: float | None
    n_items: int = 0


def array(*values: float) -> Float:
    return np.array(values)


def average(root: bool = False, scale: float = 1.0) -> Average:
    """Five items: three answers, one that failed (NaN), and one that takes no part."""
    return Average(
        "rmse" if root else "mae", "eV", array(3.0, 5.0, 40.0, np.nan, 7.0), array(1, 2, 4, 3, 0), root, scale,
        errors=array(1.0, -2.0, 3.0, np.nan, 4.0), baseline=array(6.0, 8.0, 10.0, 12.0, 14.0),
    )  # fmt: skip


def test_a_failed_item_costs_ten_times_the_baseline() -> None:
    assert failure_cost("mae", 0.25) == 2.5
    assert failure_cost("mae", 1.0001e-9) == pytest.approx(1.0001e-8)


@pytest.mark.parametrize("baseline", [0.0, 1e-9, -1.0, np.inf, np.nan])
def test_a_baseline_that_sets_no_scale_is_one_line(baseline: float) -> None:
    with pytest.raises(ValueError, match=r"^mae: the baseline is .*: state one under \[baselines\] in card.toml$"):
        failure_cost("mae", baseline)


def test_sums_are_clipped_by_item() -> None:
    """Means of 3, 2.5 and 10 at a cost of 4: only the last is clipped; a failed item of three components costs 12."""
    sums = penalised_sums(array(3.0, 5.0, 40.0, np.nan, 7.0), array(1, 2, 4, 3, 0), 4.0)
    assert sums.tolist() == [3.0, 5.0, 16.0, 12.0, 0.0]


def test_the_mean() -> None:
    """Plain 48 / 7; penalised at W = 4 (3 + 5 + 16 + 12) / 10, and at 10 × 0.5 (3 + 5 + 20 + 15) / 10."""
    metric = average().metric(0.5, cost=4.0)
    assert (metric.value, metric.charged) == pytest.approx((48 / 7, 3.6))
    assert (metric.unit, metric.n_items, metric.n_failed) == ("eV", 4, 1)
    assert (metric.baseline, metric.failure_cost) == (0.5, 4.0)
    assert average().metric(0.5).charged == pytest.approx(4.3)
    assert average().metric(None, cost=4.0).baseline is None
    with pytest.raises(ValueError, match="mae: the baseline is nan"):
        average().metric(None)


def test_the_root_of_the_mean() -> None:
    """The cost of squares is 4: the sums are the same, under a root; at a cost of 3 it is 9."""
    metric = average(root=True).metric(0.5, cost=2.0)
    assert metric.value == pytest.approx(math.sqrt(48 / 7))
    assert metric.charged == pytest.approx(math.sqrt(3.6))
    assert average(root=True).contribution(3.0).sums.tolist() == [3.0, 5.0, 36.0, 27.0, 0.0]


def test_a_share_in_percent() -> None:
    """A cost of 400 % is 4."""
    metric = average(scale=100.0).metric(0.5, cost=400.0)
    assert (metric.value, metric.charged) == pytest.approx((4800 / 7, 360.0))


def test_if_all_failed_there_is_no_value() -> None:
    metric = Average("mae", "eV", array(np.nan, np.nan), array(1, 2)).metric(1.0, cost=2.0)
    assert (metric.value, metric.charged, metric.n_items, metric.n_failed) == (None, 2.0, 2, 2)


@pytest.mark.parametrize(("root", "power", "limit"), [(True, 0.5, 4.0), (False, 1.0, 2.0)])
def test_the_contributions(root: bool, power: float, limit: float) -> None:
    contribution = average(root).contribution(2.0)
    clipped = [3.0, 5.0, 16.0, 12.0, 0.0] if root else [2.0, 4.0, 8.0, 6.0, 0.0]
    assert contribution.sums.tolist() == clipped
    assert contribution.counts.tolist() == [1, 2, 4, 3, 0]
    assert (contribution.power, contribution.scale, contribution.limit) == (power, 1.0, limit)
    assert contribution.baseline is not None
    assert contribution.baseline.tolist() == [6.0, 8.0, 10.0, 12.0, 0.0]
    assert contribution.errors is not None
    assert contribution.errors[:3].tolist() == [1.0, -2.0, 3.0]
    assert Average("mae", "eV", array(1.0), array(-1.0)).contribution(2.0).counts.tolist() == [0.0]
    assert Average("mae", "eV", array(1.0), array(1.0)).contribution(2.0).baseline is None
    assert average(scale=100.0).contribution(200.0).limit == 2.0


def test_the_contributions_of_the_metrics_that_are_asked_for() -> None:
    found = contributions_to({"mae": Stated(4.0), "other": Stated(1.0)}, [average(root=True), average()])
    assert [(each.metric, each.limit) for each in found] == [("mae", 4.0)]
    with pytest.raises(ValueError, match=r"^metrics: mae: has no failure cost: measure it again$"):
        contributions_to({"mae": Stated(None)}, [average()])


def test_some_of_the_items() -> None:
    chosen = np.array([True, False, True, True, True])
    some = average().over(chosen)
    assert some.sums[:2].tolist() == [3.0, 40.0]
    assert some.counts.tolist() == [1, 4, 3, 0]
    assert some.errors is not None
    assert some.errors[:2].tolist() == [1.0, 3.0]
    assert some.baseline is not None
    assert some.baseline.tolist() == [6.0, 10.0, 12.0, 14.0]
    assert Average("mae", "eV", array(1.0), array(1.0)).over(np.array([True])).errors is None
    part = average(root=True).part("element", "Cu", chosen)
    assert (part.by, part.name, part.metric, part.unit) == ("element", "Cu", "rmse", "eV")
    assert (part.value, part.n_items, part.n_failed) == pytest.approx((math.sqrt(43 / 5), 3, 1))


def test_parts_by_group() -> None:
    parts = parts_by_group([average(), average(root=True)], ["b", "a", "b", "a", "b"])
    assert [(part.by, part.name, part.metric) for part in parts] == [
        ("group", "a", "mae"), ("group", "b", "mae"), ("group", "a", "rmse"), ("group", "b", "rmse"),
    ]  # fmt: skip
    assert [part.value for part in parts[:2]] == [2.5, pytest.approx(43 / 5)]
    assert [part.n_failed for part in parts] == [1, 0, 1, 0]
    assert parts_by_group([average()], ["a"] * 5) == []


@pytest.mark.parametrize(("n_groups", "n_parts"), [(2, 2), (MAX_GROUPS, MAX_GROUPS), (MAX_GROUPS + 1, 0)])
def test_a_breakdown_has_at_most_a_hundred_groups(n_groups: int, n_parts: int) -> None:
    assert MAX_GROUPS == 100
    whole = Average("mae", "eV", np.ones(n_groups), np.ones(n_groups))
    assert len(parts_by_group([whole], [str(i) for i in range(n_groups)])) == n_parts


def test_columns_of_items_and_of_the_trivial_model() -> None:
    columns = {"force_abs": array(1.0), baseline_column("force_abs"): array(2.0)}
    assert stored_column(columns, "force_abs").tolist() == [1.0]
    assert stored_column(columns, "force_abs_baseline").tolist() == [2.0]
    assert [is_baseline_column(name) for name in columns] == [False, True]
    with pytest.raises(ValueError, match=r"^items: column force_sq: is missing: measure it again$"):
        stored_column(columns, "force_sq")


def test_a_contribution_is_a_plain_mean_unless_it_says_otherwise() -> None:
    contribution = Contribution("mae", array(1.0), array(1.0))
    assert (contribution.power, contribution.scale, contribution.limit) == (1.0, 1.0, math.inf)
