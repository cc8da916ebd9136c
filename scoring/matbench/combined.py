"""Matbench Discovery's combined scores CPS (performance), CDS (diatomics) and CMDS (molecular dynamics).

A metric is normalised between two thresholds, a part is the weighted mean of its metrics, and a score that of its
parts. CDS is multiplied by the share of elements that the model does not leave out.

`as_published`: a model that lacks any metric has no score, and failed items are left out of its metrics.
`corrected` obeys one law: nothing that a model can do by failing or skipping improves its score. A missing metric, or
one that is not finite, counts 0 (`Term.at_best` is the value if it counted 1), and metrics have their failures
penalised.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scoring.errors import ScoringError
from scoring.matbench.facts import CombinedScore, MatbenchFacts
from scoring.metric_facts import MetricFacts
from scoring.names import Variant
from scoring.normalisers import NORMALISERS, BetweenThresholds
from scoring.term import Term, explain, explained_with_best
from scoring.tree import Float, Leaf, Node, RawMetric


@dataclass(frozen=True)
class ShareBetweenThresholds(BetweenThresholds):
    """The normalised values, times a share."""

    name = "between thresholds, times a share"
    share: float

    def __call__(self, values: Float) -> Float:
        return self.share * super().__call__(values)


def combined_score(
    measured: Mapping[str, RawMetric],
    facts: MatbenchFacts,
    score: str,
    variant: Variant = Variant.CORRECTED,
    excluded: int = 0,
) -> Term:
    """The score of one model, with its parts and metrics.

    Args:
        measured: by metric, with failures penalised in `value`, and without them in `uncharged`.
        score: a name in `facts.scores`.
        excluded: number of elements that the model leaves out.

    Raises:
        ScoringError: a metric is unknown, has another unit or a negative error, or more elements are left out than
            there are; naming score and metric.
    """
    stated = facts.scores[score]
    where = f"release {facts.name}: score {score}"
    _check(where, measured, stated, excluded)
    share = 1.0 if stated.elements is None else 1.0 - excluded / stated.elements
    published = variant is Variant.AS_PUBLISHED
    absent, words = (math.nan, "a missing one leaves no score") if published else (0.0, "a missing one counts 0")
    parts = tuple(
        Node(
            name,
            f"weighted mean of the normalised metrics; {words}",
            part.weight,
            tuple(
                _leaf(score, metric, of_metric, measured.get(metric), share, published=published)
                for metric, of_metric in part.metrics.items()
            ),
            absent=absent,
            unit=name,
        )
        for name, part in stated.parts.items()
    )
    tree = Node(score, f"weighted mean of the parts; {words}", parts=parts, absent=absent, source=facts.source)
    return explain(tree) if published else explained_with_best({"": tree})[""]


def _leaf(
    score: str, name: str, facts: MetricFacts, measured: RawMetric | None, share: float, *, published: bool
) -> Node:
    raw = measured or RawMetric(score, name, None)
    value = raw.uncharged if published and raw.uncharged is not None else raw.value
    if value is not None and math.isnan(value):
        value = None
    stated: tuple[tuple[str, float | str], ...] = (("good", facts.good), ("bad", facts.bad))
    rule = f"{NORMALISERS[facts.normaliser].words} from 0 at {facts.bad:g} to 1 at {facts.good:g} {facts.unit}, capped"
    if share < 1.0:
        stated += (("share of elements", share),)
        rule += f", times {share:.4g}, the share of elements that are not left out"
    scale = ShareBetweenThresholds(facts.normaliser, facts.good, facts.bad, finite_only=True, share=share)
    leaf = Leaf(raw._replace(task=score, metric=name, value=value, unit=facts.unit, facts=stated), scale)
    return Node(name, rule, facts.weight, leaf=leaf)


def _check(where: str, measured: Mapping[str, RawMetric], stated: CombinedScore, excluded: int) -> None:
    known = stated.metrics
    for name, raw in measured.items():
        if name not in known:
            raise ScoringError(f"{where}: metric {name}: unknown: the facts know {', '.join(known)}")
        if raw.unit != known[name].unit:
            raise ScoringError(f"{where}: metric {name}: unit: {raw.unit!r}, not {known[name].unit!r}: convert it")
        for value in (raw.value, raw.uncharged):
            if value is not None and value < 0:
                raise ScoringError(f"{where}: metric {name}: value: {value} is below zero: give its magnitude")
    if excluded and stated.elements is None:
        raise ScoringError(f"{where}: elements left out: this score has no such factor: leave the number out")
    if stated.elements is not None and not 0 <= excluded <= stated.elements:
        raise ScoringError(f"{where}: elements left out: {excluded} of {stated.elements}: count them again")
