"""MLIPAudit's score of one model: items, metrics, benchmarks, categories, and the mean over benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scoring.errors import ScoringError
from scoring.mlipaudit.facts import AuditMetric, Benchmark, ByGroup, MlipAuditFacts
from scoring.mlipaudit.measured import Measured, Scored, scored
from scoring.mlipaudit.soft_threshold import HILL_EXPONENT, Direction, Float, Rule
from scoring.names import Variant
from scoring.term import Term, explain
from scoring.tree import Leaf, Node, RawMetric, Scale

Table = Mapping[str, Mapping[str, Measured]]
"""A model's values, by benchmark and metric; a benchmark that was not run is absent."""

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Share(Scale):
    """The value, between 0 and 1."""

    name = "share"

    def __call__(self, values: Float) -> Float:
        return np.clip(values, 0.0, 1.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0


class MlipAuditScore(NamedTuple):
    """The score of one model; higher is better, in 0..1.

    Args:
        overall: over all benchmarks; models are ranked by it. A benchmark that was not run, for any reason, counts 0.
        compatible: over the benchmarks whose elements the model supports; its value is None if there is none.
    """

    overall: Term
    compatible: Term


def mlipaudit_score(
    measured: Table,
    facts: MlipAuditFacts,
    variant: Variant = Variant.CORRECTED,
    incompatible: Set[str] = NOTHING,
) -> MlipAuditScore:
    """The score of one model over all and over compatible benchmarks, each with its explanation; see `mlipaudit_tree`.

    Raises:
        ScoringError: as `mlipaudit_tree`.
    """
    overall = mlipaudit_tree(measured, facts, variant, incompatible)
    compatible = mlipaudit_tree(measured, facts, variant, incompatible, compatible_only=True)
    return MlipAuditScore(explain(overall), explain(compatible))


def mlipaudit_tree(
    measured: Table,
    facts: MlipAuditFacts,
    variant: Variant = Variant.CORRECTED,
    incompatible: Set[str] = NOTHING,
    *,
    compatible_only: bool = False,
) -> Node:
    """The score of one model.

        S = mean over benchmarks of mean over metrics of mean over items of s(x)
        s(x) = 1 for x <= t, exp(-alpha (x - t)/t) beyond; 0 for an item that failed

    A leaf's value is the mean over items of s, which differs from s of the mean error. So a resample of items draws
    means of `item_scores`. The weight of a category is the number of its benchmarks, so that all benchmarks have the
    same weight.

    Args:
        incompatible: benchmarks that were not run because the model does not support their elements.
        compatible_only: leaves these out, and also single items if a benchmark is compatible item by item.

    Raises:
        ScoringError: a benchmark or metric is not in the release, there are no results at all, an incompatible
            benchmark has results, or values cannot be scored; naming release, benchmark, metric and field.

    Source: MLIPAudit, https://instadeepai.github.io/mlipaudit/scores.
    """
    _check(measured, facts, incompatible)
    return _tree(_Scheme(measured, facts, variant, incompatible, compatible_only, {}))


def mlipaudit_trees(
    measured: Table, facts: MlipAuditFacts, incompatible: Set[str] = NOTHING
) -> dict[tuple[Variant, bool], Node]:
    """The trees of `mlipaudit_tree`, by (variant, compatible benchmarks only); items are scored once.

    Raises:
        ScoringError: as `mlipaudit_tree`.
    """
    _check(measured, facts, incompatible)
    known: dict[tuple[str, str, AuditMetric, int], Scored] = {}
    return {
        (variant, only): _tree(_Scheme(measured, facts, variant, incompatible, only, known))
        for variant in Variant
        for only in (False, True)
    }


def _tree(scheme: _Scheme) -> Node:
    _, facts, _, incompatible, compatible_only, _ = scheme
    left_out = _without_elements(scheme.measured, facts) | incompatible if compatible_only else NOTHING
    categories = [
        scheme.category(category, [name for name in _in_category(facts, category) if name not in left_out])
        for category in facts.categories
    ]
    return Node(
        "MLIPAudit, compatible benchmarks" if compatible_only else "MLIPAudit",
        "mean over benchmarks",
        parts=tuple(category for category in categories if category.parts),
        absent=0.0,
        source=facts.source,
    )


def _in_category(facts: MlipAuditFacts, category: str) -> list[str]:
    return [name for name, benchmark in facts.benchmarks.items() if benchmark.category == category]


def _without_elements(measured: Table, facts: MlipAuditFacts) -> frozenset[str]:
    """Benchmarks whose compatibility is stated by item, and where the model supports no item."""
    return frozenset(
        name
        for name, metrics in measured.items()
        if facts.benchmarks[name].elements_per_item
        and metrics
        and all(not len(values.values) and not values.n_failed for values in metrics.values())
    )


def _check(measured: Table, facts: MlipAuditFacts, incompatible: Set[str]) -> None:
    for name in sorted({*measured, *incompatible}):
        if name not in facts.benchmarks:
            raise ScoringError(f"{facts.name}: benchmark '{name}' is not known; one of {', '.join(facts.benchmarks)}")
    for name, metrics in measured.items():
        for metric in metrics:
            facts.metric(name, metric, Variant.CORRECTED)
    for name in sorted(incompatible):
        if facts.benchmarks[name].elements_per_item:
            raise ScoringError(f"{facts.name}: {name}: incompatible item by item only; count them in n_unsupported")
        if measured.get(name):
            raise ScoringError(f"{facts.name}: {name}: incompatible, yet has results; drop one of the two")
    if not any(measured.values()):
        raise ScoringError(f"{facts.name}: no results; a model without any has no score")


class _Scheme(NamedTuple):
    """One way to score a model.

    Args:
        known: scores that other schemes have computed, by benchmark, metric, and number of unsupported items counted.
    """

    measured: Table
    facts: MlipAuditFacts
    variant: Variant
    incompatible: Set[str]
    compatible_only: bool
    known: dict[tuple[str, str, AuditMetric, int], Scored]

    def category(self, title: str, names: list[str]) -> Node:
        return Node(
            title,
            "mean over its benchmarks",
            weight=float(len(names)),
            parts=tuple(self.benchmark(name, self.facts.benchmarks[name]) for name in names),
            absent=0.0,
            pool=True,
        )

    def benchmark(self, name: str, benchmark: Benchmark) -> Node:
        if self.measured.get(name):
            rule = "mean over metrics; a missing one counts 0"
        else:
            unknown = name in self.incompatible
            rule = "not run: it has elements that the model does not know" if unknown else "not run"
            rule += "; counts 0"
        parts = tuple(self.metric(name, metric) for metric in benchmark.metrics)
        return Node(name, rule, parts=parts, absent=0.0, unit=name, source=self.facts.source)

    def metric(self, benchmark: str, name: str) -> Node:
        metric = self.facts.metric(benchmark, name, self.variant)
        slips = self.facts.slips_of(benchmark, name, self.variant)
        return Node(
            name,
            "; ".join([_in_words(metric, self.facts.alpha), *(f"as published: {slip.text}" for slip in slips)]),
            leaf=Leaf(self.raw(benchmark, name, metric), Share()),
            source="; ".join([metric.source, *(slip.source for slip in slips)]),
        )

    def raw(self, benchmark: str, name: str, metric: AuditMetric) -> RawMetric:
        values = self.measured.get(benchmark, {}).get(name)
        if values is None:
            return RawMetric(benchmark, name, None, "score", _facts(metric, self.facts.alpha))
        where = f"{self.facts.name}: {benchmark}: {name}"
        if values.n_unsupported and not self.facts.benchmarks[benchmark].elements_per_item:
            raise ScoringError(f"{where}: n_unsupported: the benchmark is incompatible as a whole; name it as such")
        counted = 0 if self.compatible_only else values.n_unsupported
        key = benchmark, name, metric, counted
        if key not in self.known:
            self.known[key] = scored(values, metric, self.facts.alpha, where, count_unsupported=counted > 0)
        result = self.known[key]
        return RawMetric(
            benchmark,
            name,
            result.value,
            "score",
            (*_facts(metric, self.facts.alpha), *_measured_facts(result, values, metric)),
            result.n_items,
            result.n_failed,
            result.uncharged,
        )


def _in_words(metric: AuditMetric, alpha: float) -> str:
    alpha = metric.alpha or alpha
    t = f"t = {metric.threshold}" + ("" if metric.limit_unit == "1" else f" {metric.limit_unit}")
    beyond = "x - t" if metric.direction is Direction.SMALLER_IS_BETTER else "t - x"
    good = "up to" if metric.direction is Direction.SMALLER_IS_BETTER else "from"
    item = {
        Rule.SOFT_THRESHOLD: f"1 {good} t, else exp(-{alpha:g} ({beyond})/t), {t}",
        Rule.DECAY: f"exp(-{alpha:g} x/t), {t}",
        Rule.HILL: f"1/(1 + (x/t)^{HILL_EXPONENT:g}), {t}",
        Rule.STEP: f"1 below t, else 0, {t}",
        Rule.SCORE: "the value itself",
    }[metric.rule]
    words = [f"mean over items of: {item}"]
    if metric.over_frames is not None:
        words.append(f"x is the {metric.over_frames} over frames")
    if metric.by_group is not None:
        words.append(f"by group: {metric.by_group}")
    if metric.by_group is not ByGroup.VALUES:
        words.append("a failed item counts 0")
    return "; ".join(words)


def _facts(metric: AuditMetric, alpha: float) -> tuple[tuple[str, float | str], ...]:
    direction = ("direction", str(Direction.LARGER_IS_BETTER if metric.rule is Rule.SCORE else metric.direction))
    if metric.threshold is None:
        return (direction,)
    return (
        ("threshold", metric.threshold),
        ("threshold unit", metric.limit_unit),
        ("alpha", metric.alpha or alpha),
        direction,
    )


def _measured_facts(result: Scored, values: Measured, metric: AuditMetric) -> tuple[tuple[str, float | str], ...]:
    facts: list[tuple[str, float | str]] = []
    if result.mean is not None:
        facts += [("mean", result.mean), ("mean unit", metric.unit)]
    if values.n_unsupported:
        facts.append(("unsupported items", float(values.n_unsupported)))
    return tuple(facts)
