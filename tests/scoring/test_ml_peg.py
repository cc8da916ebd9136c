"""ML-PEG's five levels, by hand: missing, infinite and NaN values, weights and presets."""

from __future__ import annotations

import math
import tomllib

import pytest

from scoring.ml_peg import MlPegFacts, ml_peg_score
from scoring.names import Variant
from tests.scoring.small_ml_peg import OVERALL, SMALL, VALUES, A, at, measured, scored, small, without


@pytest.mark.parametrize("variant", Variant)
def test_five_levels(variant: Variant) -> None:
    term = scored({}, variant)
    assert at(term, "A", "a1", "e").raw.value == 3.0  # type: ignore[union-attr]
    assert at(term, "A", "a1", "e").value == 0.5
    assert at(term, "A", "a1", "r").value == 0.75
    assert at(term, "B", "b1", "m").value == pytest.approx(0.5)
    assert at(term, "B", "b1", "z").value == 0.75
    assert at(term, "A", "a1").value == pytest.approx(0.6875)
    assert at(term, "A").value == pytest.approx(0.703125)
    assert at(term, "B").value == pytest.approx(0.5)
    assert term.value == pytest.approx(OVERALL) == pytest.approx(1.90625 / 3)
    assert [t.at_best for _, t in term.walk()] == [None] * 11
    assert (term.covered, term.total) == (3, 3)


@pytest.mark.parametrize("variant", Variant)
@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (("a1", "e"), 1.0, 1.0),
        (("a1", "e"), 0.0, 1.0),  # better than good does not score more
        (("a1", "e"), 4.0, 0.25),
        (("a1", "e"), 5.0, 0.0),
        (("a1", "e"), 1e300, 0.0),  # worse than bad does not score less
        (("a1", "e"), math.inf, 0.0),
        (("a1", "r"), 1.0, 1.0),  # higher is better
        (("a1", "r"), 1.5, 1.0),
        (("a1", "r"), 0.0, 0.5),
        (("a1", "r"), -1.0, 0.0),
        (("a1", "r"), -7.0, 0.0),
        (("b1", "m"), 0.0, 1.0),
        (("b1", "m"), 0.01, 1.0),
        (("b1", "m"), 10**-1.5, 0.75),
        (("b1", "m"), 1.0, 0.0),
        (("b1", "m"), 100.0, 0.0),
    ],
)
def test_a_metric_is_normalised_between_bad_and_good(
    variant: Variant, key: tuple[str, str], value: float, expected: float
) -> None:
    category = "B" if key[0] == "b1" else "A"
    assert at(scored({key: value}, variant), category, *key).value == pytest.approx(expected)


def test_an_infinite_value_beyond_good_scores_1_as_published_and_0_corrected() -> None:
    assert at(scored({("a1", "r"): math.inf}, "as_published"), "A", "a1", "r").value == 1.0
    assert at(scored({("a1", "r"): math.inf}), "A", "a1", "r").value == 0.0


def test_a_missing_metric_counts_0_and_at_best_1() -> None:
    for term in (without(("a1", "r")), scored({("a1", "r"): None}), scored({("a1", "r"): math.nan})):
        leaf, a1, a = at(term, "A", "a1", "r"), at(term, "A", "a1"), at(term, "A")
        assert leaf.raw is not None
        assert leaf.raw.value is None
        assert (leaf.value, leaf.at_best) == (0.0, 1.0)
        assert (a1.value, a1.at_best) == (pytest.approx(0.125), pytest.approx(0.875))
        assert (a.value, a.at_best) == (pytest.approx(0.28125), pytest.approx(0.84375))
        assert (term.value, term.at_best) == (pytest.approx(1.0625 / 3), pytest.approx(2.1875 / 3))
        assert at(term, "B").at_best is None
        assert at(term, "A", "a1", "e").at_best is None


def test_a_missing_benchmark_counts_0_and_at_best_1() -> None:
    term = without(("a1", "e"), ("a1", "r"))
    assert (at(term, "A", "a1").value, at(term, "A", "a1").at_best) == (0.0, 1.0)
    assert (at(term, "A").value, at(term, "A").at_best) == (pytest.approx(0.1875), pytest.approx(0.9375))
    assert (term.covered, term.total) == (2, 3)
    assert not term.complete


def test_a_missing_category_counts_0_and_at_best_1() -> None:
    term = without(("b1", "m"), ("b1", "z"))
    assert (at(term, "B").value, at(term, "B").at_best) == (0.0, 1.0)
    assert term.value == pytest.approx(2 * A / 3)
    assert term.at_best == pytest.approx((2 * A + 1) / 3)


def test_a_model_with_no_results_has_the_worst_score_and_no_published_one() -> None:
    term = ml_peg_score({}, small())
    assert (term.value, term.at_best, term.covered) == (0.0, 1.0, 0)
    assert ml_peg_score({}, small(), "as_published").value is None


def test_as_published_leaves_out_missing_metrics() -> None:
    metric = without(("a1", "r"), variant="as_published")
    assert at(metric, "A", "a1").value == 0.5
    assert metric.value == pytest.approx((2 * (3 * 0.5 + 0.75) / 4 + 0.5) / 3)
    benchmark = without(("a1", "e"), ("a1", "r"), variant="as_published")
    assert at(benchmark, "A", "a1").value is None
    assert benchmark.value == pytest.approx((2 * 0.75 + 0.5) / 3)
    category = without(("b1", "m"), ("b1", "z"), variant="as_published")
    assert category.value == pytest.approx(A)
    assert category.at_best is None


def test_as_published_nan_leaves_no_score_at_any_level_above() -> None:
    term = scored({("a1", "r"): math.nan}, "as_published")
    assert at(term, "A", "a1").value is None
    assert at(term, "A").value is None
    assert term.value is None
    assert at(term, "A", "a1", "e").value == 0.5
    assert at(term, "A", "a2").value == 0.75
    assert at(term, "B").value == pytest.approx(0.5)


def test_as_published_nan_and_missing_side_by_side_give_no_score() -> None:
    assert scored({("a1", "r"): math.nan, ("a1", "e"): None}, "as_published").value is None


def test_as_published_nan_of_weight_zero_changes_nothing_even_if_a_category_is_missing() -> None:
    term = ml_peg_score(measured({("b1", "m"): 0.1, ("b1", "z"): math.nan}), small(), "as_published")
    assert term.value == pytest.approx(0.5)


@pytest.mark.parametrize("variant", Variant)
@pytest.mark.parametrize("value", [None, math.nan, math.inf, 0.0])
def test_a_metric_of_weight_zero_is_shown_and_does_not_count(variant: Variant, value: float | None) -> None:
    term = scored({("b1", "z"): value}, variant)
    assert term.value == pytest.approx(OVERALL)
    assert at(term, "B", "b1").value == pytest.approx(0.5)
    assert at(term, "B", "b1").at_best is None
    assert at(term, "B", "b1", "z").share == 0.0


def test_a_preset_reweighs_categories() -> None:
    term = scored({}, preset="only-A")
    assert term.value == pytest.approx(A)
    assert [part.share for part in term.parts] == [1.0, 0.0]
    assert "only-A" in term.rule


def test_a_preset_reweighs_benchmarks_and_metrics() -> None:
    term = scored({}, preset="mine")
    assert at(term, "A", "a1").value == 0.5
    assert at(term, "A").value == pytest.approx((3 * 0.5 + 3 * 0.75) / 6)
    assert term.value == pytest.approx((2 * 0.625 + 0.5) / 3)


def test_a_missing_category_of_no_weight_leaves_the_score_complete() -> None:
    values = {key: value for key, value in VALUES.items() if key[0] != "b1"}
    term = ml_peg_score(measured(values), small(), "corrected", "only-A")
    assert term.value == pytest.approx(A)
    assert term.at_best is None


def test_order_of_facts_and_metrics_does_not_matter() -> None:
    data = tomllib.loads(SMALL)
    data["benchmarks"] = {
        name: benchmark | {"metrics": dict(reversed(benchmark["metrics"].items()))}
        for name, benchmark in reversed(data["benchmarks"].items())
    }
    turned = dict(reversed(measured(dict(reversed(VALUES.items()))).items()))
    assert ml_peg_score(turned, MlPegFacts.model_validate(data)) == scored({})
