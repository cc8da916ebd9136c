"""ML-PEG's score, in five levels: raw metric, normalised metric, benchmark, category, overall.

All but the raw metric are from 0 to 1. A normalised metric is 1 at *good* and 0 at *bad*. Benchmark, category and
overall are weighted means of the level below.

`as_published` follows ML-PEG's tables:

- if a model does not have a metric, benchmark or category (None), it is left out and the others share its weight: a
  model may gain by skipping;
- if a metric is NaN, its benchmark, its category and the overall have no score, unless its weight is zero;
- an infinite value beyond *good* scores 1;
- the slips of the facts that are in the scores: a metric that keeps its sign, a preset that drops a category.

`corrected` obeys one law: nothing that a model can do by failing, skipping or answering NaN improves its score. At
every level a missing value counts 0, whether None or NaN; `Term.at_best` is the value if it counted 1. An infinite
value counts 0.

Both refuse good = bad, for which ML-PEG uses a step from 0 to 1.

Source: ML-PEG, github.com/ddmms/ml-peg, ml_peg/analysis/utils/utils.py at commit 0007db0 (`calc_table_scores`,
`normalize_metric`), ml_peg/app/build_app.py at commit a88481b (categories, overall) and ml_peg/app/utils/faqs.yml at
commit 0342ea1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scoring.errors import ScoringError
from scoring.metric_facts import MetricFacts
from scoring.ml_peg.facts import MlPegFacts
from scoring.ml_peg.levels import Mismatch, mismatches
from scoring.names import Variant
from scoring.normalisers import NORMALISERS, BetweenThresholds
from scoring.term import Term, explain, explained_with_best
from scoring.tree import Key, Leaf, Node, RawMetric

OVERALL = "overall"
N_THRESHOLDS = 2  # the facts of a metric before the fact "answered"
PURE_NUMBERS = frozenset({"", "-", "1"})
"""Units of a pure number."""


Metrics = Mapping[str, Mapping[str, RawMetric]]
"""By benchmark and metric, with failures penalised. A metric that a model does not have is absent; NaN: no result."""


def ml_peg_score(
    measured: Metrics,
    facts: MlPegFacts,
    variant: Variant = Variant.CORRECTED,
    preset: str = "",
    levels: Mapping[str, str] | None = None,
) -> Term:
    """The overall score with the terms of all levels; see `explained_with_best`.

    `as_published`: `value` is None if ML-PEG gives no score.

    Raises:
        ScoringError: see `Scheme`.
    """
    scheme = Scheme.of(facts, variant, preset, levels)
    tree = scheme.tree(measured)
    return explained_with_best({"": tree})[""] if scheme.corrected else explain(tree)


@dataclass(frozen=True)
class Scheme:
    """How models with the same levels of theory are scored.

    Args:
        empty: the tree of a model without any metric.
    """

    facts: MlPegFacts
    corrected: bool
    empty: Node

    @classmethod
    def of(
        cls,
        facts: MlPegFacts,
        variant: Variant = Variant.CORRECTED,
        preset: str = "",
        levels: Mapping[str, str] | None = None,
    ) -> Scheme:
        """The scheme of a variant, with the weights of a preset.

        Args:
            levels: the models' levels of theory, see `mismatches`; None: they are not compared.

        Raises:
            ScoringError: an unknown preset, or a level of theory for an unknown name.
        """
        if preset and preset not in facts.presets:
            known = ", ".join(facts.presets) or "none: it has no presets"
            raise ScoringError(f"release {facts.name}: preset {preset}: unknown: take one of {known}")
        flags = {} if levels is None else {(f.benchmark, f.metric): f for f in mismatches(facts, levels)}
        corrected = variant == Variant.CORRECTED
        return cls(facts, corrected, _empty_tree(facts, preset, flags, corrected=corrected))

    def tree(self, measured: Metrics) -> Node:
        """The tree of the overall score of one model; its units are benchmarks, its pools categories.

        Raises:
            ScoringError: an unknown metric, another unit than in the facts, an error below zero, or impossible counts;
                naming release, benchmark, metric and field.
        """
        _check(measured, self.facts)
        return self._filled(self.empty, measured)[0]

    def _filled(self, node: Node, measured: Metrics) -> tuple[Node, bool]:
        """The node with a model's values, and whether a NaN leaves it without a score as published."""
        if node.leaf is not None:
            benchmark, metric = node.leaf.key
            raw = measured.get(benchmark, {}).get(metric)
            if raw is None:
                return node, False
            if self.corrected and node.leaf.key in self.facts.signed and raw.value is not None:
                raw = raw._replace(value=abs(raw.value))
            return _measured(node, node.leaf, raw), _is_nan(raw)
        filled = [self._filled(part, measured) for part in node.parts]
        parts = tuple([part for part, _ in filled])
        if self.corrected:
            absent, words = 0.0, "a missing one counts 0"
        elif any(part.weight > 0 and is_nan for part, is_nan in filled):
            absent, words = math.nan, "NaN leaves no score"
        else:
            absent, words = None, "a missing one is left out"
        with_values = Node(
            node.name,
            f"{node.rule}; {words}",
            node.weight,
            parts,
            absent=absent,
            unit=node.unit,
            pool=node.pool,
            source=node.source,
        )
        return with_values, absent is not None


def _empty_tree(facts: MlPegFacts, preset: str, flags: Mapping[Key, Mismatch], *, corrected: bool) -> Node:
    weights = facts.weights(preset, as_published=not corrected)

    def metric(key: Key, source: str) -> Node:
        metric_facts = facts.benchmarks[key[0]].metrics[key[1]]
        normaliser, good, bad = metric_facts.normaliser, metric_facts.good, metric_facts.bad
        unit = "" if metric_facts.unit in PURE_NUMBERS else metric_facts.unit
        scale = BetweenThresholds(normaliser, good, bad, finite_only=corrected)
        rule = f"{NORMALISERS[normaliser].words} from 0 at {bad:g} to {f'1 at {good:g} {unit}'.strip()}, capped"
        raw = RawMetric(*key, None, unit, _stated_facts(metric_facts, flags.get(key)))
        return Node(key[1], rule, weights.metrics[key], leaf=Leaf(raw, scale), source=source)

    def benchmark(name: str) -> Node:
        source = facts.benchmarks[name].source or facts.source
        parts = tuple(metric((name, metric_name), source) for metric_name in sorted(facts.benchmarks[name].metrics))
        words = "weighted mean of the normalised metrics"
        return Node(name, words, weights.benchmarks[name], parts, unit=name, source=source)

    def category(name: str) -> Node:
        parts = tuple(map(benchmark, facts.in_category(name)))
        words = "weighted mean of the benchmarks"
        return Node(name, words, weights.categories[name], parts, pool=True, source=facts.source)

    words = f"weighted mean of the categories{f', weights of the preset {preset}' if preset else ''}"
    return Node(OVERALL, words, parts=tuple(map(category, facts.categories)), source=facts.source)


def _measured(node: Node, leaf: Leaf, measured: RawMetric) -> Node:
    """The node of a metric with the value of a model."""
    facts = (*leaf.raw.facts, *measured.facts)
    if _is_nan(measured):
        measured = measured._replace(value=None)
        facts = (*facts[:N_THRESHOLDS], ("answered", "NaN"), *facts[N_THRESHOLDS:])
    raw = measured._replace(task=leaf.raw.task, metric=leaf.raw.metric, unit=leaf.raw.unit, facts=facts)
    return Node(node.name, node.rule, node.weight, leaf=Leaf(raw, leaf.scale), source=node.source)


def _is_nan(measured: RawMetric) -> bool:
    return measured.value is not None and math.isnan(measured.value)


def _stated_facts(facts: MetricFacts, flag: Mismatch | None) -> tuple[tuple[str, float | str], ...]:
    """The facts of a metric: first the thresholds, then levels of theory."""
    stated: list[tuple[str, float | str]] = [("good", facts.good), ("bad", facts.bad)]
    if facts.level_of_theory:
        stated.append(("level of theory", facts.level_of_theory))
    if flag is not None:
        stated.append(("level of theory of the model", flag.model_level or "not stated"))
        stated.append(("held against", flag.gap.value))
    return tuple(stated)


def _check(measured: Metrics, facts: MlPegFacts) -> None:
    for benchmark, metrics in measured.items():
        where = f"release {facts.name}: benchmark {benchmark}"
        if benchmark not in facts.benchmarks:
            raise ScoringError(f"{where}: unknown: the facts know {', '.join(sorted(facts.benchmarks))}")
        known = facts.benchmarks[benchmark].metrics
        for metric, raw in metrics.items():
            if metric not in known:
                raise ScoringError(f"{where}: metric {metric}: unknown: the facts know {', '.join(sorted(known))}")
            signed = (benchmark, metric) in facts.signed
            _check_metric(f"{where}: metric {metric}", raw, known[metric], signed=signed)


def _check_metric(where: str, measured: RawMetric, facts: MetricFacts, *, signed: bool) -> None:
    if measured.unit != facts.unit:
        raise ScoringError(f"{where}: unit: {measured.unit!r}, not {facts.unit!r}: convert the value")
    if measured.value is not None and measured.value < 0 and not (signed or facts.may_be_negative):
        raise ScoringError(f"{where}: value: an error of {measured.value} is below zero: give its magnitude")
    if not 0 <= measured.n_failed <= measured.n_items:
        raise ScoringError(f"{where}: n_failed: {measured.n_failed} of {measured.n_items} items: count them again")
