"""ML-PEG's score: raw metric, normalised metric, benchmark, category, overall; above the first, each from 0 to 1.

A normalised metric is 1 at *good*, 0 at *bad*; benchmark, category and overall are weighted means of what is below.

`as_published` does what ML-PEG's tables do:

- a metric, benchmark or category that a model does not have (None) is left out, the others share its weight: a model
  may gain by skipping;
- a metric that is NaN takes the score from its benchmark, its category and the overall, unless its weight is zero;
- an infinite value that lies beyond *good* is perfect.

`corrected` obeys one law: nothing that a model can do by failing, skipping or answering NaN improves its score. At
every level what is missing counts 0, whether None or NaN; a term says beside it what its value would be if it counted
1. An infinite value counts 0.

Both refuse good = bad, where ML-PEG takes a step from 0 to 1.

Source: ML-PEG, github.com/ddmms/ml-peg, ml_peg/analysis/utils/utils.py at commit 0007db0 (`calc_table_scores`,
`normalize_metric`), ml_peg/app/build_app.py at commit a88481b (categories, overall) and ml_peg/app/utils/faqs.yml at
commit 0342ea1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import NamedTuple

import numpy as np

from scoring.errors import ScoringError
from scoring.ml_peg.facts import Facts, MetricFacts, Weights
from scoring.ml_peg.levels import Mismatch, mismatches
from scoring.ml_peg.normalisers import NORMALISERS, normalised
from scoring.term import Evidence, Term
from scoring.tree import Draw, Key, Leaf, Node, Valued, evaluate, explained

OVERALL = "overall"
PURE_NUMBERS = frozenset({"", "-", "1"})
"""Units of a metric that has none."""


class Variant(StrEnum):
    """`AS_PUBLISHED` reproduces ML-PEG's tables; `CORRECTED` lets no model gain by failing. See the module."""

    AS_PUBLISHED = "as_published"
    CORRECTED = "corrected"


class Measured(NamedTuple):
    """A metric of one model.

    Args:
        value: in `unit`, with failures charged; None where there is none, NaN where the model came to none.
        n_items: over how many items it stands, of which `n_failed` failed.
        uncharged: over the items that succeeded.
    """

    value: float | None
    unit: str
    n_items: int = 0
    n_failed: int = 0
    uncharged: float | None = None


Metrics = Mapping[str, Mapping[str, Measured]]
"""By benchmark and metric; what a model lacks is absent."""


class _Scheme(NamedTuple):
    measured: Metrics
    facts: Facts
    weights: Weights
    corrected: bool
    flags: Mapping[Key, Mismatch] | None


def ml_peg_score(
    measured: Metrics,
    facts: Facts,
    variant: Variant | str = Variant.CORRECTED,
    preset: str = "",
    levels: Mapping[str, str] | None = None,
) -> Term:
    """The overall score with all that is below it.

    `corrected`: `value` takes what is missing as 0, and models are ranked by it; `at_best` takes it as 1, and is None
    where nothing of any weight is missing. Both stand at every level, 0 and 1 where a model has nothing at all.
    `as_published`: `value` is None where ML-PEG gives no score.

    Args:
        levels: the model's levels of theory, see `mismatches`; None: they are not compared.

    Raises:
        ScoringError: see `ml_peg_tree`.
    """
    tree = ml_peg_tree(measured, facts, variant, preset, levels)
    term = explained(tree)
    if Variant(variant) is Variant.AS_PUBLISHED:
        return term
    good = {
        leaf.key: np.array(facts.benchmarks[leaf.key[0]].metrics[leaf.key[1]].good)
        for leaf in (node.leaf for _, node in tree.walk())
        if leaf and leaf.evidence.value is None
    }
    return _with_both(term, evaluate(tree, Draw(metrics=good)))


def ml_peg_tree(
    measured: Metrics,
    facts: Facts,
    variant: Variant | str = Variant.CORRECTED,
    preset: str = "",
    levels: Mapping[str, str] | None = None,
) -> Node:
    """The tree of the overall score of one model; its units are benchmarks, its pools categories.

    Raises:
        ScoringError: a metric that the facts do not know, another unit than theirs, an error below zero, counts that
            cannot be, an unknown preset or variant; naming release, benchmark, metric and field.
    """
    if variant not in tuple(Variant):
        raise ScoringError(f"release {facts.name}: variant {variant}: unknown: take one of {', '.join(Variant)}")
    if preset and preset not in facts.presets:
        known = ", ".join(facts.presets) or "none: it has no presets"
        raise ScoringError(f"release {facts.name}: preset {preset}: unknown: take one of {known}")
    _check(measured, facts)
    flags = None if levels is None else {(f.benchmark, f.metric): f for f in mismatches(facts, levels)}
    scheme = _Scheme(measured, facts, facts.weights(preset), variant == Variant.CORRECTED, flags)
    parts = [_category(scheme, category) for category in facts.categories]
    weights = f", weights of the preset {preset}" if preset else ""
    return _mean(scheme, Node(OVERALL, f"mean of the categories{weights}", source=facts.source), parts)


def _category(scheme: _Scheme, category: str) -> Node:
    weight = scheme.weights.categories[category]
    parts = [_benchmark(scheme, name) for name in scheme.facts.in_category(category)]
    return _mean(scheme, Node(category, "mean of the benchmarks", weight, pool=True, source=scheme.facts.source), parts)


def _benchmark(scheme: _Scheme, name: str) -> Node:
    facts = scheme.facts.benchmarks[name]
    source = facts.source or scheme.facts.source
    node = Node(name, "mean of the normalised metrics", scheme.weights.benchmarks[name], unit=name, source=source)
    return _mean(scheme, node, [_metric(scheme, (name, metric), source) for metric in sorted(facts.metrics)])


def _mean(scheme: _Scheme, node: Node, parts: list[Node]) -> Node:
    """The node over its parts, with what one without a value counts there."""
    if scheme.corrected:
        absent, words = 0.0, "a missing one counts 0"
    elif any(part.weight > 0 and _takes_all(scheme, part) for part in parts):
        absent, words = math.nan, "NaN leaves no score"
    else:
        absent, words = None, "a missing one is left out"
    return replace(node, rule=f"weighted {node.rule}; {words}", parts=tuple(parts), absent=absent)


def _takes_all(scheme: _Scheme, node: Node) -> bool:
    if node.leaf is None:
        return node.absent is not None
    benchmark, metric = node.leaf.key
    measured = scheme.measured.get(benchmark, {}).get(metric)
    return measured is not None and measured.value is not None and math.isnan(measured.value)


def _metric(scheme: _Scheme, key: Key, source: str) -> Node:
    benchmark, metric = key
    facts = scheme.facts.benchmarks[benchmark].metrics[metric]
    measured = scheme.measured.get(benchmark, {}).get(metric, Measured(None, facts.unit))
    value = None if measured.value is None or math.isnan(measured.value) else measured.value
    unit = "" if facts.unit in PURE_NUMBERS else facts.unit
    evidence = Evidence(
        benchmark,
        metric,
        value,
        unit,
        _held_against(scheme, key, facts, measured),
        measured.n_items,
        measured.n_failed,
        measured.uncharged,
    )
    normalise = partial(normalised, name=facts.normaliser, good=facts.good, bad=facts.bad, finite_only=scheme.corrected)
    words = NORMALISERS[facts.normaliser].words
    rule = f"{words} from 0 at {facts.bad:g} to {f'1 at {facts.good:g} {unit}'.strip()}, capped"
    return Node(metric, rule, scheme.weights.metrics[key], leaf=Leaf(evidence, normalise), source=source)


def _held_against(
    scheme: _Scheme, key: Key, facts: MetricFacts, measured: Measured
) -> tuple[tuple[str, float | str], ...]:
    stated: list[tuple[str, float | str]] = [("good", facts.good), ("bad", facts.bad)]
    if measured.value is not None and math.isnan(measured.value):
        stated.append(("answered", "NaN"))
    if facts.level_of_theory:
        stated.append(("level of theory", facts.level_of_theory))
    if scheme.flags is not None and (flag := scheme.flags.get(key)):
        stated.append(("level of theory of the model", flag.model_level or "not stated"))
        stated.append(("held against", flag.gap.value))
    return tuple(stated)


def _check(measured: Metrics, facts: Facts) -> None:
    for benchmark, metrics in measured.items():
        where = f"release {facts.name}: benchmark {benchmark}"
        if benchmark not in facts.benchmarks:
            raise ScoringError(f"{where}: unknown: the facts know {', '.join(sorted(facts.benchmarks))}")
        known = facts.benchmarks[benchmark].metrics
        for metric, one in metrics.items():
            if metric not in known:
                raise ScoringError(f"{where}: metric {metric}: unknown: the facts know {', '.join(sorted(known))}")
            _check_one(f"{where}: metric {metric}", one, known[metric])


def _check_one(where: str, measured: Measured, facts: MetricFacts) -> None:
    if measured.unit != facts.unit:
        raise ScoringError(f"{where}: unit: {measured.unit!r}, not {facts.unit!r}: convert the value")
    if measured.value is not None and measured.value < 0 and not facts.may_be_negative:
        raise ScoringError(f"{where}: value: an error of {measured.value} is below zero: give its magnitude")
    if not 0 <= measured.n_failed <= measured.n_items:
        raise ScoringError(f"{where}: n_failed: {measured.n_failed} of {measured.n_items} items: count them again")


def _with_both(term: Term, best: Valued) -> Term:
    """The term with what is missing as 0, and beside it as 1."""
    parts = tuple(_with_both(part, below) for part, below in zip(term.parts, best.parts, strict=True))
    lacks = term.evidence is not None and term.evidence.value is None
    lacks = lacks or any(part.at_best is not None and part.weight > 0 for part in parts)
    value = 0.0 if term.value is None else term.value
    return replace(term, value=value, at_best=float(best.value) if lacks else None, parts=parts)
