"""Laws of ML-PEG's score that hold for any weights, thresholds and metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scoring import RawMetric
from scoring.ml_peg import MlPegFacts, ml_peg_score
from scoring.names import Variant
from scoring.normalisers import NORMALISERS, BetweenThresholds
from scoring.tree import Key

Values = dict[Key, float | None]
KEYS: tuple[Key, ...] = (("a1", "p"), ("a1", "q"), ("a2", "p"), ("b1", "p"), ("b1", "q"), ("c1", "p"))
CATEGORY = {"a1": "A", "a2": "A", "b1": "B", "c1": "C"}
# p is an error, q grows with quality.
THRESHOLDS = {"p": (0.5, 4.0), "q": (1.0, -1.0)}

weights = st.sampled_from([0.0, 0.1, 1.0, 3.0, 1e6])
finite = st.floats(0.0, 6.0) | st.sampled_from([0.5, 4.0, 1e300])
numbers = finite | st.just(math.inf)
answers = st.none() | st.just(math.nan) | numbers
values = st.fixed_dictionaries(dict.fromkeys(KEYS, answers))


def weights_of(n: int) -> st.SearchStrategy[list[float]]:
    """n weights, not all of them zero."""
    return st.lists(weights, min_size=n, max_size=n).map(lambda w: w if sum(w) > 0 else [1.0, *w[1:]])


@st.composite
def facts(draw: st.DrawFn) -> MlPegFacts:
    of_benchmarks = dict(zip(("a1", "a2", "b1", "c1"), [*draw(weights_of(2)), 1.0, 1.0], strict=True))
    of_categories = dict(zip("ABC", draw(weights_of(3)), strict=True))
    benchmarks: dict[str, dict[str, object]] = {}
    for name, category in CATEGORY.items():
        metrics = [metric for benchmark, metric in KEYS if benchmark == name]
        of_metrics = zip(metrics, draw(weights_of(len(metrics))), strict=True)
        read = {
            metric: {"good": THRESHOLDS[metric][0], "bad": THRESHOLDS[metric][1], "unit": "eV", "weight": weight}
            for metric, weight in of_metrics
        }
        benchmarks[name] = {"category": category, "weight": of_benchmarks[name], "metrics": read}
    data = {"name": "r", "title": "R", "source": "s", "benchmarks": benchmarks, "category_weights": of_categories}
    return MlPegFacts.model_validate(data)


def overall(answers: Mapping[Key, float | None], release: MlPegFacts, variant: str = "corrected") -> float | None:
    measured: dict[str, dict[str, RawMetric]] = {}
    for (benchmark, metric), value in answers.items():
        measured.setdefault(benchmark, {})[metric] = RawMetric(benchmark, metric, value, "eV")
    return ml_peg_score(measured, release, variant).value


@given(values, facts(), st.sampled_from(Variant))
@settings(max_examples=15, deadline=None)
def test_scores_stay_between_0_and_1_and_below_their_best(
    answers: Values, release: MlPegFacts, variant: Variant
) -> None:
    measured: dict[str, dict[str, RawMetric]] = {}
    for (benchmark, metric), value in answers.items():
        measured.setdefault(benchmark, {})[metric] = RawMetric(benchmark, metric, value, "eV")
    for _, term in ml_peg_score(measured, release, variant).walk():
        assert term.value is None or 0.0 <= term.value <= 1.0
        assert term.value is not None or variant is Variant.AS_PUBLISHED
        assert term.at_best is None or term.value is None or term.value <= term.at_best <= 1.0


@given(values, facts(), st.sampled_from(KEYS), finite, finite)
@settings(max_examples=15, deadline=None)
def test_improving_a_metric_never_worsens_the_score(
    answers: Values, release: MlPegFacts, key: Key, x: float, y: float
) -> None:
    good, bad = THRESHOLDS[key[1]]
    worse, better = sorted((x, y), reverse=good < bad)
    assert overall(answers | {key: better}, release) >= overall(answers | {key: worse}, release)  # type: ignore[operator]


@given(values, facts(), st.sampled_from(KEYS), numbers, st.sampled_from([None, math.nan, math.inf]))
@settings(max_examples=15, deadline=None)
def test_failing_never_improves_the_score(
    answers: Values, release: MlPegFacts, key: Key, value: float, failed: float | None
) -> None:
    skipped = {k: v for k, v in answers.items() if k != key}
    with_value = overall(answers | {key: value}, release)
    assert overall(answers | {key: failed}, release) <= with_value  # type: ignore[operator]
    assert overall(skipped, release) <= with_value  # type: ignore[operator]
    assert overall(skipped, release) == overall(answers | {key: math.nan}, release)


@given(values, facts(), st.permutations(KEYS), st.sampled_from(Variant))
@settings(max_examples=12, deadline=None)
def test_order_does_not_matter(answers: Values, release: MlPegFacts, order: list[Key], variant: Variant) -> None:
    assert overall({key: answers[key] for key in order}, release, variant) == overall(answers, release, variant)


@given(values, facts())
@settings(max_examples=12, deadline=None)
def test_a_complete_finite_model_scores_the_same_in_both_variants(answers: Values, release: MlPegFacts) -> None:
    whole = {key: 1.0 if value is None or not math.isfinite(value) else value for key, value in answers.items()}
    assert overall(whole, release) == overall(whole, release, "as_published")


@given(
    st.sampled_from(sorted(NORMALISERS)),
    st.floats(1e-3, 1e3),
    st.floats(1e-3, 1e3),
    st.floats(0, 2e3),
    st.floats(0, 2e3),
)
def test_every_normaliser_rises_from_bad_to_good(name: str, good: float, bad: float, x: float, y: float) -> None:
    assume(abs(good - bad) > 1e-6)

    def at(value: float) -> float:
        return float(BetweenThresholds(name, good, bad, finite_only=True)(np.array(value)))

    worse, better = sorted((x, y), reverse=good < bad)
    assert 0.0 == at(bad) <= at(worse) <= at(better) <= at(good) == 1.0
