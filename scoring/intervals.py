"""How far scores would move.

Two questions are told apart.

- On these test sets: other items of the same sets are drawn (`scoring.bootstrap`), and scores computed again from them.
  Ranks and ties follow from these draws (`scoring.order`).
- On test sets like these: other sets are drawn too (`scoring.set_spread`). This interval is wider. An order that holds
  on these sets may not hold there; `Uncertainty.carries_over` says whether it does.

Both are also about the failures of a model. The intervals of all numbers hold for failures as frequent as those of the
items. That of the score, and on test sets like these, is given with failures that the items do not show, too
(`scoring.unseen_failures`): few items leave many of them possible.

Ends of intervals are values of single draws, without interpolation: infinite errors have intervals too. A value that
lies outside of its draws, as draws of many metrics together may lie on one side, is an end.

If no set of a score has items to draw, such as runs of dynamics, its sets are its items, and both questions are one.

With fewer than `MIN_INDEPENDENT` independent items a score has no order: neither a rank interval nor a tie group.

An interval is unknown, NaN, if nothing could be resampled. A score without an interval is tied with every other score.

Source: Davison and Hinkley, Bootstrap Methods and their Application, Cambridge 1997, section 5.3 (percentile
intervals).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.bootstrap import ItemDraws
from scoring.errors import ScoringError
from scoring.evaluation import Evaluated, Metrics, TreeGroup, tree_groups
from scoring.set_spread import NO_SETS, SetDraws, like_these
from scoring.tree import Float, Key, Leaf, Node, Path
from scoring.unit_values import unit_values

SingleFloat = NDArray[np.float32]
LEVEL = 0.95
"""Intervals of scores are the middle 95 % of the resamples."""
MIN_INDEPENDENT = 30
"""With fewer independent items, spreads are too uncertain to say which of two models is better."""


class Interval(NamedTuple):
    """From the lowest to the highest of the middle `LEVEL` of the resamples; NaN if nothing could be resampled.

    `n_held`: number of metrics that have a value and could not be resampled. The interval is too narrow by what they
    would add.
    """

    low: float
    high: float
    n_held: int = 0

    @property
    def known(self) -> bool:
        """True if something could be resampled."""
        return self.low <= self.high


UNKNOWN = Interval(math.nan, math.nan)


@dataclass(frozen=True)
class Uncertainty:
    """How far one model's score would move.

    Args:
        value: the score itself, NaN if there is none.
        score: its interval on these test sets, with failures as frequent as on them.
        nodes: intervals of all numbers of the score, normalised metrics included, by path.
        metrics: intervals of the raw metrics.
        rank: from 1, equal scores share one; None without a score.
        rank_interval: of the rank among the same models.
        group: of tied models, from 1, see `scoring.order`; None without a score, or without an order.
        n_independent: number of independent items that the score is computed from.
        independent: the same by metric.
        with_unseen: the interval of the score on these test sets, with failures that the items do not show, too.
        like_these: the same on test sets like these.
        carries_over: True if, on test sets like these, the difference from the leader of the next better group does not
            include 0; for a model of the first group, from the leader of the second. None without another group.
        made_from: a text that is the same only if all but the ranks is; empty if it has to be compared.
    """

    value: float
    score: Interval
    nodes: Mapping[Path, Interval]
    metrics: Mapping[Key, Interval]
    rank: int | None
    rank_interval: Interval
    group: int | None
    n_independent: float = math.inf
    independent: Mapping[Key, float] = field(default_factory=dict)
    with_unseen: Interval = UNKNOWN
    like_these: Interval = UNKNOWN
    carries_over: bool | None = None
    made_from: str = field(default="", compare=False, repr=False)

    @property
    def has_order(self) -> bool:
        """True if there are enough independent items to say which of two models is better."""
        return self.n_independent >= MIN_INDEPENDENT


def unranked(
    value: float,
    nodes: Mapping[Path, Interval],
    metrics: Mapping[Key, Interval],
    n_independent: float,
    independent: Mapping[Key, float],
    wider: tuple[Interval, Interval],
) -> Uncertainty:
    """An uncertainty without ranks; the first of the nodes is the score.

    Args:
        wider: the intervals with unseen failures, and on test sets like these.
    """
    score = next(iter(nodes.values()))
    unknown = score._replace(low=math.nan, high=math.nan)
    return Uncertainty(value, score, nodes, metrics, None, unknown, None, n_independent, independent, *wider)


class ResampledScore(NamedTuple):
    """A model's score on the resamples. It does not depend on other models.

    Args:
        uncertainty: without ranks.
        value: that the model is ranked by.
        drawn: (B,) the same on the resamples that models are ordered by; None if nothing of it could be resampled.
        drawn_like_these: (B,) the same on test sets like these; None if their spread is not known.
        units: by unit, (B,) its value on the resamples that models are ordered by, for those that could be resampled;
            with single precision, as they are kept.
    """

    uncertainty: Uncertainty
    value: float
    drawn: Float | None
    drawn_like_these: Float | None
    units: Mapping[str, SingleFloat] = MappingProxyType({})


def resampled_scores(
    trees: Mapping[str, Node],
    draws: ItemDraws,
    sets: SetDraws = NO_SETS,
    ranked_by: Mapping[str, Node] | None = None,
    independent: Mapping[str, Mapping[Key, float]] | None = None,
    raw: Mapping[str, Metrics] | None = None,
) -> dict[str, ResampledScore]:
    """By model, one score on the resamples, which may serve several scores.

    Args:
        draws: (B,) by model and metric, from `resample`, or from `resample_relative` where the score divides by a
            baseline of the same clusters.
        sets: from `draw_sets`.
        ranked_by: by model, the tree that ranks and groups go by, if it is another one, such as `with_left_out`.
        independent: by model and metric, the number of independent items; a metric without one counts as a single
            item. None: there are enough of all.
        raw: (B,) by model and metric, from `resample`, for the intervals of metrics themselves; None: as in `draws`.
    """
    scores: dict[str, ResampledScore] = {}
    for group in tree_groups(trees, metrics=draws.values):
        resampled = wider = ordered = _Resampled.of(group, sets)
        if (other := _with_metrics(group, draws.with_unseen)) is not group:
            wider = _Resampled.of(other, sets, resampled.resampled)
        if (other := _with_metrics(group, draws.for_order)) is not group:
            ordered = _Resampled.of(other, sets)
        uncertainties = resampled.uncertainties(independent, raw or {}, wider)
        drawn, units = ordered.scores(), ordered.units()
        scores |= {m: ResampledScore(each, *drawn[m], units[m]) for m, each in uncertainties.items()}
    others = {model: tree for model, tree in (ranked_by or {}).items() if tree is not trees[model]}
    for group in tree_groups(others, metrics=draws.for_order):
        for model, (value, on_items, on_other_sets) in _Resampled.of(group, sets).scores().items():
            scores[model] = scores[model]._replace(value=value, drawn=on_items, drawn_like_these=on_other_sets)
    return scores


def middle(values: Float, level: float) -> tuple[Float, Float]:
    """The lowest and the highest (...) of the middle `level` of values (..., B), NaN aside; NaN where all are.

    Not less than `level` lies between the two, and both are among the values.

    Raises:
        ScoringError: a level not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ScoringError(f"level {level:g}: must be between 0 and 1")
    ordered = np.sort(values, axis=-1)  # NaN last
    if ordered.size and not np.isnan(ordered[..., -1]).any():
        left = int((1 - level) / 2 * (ordered.shape[-1] - 1))
        return ordered[..., left].copy(), ordered[..., -1 - left].copy()
    last = np.maximum(np.count_nonzero(~np.isnan(values), axis=-1) - 1, 0)
    tail = (1 - level) / 2
    low = np.floor(tail * last).astype(np.int64)
    return _at(ordered, low), _at(ordered, last - low)


class _Known(NamedTuple):
    """How a node of m trees of one shape was resampled.

    Args:
        n_held: (m,) number of metrics at and below it that have a value and could not be resampled.
        varies: True if any of its metrics was resampled.
    """

    n_held: NDArray[np.int64]
    varies: bool


def _known(evaluated: Evaluated, keys: frozenset[Key]) -> dict[Path, _Known]:
    """By path, how a node and all nodes below it were resampled.

    Args:
        keys: the metrics that were resampled.
    """
    first = evaluated.nodes[0]
    known: dict[Path, _Known] = {}
    for part in evaluated.parts:
        known |= _known(part, keys)
    below = [known[part.path] for part in evaluated.parts]
    n_held = sum((part.n_held for part in below), np.zeros(len(evaluated.nodes), np.int64))
    varies = any(part.varies for part in below)
    if first.leaf is not None:
        varies = first.leaf.key in keys
        if not varies:
            n_held += [node.leaf is not None and node.leaf.raw.value is not None for node in evaluated.nodes]
    known[evaluated.path] = _Known(n_held, varies)
    return known


class _Resampled(NamedTuple):
    """The trees of a group with their metrics and on the resamples, and by path how each node was resampled.

    Args:
        like_these: (m,) see `scoring.set_spread.like_these`.
    """

    group: TreeGroup
    original: Evaluated
    resampled: Evaluated
    known: Mapping[Path, _Known]
    like_these: Sequence[Float | None]

    @classmethod
    def of(cls, group: TreeGroup, sets: SetDraws, seen: Evaluated | None = None) -> _Resampled:
        """The group on the resamples.

        Args:
            seen: the same without unseen failures; None: the group has none.
        """
        original, resampled = group._replace(metrics=[{}] * len(group.models)).evaluate(), group.evaluate()
        known = _known(original, frozenset(group.metrics[0]))
        return cls(group, original, resampled, known, like_these(group, original, seen or resampled, sets, resampled))

    def scores(self) -> dict[str, tuple[float, Float | None, Float | None]]:
        """By model its value, (B,) its values on the resamples, and (B,) on test sets like these."""
        values, varies = self.resampled.values, self.known[self.original.path].varies
        return {
            model: (float(self.original.values[i, 0]), values[i] if varies else self.like_these[i], self.like_these[i])
            for i, model in enumerate(self.group.models)
        }

    def units(self) -> dict[str, dict[str, SingleFloat]]:
        """By model and unit, (B,) its value, for the units that could be resampled."""
        values = unit_values(self.resampled, {path for path, known in self.known.items() if known.varies})
        single = {unit: rows.astype(np.float32) for unit, rows in values.items()}
        return {model: {unit: rows[i] for unit, rows in single.items()} for i, model in enumerate(self.group.models)}

    def uncertainties(
        self, independent: Mapping[str, Mapping[Key, float]] | None, raw: Mapping[str, Metrics], wider: _Resampled
    ) -> dict[str, Uncertainty]:
        """By model, all but the ranks.

        Args:
            wider: the same trees, resampled with unseen failures.
        """
        nodes: list[dict[Path, Interval]] = [{} for _ in self.group.models]
        for node, original in zip(self.resampled.walk(), self.original.walk(), strict=True):
            resampled = self.known[node.path]
            ends = [UNKNOWN] * len(nodes)
            if resampled.varies:
                values = np.broadcast_to(original.values[:, 0], len(nodes)).tolist()
                ends = list(map(_with_value, middle_intervals(node.values), values))
            for of_node, interval, n_held in zip(nodes, ends, resampled.n_held.tolist(), strict=True):
                of_node[node.path] = interval._replace(n_held=n_held)
        values, metrics = self.original.values[:, 0].tolist(), _metric_intervals(self.group, raw)
        known = [None if independent is None else independent.get(model, {}) for model in self.group.models]
        counts = map(_independent, self.group.trees, known)
        by_metric = [
            {key: (of_model or {}).get(key, 1.0) for key in intervals}
            for of_model, intervals in zip(known, metrics, strict=True)
        ]
        top = self.original.path
        like_these = [*map(_interval_of_draws, wider.like_these, values)]
        varies = wider.known[top].varies
        draws = list(wider.resampled.values) if varies else [None] * len(values)
        with_unseen = [*map(_interval_of_draws, draws, values)] if varies else like_these
        wide = [*zip(with_unseen, like_these, strict=True)]
        if not self.known[top].varies:
            for of_node, interval in zip(nodes, like_these, strict=True):
                of_node[top] = interval._replace(n_held=of_node[top].n_held)
        return dict(zip(self.group.models, map(unranked, values, nodes, metrics, counts, by_metric, wide), strict=True))


def _independent(tree: Node, by_metric: Mapping[Key, float] | None) -> float:
    """The number of independent items of a score: over its units, those of the metric that has most."""
    if by_metric is None:
        return math.inf
    most: dict[str, float] = {}
    for unit, leaf in _leaves_of_units(tree, ""):
        if leaf.raw.value is not None and not leaf.left_out:
            most[unit] = max(most.get(unit, 0.0), by_metric.get(leaf.key, 1.0))
    return math.fsum(most.values())


def _leaves_of_units(node: Node, unit: str) -> Iterator[tuple[str, Leaf]]:
    """The leaves, each with the unit that it belongs to, or its task."""
    unit = node.unit or unit
    if node.leaf is not None:
        yield unit or node.leaf.raw.task, node.leaf
    for part in node.parts:
        yield from _leaves_of_units(part, unit)


def _with_metrics(group: TreeGroup, metrics: Mapping[str, Metrics]) -> TreeGroup:
    """The trees with other draws; the group itself if these are the same arrays, as of metrics without failures."""
    others = [metrics[model] for model in group.models]
    pairs = zip(group.metrics, others, strict=True)
    if all(values is other[key] for of_model, other in pairs for key, values in of_model.items()):
        return group
    return group._replace(metrics=others)


def _interval_of_draws(drawn: Float | None, value: float) -> Interval:
    return UNKNOWN if drawn is None else _with_value(middle_intervals(drawn[np.newaxis])[0], value)


def _with_value(interval: Interval, value: float | None) -> Interval:
    """The interval, with the value as an end if it would lie outside."""
    if value is None or math.isnan(value) or not interval.known:
        return interval
    return interval._replace(low=min(interval.low, value), high=max(interval.high, value))


def middle_intervals(values: Float) -> list[Interval]:
    """(m,) the interval of each row of (m, B) values."""
    return [Interval(low, high) for low, high in zip(*[ends.tolist() for ends in middle(values, LEVEL)], strict=True)]


def _metric_intervals(group: TreeGroup, raw: Mapping[str, Metrics]) -> list[dict[Key, Interval]]:
    """(m,) by metric, the interval of the raw metric: for metrics of the tree and for drawn ones."""
    keys = sorted({leaf.key for leaf in group.trees[0].leaves} | group.metrics[0].keys())
    intervals: list[dict[Key, Interval]] = [dict.fromkeys(keys, UNKNOWN._replace(n_held=1)) for _ in group.models]
    for key in group.metrics[0]:
        drawn = [
            raw.get(model, {}).get(key, metrics[key])
            for model, metrics in zip(group.models, group.metrics, strict=True)
        ]
        for of_model, ends in zip(intervals, middle_intervals(np.array(drawn)), strict=True):
            of_model[key] = ends
    for of_model, tree in zip(intervals, group.trees, strict=True):
        for leaf in tree.leaves:
            of_model[leaf.key] = _with_value(of_model[leaf.key], leaf.raw.value)
    return intervals


def _at(ordered: Float, index: NDArray[np.int64]) -> Float:
    return np.take_along_axis(ordered, index[..., np.newaxis], axis=-1)[..., 0]
