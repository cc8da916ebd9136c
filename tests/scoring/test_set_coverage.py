"""Intervals on test sets like these hold the true value for few sets, and an order carries over as rarely as is said.

Some cells of `python -m benchmarks coverage`, with 200 simulated models each: the standard error of a coverage of 95 %
is 1.5 %, and bounds are three of these away.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.coverage import HALF_NORMAL, water27
from benchmarks.report import Figure, line, report
from benchmarks.set_coverage import BETTER_BY, DEGREES, covered, on_sets_like_these, on_these, ordered, widths
from benchmarks.simulated_sets import (
    MIXED,
    Items,
    Simulated,
    Suite,
    clustered,
    domain,
    independent,
    sharing,
    water_sizes,
)
from scoring.intervals import ResampledScore
from scoring.shared_structures import Loss
from scoring.tree import Float

REPEATS = 200
LEAST = 0.9
MOST_WRONG = 0.1
FIFTY = independent(HALF_NORMAL, 50)


@cache
def simulated(items: Items, suite: Suite) -> Simulated:
    return Simulated.of(items, suite, REPEATS)


def scores(
    items: Items, suite: Suite, spread: float | None = 0.5, degrees: int | None = None
) -> tuple[list[ResampledScore], Float]:
    """The scores of the models, and (REPEATS, U) the deviations of their sets."""
    rng = np.random.default_rng(1)
    deviations = suite.deviations(rng, REPEATS, spread, degrees)
    return simulated(items, suite).scores(rng, deviations), deviations


@pytest.mark.parametrize(
    ("n_sets", "spread", "degrees"),
    [(1, 0.5, None), (2, 0.5, None), (3, 1.0, None), (4, MIXED, DEGREES), (8, 0.2, None)],
)
def test_a_domain_of_few_sets_is_covered(n_sets: int, spread: float | None, degrees: int | None) -> None:
    """On sets like these and on these sets. Without draws of sets, sets like these were covered 0.2 to 0.6."""
    suite = domain(n_sets)
    found, deviations = scores(FIFTY, suite, spread, degrees)
    assert on_sets_like_these(found) >= LEAST
    assert on_these(found, suite.truth(deviations)) >= LEAST


@pytest.mark.parametrize(
    "items",
    [clustered(10), sharing("WATER27", water27(), water_sizes(), Loss.ABSOLUTE)],
    ids=["clusters", "shared structures"],
)
def test_clusters_and_shared_structures_of_unequal_sizes_are_covered(items: Items) -> None:
    suite = domain(2)
    found, deviations = scores(items, suite)
    assert on_sets_like_these(found) >= LEAST
    assert on_these(found, suite.truth(deviations)) >= LEAST


def test_two_sets_have_a_far_narrower_interval_than_their_own_variance_gives() -> None:
    """The t-interval of two logarithms has Student's t of one degree, 12.7; here it has five, 2.6."""
    suite = domain(2)
    found, deviations = scores(FIFTY, suite)
    ours, of_t = widths(found, (np.exp(deviations) * simulated(FIFTY, suite).values)[:, :2])
    assert 4.5 < ours < 7.5
    assert of_t > 50.0


def test_equal_models_are_rarely_told_apart_on_the_same_sets() -> None:
    suite = domain(2)
    none = np.zeros((REPEATS, 8))
    found = simulated(FIFTY, suite).scores(np.random.default_rng(1), none)
    assert ordered(found)[0] <= MOST_WRONG
    assert ordered(found, 2 * BETTER_BY)[0] >= 0.9


@pytest.mark.parametrize("suite", [domain(3), Suite((2, 2, 2), 3)], ids=["one domain", "three domains"])
def test_models_that_are_equal_over_sets_are_rarely_said_to_differ_on_others(suite: Suite) -> None:
    """On the sets themselves they do differ, and most are told apart."""
    apart, carried = ordered(scores(FIFTY, suite)[0])
    assert apart > 0.4
    assert carried <= MOST_WRONG


def test_three_domains_of_one_set_have_an_order_that_never_carries_over() -> None:
    suite = Suite((1, 1, 1), 3)
    found, deviations = scores(FIFTY, suite)
    apart, carried = ordered(found)
    assert apart > 0.4
    assert carried == 0
    assert np.isnan(on_sets_like_these(found))
    assert on_these(found, suite.truth(deviations)) >= LEAST


def test_the_truth_of_a_suite_is_the_mean_over_domains_of_logarithmic_means() -> None:
    """By hand: sets of 1 and e² have the logarithmic mean e, and a domain of one set of 1 has 1."""
    assert Suite((2, 1, 1), 2).truth(np.array([[0.0, 2.0, 0.0, 9.0]])) == pytest.approx([(np.e + 1) / 2])


def test_an_unknown_interval_has_no_coverage() -> None:
    assert covered([(0.0, 2.0), (3.0, 4.0)], np.ones(2)) == 0.5
    assert np.isnan(covered([(0.0, 2.0), (np.nan, np.nan)], np.ones(2)))


def test_a_figure_is_missed_three_standard_errors_below_its_bound_unless_that_is_a_goal() -> None:
    def coverage(value: float, goal: bool = False) -> Figure:
        return Figure("coverage", value, "%", 90.0, at_least=True, at_most=99.0, error=0.98, goal=goal)

    values = (86.0, 89.0, 95.04, 99.5)
    assert [coverage(value).beyond for value in values] == pytest.approx([4.0, 1.0, -3.96, 0.5])
    assert [coverage(value).holds for value in values] == [False, True, True, True]
    assert coverage(86.0, goal=True).holds
    assert [line(coverage(value)).split()[-1] for value in values] == ["missed", "beyond", "holds", "beyond"]
    assert " ".join(line(coverage(95.04)).split()) == "coverage 95.04 ± 1 % ≥ 90, ≤ 99 holds"
    assert Figure("seconds", 2.0, "s", 1.0).holds is False


def test_figures_beyond_their_bounds_are_listed_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = [Figure("a", 2.0, "s", 1.0), Figure("b", 0.5, "s", 1.0), Figure("c", 5.0, "s", 1.0, goal=True)]
    assert not report("x", figures, tmp_path / "bench.json")
    rows = capsys.readouterr().out.splitlines()
    assert rows[3] == "  2 of 3 figures are beyond their bounds, 1 of them missed:"
    assert [row.split()[0] for row in rows[4:]] == ["c", "a"]
    assert report("x", figures[1:], tmp_path / "bench.json")
