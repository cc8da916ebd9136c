"""How far scores and ranks would move on other test sets: intervals, and models that cannot be told apart.

Scores are computed anew from resampled metrics (`scoring.bootstrap.resample`), with test sets drawn anew within each
pool, such as a domain (`scoring.bootstrap.draw_units`), or both. Both is the default and errs on the wide side: what
sets apart the test sets of a domain holds some of what resampling their clusters adds once more. With test sets alone,
a domain of few comes out too narrow, and one of a single set without any spread.

Intervals run from one resample to another, without interpolation: infinite errors have one too.

An interval is unknown, NaN, where nothing could be resampled. Unknown is not narrow: what has no interval is never told
apart from anything.

Source: Davison and Hinkley, Bootstrap Methods and their Application, Cambridge 1997, sections 3.8
(hierarchical data) and 5.3 (percentile intervals).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.bootstrap import Path, draw_units, pools, resample
from scoring.clusters import ClusterSums
from scoring.errors import ScoringError
from scoring.forest import Grown, Stand, stands
from scoring.ranking import costs, ranks
from scoring.tree import Draw, Float, Key, Node

AGREEMENT = 1e-6
"""Relative difference at which statistics and metric are not the same number."""


class Over(StrEnum):
    """What is drawn anew."""

    CLUSTERS = "clusters"
    TEST_SETS = "test sets"
    BOTH = "clusters and test sets"


class Interval(NamedTuple):
    """Where the middle `level` of the resamples that have a value lie; NaN where nothing could be resampled.

    `n_held` metrics and pools of a single test set below have a value that could not be drawn anew: the interval is too
    narrow by what they would add.
    """

    low: float
    high: float
    level: float = 0.95
    n_held: int = 0

    @property
    def known(self) -> bool:
        """True where something could be resampled."""
        return self.low <= self.high


@dataclass(frozen=True)
class Uncertainty:
    """Of one model's score.

    Args:
        value: the score itself, NaN where there is none.
        score: its interval.
        nodes: intervals of all numbers of the score, normalised metrics included, by path.
        metrics: intervals of the raw metrics.
        rank: from 1, equal scores share one; None without a score.
        rank_interval: of the rank among the same models.
        group: from 1, of models that cannot be told apart, see `tie_groups`; None without a score.
    """

    value: float
    score: Interval
    nodes: Mapping[Path, Interval]
    metrics: Mapping[Key, Interval]
    rank: int | None
    rank_interval: Interval
    group: int | None


def bootstrapped(
    trees: Mapping[str, Node],
    stats: Mapping[str, Sequence[ClusterSums]],
    n_resamples: int,
    rng: np.random.Generator,
    *,
    lower_is_better: bool,
    over: Over = Over.BOTH,
    level: float = 0.95,
) -> dict[str, Uncertainty]:
    """The uncertainty of one score of each model, from the statistics of its metrics by cluster.

    Raises:
        ScoringError: statistics that do not give the metric of the tree, and see `resample` and `pools`.
    """
    require_agreement(trees, stats)
    metrics = resample(stats, n_resamples, rng)
    units = draw_units(pools(trees.values()), n_resamples, rng)
    return uncertainty(trees, metrics, units, lower_is_better=lower_is_better, over=over, level=level)


def uncertainty(
    trees: Mapping[str, Node],
    metrics: Mapping[str, Mapping[Key, Float]],
    units: Mapping[str, Float],
    *,
    lower_is_better: bool,
    over: Over = Over.BOTH,
    level: float = 0.95,
    ranked_by: Mapping[str, Node] | None = None,
) -> dict[str, Uncertainty]:
    """The uncertainty of one score of each model, from draws that may serve several scores.

    Args:
        metrics: (B,) by model and metric, from `resample`.
        units: (B,) by unit, from `draw_units`.
        ranked_by: by model, what ranks and groups go by where that is another tree, such as that of `with_left_out`.
    """
    of_metrics = {} if over is Over.TEST_SETS else {model: metrics.get(model, {}) for model in trees}
    draw = Draw(units={} if over is Over.CLUSTERS else units)
    found: dict[str, Uncertainty] = {}
    drawn: dict[str, Float | None] = {}
    for stand in stands(trees, of_metrics):
        structure = _structure(stand, draw, over)
        for block in stand.blocks(_n_drawn(stand, draw)):
            for model, (own, values) in _intervals(block, draw, structure, level).items():
                found[model], drawn[model] = own, values
    in_order = {model: found[model] for model in sorted(trees)}
    scores = {model: result.value for model, result in in_order.items()}
    others = {model: tree for model, tree in (ranked_by or {}).items() if tree is not trees[model]}
    for stand in stands(others, of_metrics):
        varies = _structure(stand, draw, over)[(stand.trees[0].name,)].varies
        for block in stand.blocks(_n_drawn(stand, draw)):
            undrawn, top = _undrawn(block), block.evaluate(draw)
            for i, (model, values) in enumerate(zip(block.models, _at_worst(top, undrawn), strict=True)):
                scores[model], drawn[model] = float(undrawn.value[i]), values if varies else None
    return _ranked(in_order, scores, drawn, lower_is_better, level)


def tie_groups(
    scores: Mapping[str, float], drawn: Mapping[str, Float], *, lower_is_better: bool, level: float = 0.95
) -> tuple[tuple[str, ...], ...]:
    """Models in groups from best to worst, those in a group not told apart from its leader, who stands first.

    By score, equals by name. A model joins the group of the leader if the interval of the paired difference between the
    two includes 0; the first that does not leads the next. Models without a score are in none.

    Args:
        drawn: (B,) scores on the same resamples. Without them a model cannot be told apart from any leader.
    """
    cost = {m: float(costs(np.array(scores[m]), lower_is_better=lower_is_better)) for m in sorted(scores)}
    groups: list[list[str]] = []
    for model in sorted((m for m in cost if not math.isnan(scores[m])), key=lambda m: (cost[m], m)):
        if groups and not _apart(drawn.get(groups[-1][0]), drawn.get(model), lower_is_better, level):
            groups[-1].append(model)
        else:
            groups.append([model])
    return tuple(map(tuple, groups))


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


def require_agreement(trees: Mapping[str, Node], stats: Mapping[str, Sequence[ClusterSums]]) -> None:
    """Holds the statistics of each model against the metrics of its tree.

    Raises:
        ScoringError: statistics that give another number than the tree has.
    """
    for model in sorted(trees):
        leaves = {node.leaf.key: node.leaf.evidence for _, node in trees[model].walk() if node.leaf}
        for own in stats.get(model, ()):
            evidence = leaves.get(own.key)
            if evidence is None:
                continue
            there = math.nan if evidence.value is None else evidence.value
            if not (own.value == there or math.isclose(own.value, there, rel_tol=AGREEMENT)):
                raise ScoringError(
                    f"task {own.task}: {own.metric} of model {model}: clusters give {own.value:g}, the metric is "
                    f"{there:g} {evidence.unit}".rstrip()
                    + "; same unit and the same charges are needed"
                )


class _Known(NamedTuple):
    """Of a node of trees of one shape: how many below it have a value that was held, and whether it varies at all."""

    n_held: int
    varies: bool


def _n_drawn(stand: Stand, draw: Draw) -> int:
    """Of how many resamples a node has a value."""
    drawn = [*stand.metrics[0].values(), *draw.units.values()]
    return max([len(values) for values in drawn], default=1)


def _structure(stand: Stand, draw: Draw, over: Over) -> dict[Path, _Known]:
    """By path, what is known of a node of all trees of the stand."""
    found: dict[Path, _Known] = {}
    _look_below(stand.trees[0], (), stand.keys, draw, over, found)
    return found


def _look_below(
    node: Node, path: Path, keys: frozenset[Key], draw: Draw, over: Over, found: dict[Path, _Known]
) -> tuple[_Known, frozenset[str]]:
    """What is known of a node, and the units at and below it; enters it and all below in `found`.

    It varies where a metric of it was drawn anew, or several test sets of it were drawn against one another.
    """
    own = (*path, node.name)
    below = [_look_below(part, own, keys, draw, over, found) for part in node.parts]
    units = frozenset({node.unit} if node.unit else ()).union(*(names for _, names in below))
    n_held, drawn = sum(known.n_held for known, _ in below), any(known.varies for known, _ in below)
    if node.leaf is not None:
        drawn = node.leaf.key in keys
        n_held += over is not Over.TEST_SETS and not drawn and node.leaf.evidence.value is not None
    n_held += over is not Over.CLUSTERS and node.pool and len(units) == 1
    found[own] = _Known(n_held, drawn or sum(unit in draw.units for unit in units) > 1)
    return found[own], units


def _intervals(
    stand: Stand, draw: Draw, structure: Mapping[Path, _Known], level: float
) -> dict[str, tuple[Uncertainty, Float | None]]:
    """By model, all but the ranks, and the score on each resample; None where nothing of it could be drawn."""
    undrawn = _undrawn(stand)
    top = stand.evaluate(draw)
    nodes: list[dict[Path, Interval]] = [{} for _ in stand.models]
    values = _at_worst(top, undrawn)
    for own, before in zip(top.walk(), undrawn.walk(), strict=True):
        known = structure[own.path]
        if known.varies:
            lows, highs = middle(_at_worst(own, before), level)
            bounds = zip(nodes, lows.tolist(), highs.tolist(), strict=True)
            for of_model, low, high in bounds:
                of_model[own.path] = Interval(low, high, level, known.n_held)
        else:
            unknown = Interval(math.nan, math.nan, level, known.n_held)
            for of_model in nodes:
                of_model[own.path] = unknown
    raw = _of_metrics(stand, level)
    varies, rank = structure[top.path].varies, nodes[0][top.path]._replace(low=math.nan, high=math.nan)
    return {
        model: (
            Uncertainty(float(undrawn.value[i]), nodes[i][top.path], nodes[i], raw[i], None, rank, None),
            values[i] if varies else None,
        )
        for i, model in enumerate(stand.models)
    }


def _undrawn(stand: Stand) -> Grown:
    """All nodes as they are."""
    return replace(stand, metrics=({},) * len(stand.models)).evaluate(Draw())


def _at_worst(drawn: Grown, own: Grown) -> Float:
    """The drawn values. Where only test sets were drawn that a model has nothing of, it has what these count."""
    absent = drawn.nodes[0].absent
    if absent is None or math.isnan(absent):
        return drawn.value
    missing = np.isnan(drawn.value)
    if not missing.any():
        return drawn.value
    has_own = ~np.isnan(own.value)
    if drawn.value.ndim > 1:
        has_own = has_own[:, np.newaxis]
    return np.where(missing & drawn.present & has_own, absent, drawn.value)


def _of_metrics(stand: Stand, level: float) -> list[dict[Key, Interval]]:
    """By tree, intervals of the raw metrics, drawn or of the tree."""
    keys = sorted({node.leaf.key for _, node in stand.trees[0].walk() if node.leaf} | stand.keys)
    unknown = Interval(math.nan, math.nan, level, 1)
    found: list[dict[Key, Interval]] = [dict.fromkeys(keys, unknown) for _ in stand.models]
    for key in keys:
        if key in stand.keys:
            lows, highs = middle(np.array([drawn[key] for drawn in stand.metrics]), level)
            for own, low, high in zip(found, lows.tolist(), highs.tolist(), strict=True):
                own[key] = Interval(low, high, level)
    return found


def _ranked(
    found: Mapping[str, Uncertainty],
    own: Mapping[str, float],
    drawn: Mapping[str, Float | None],
    lower_is_better: bool,
    level: float,
) -> dict[str, Uncertainty]:
    """The same with ranks, their intervals and groups, by these scores and draws of them."""
    if not found:
        return {}
    table = np.broadcast_arrays(*(np.array([own[m]]) if (d := drawn[m]) is None else d for m in found))
    now = ranks(np.array(list(own.values())), lower_is_better=lower_is_better).tolist()
    low, high = middle(ranks(np.array(table), lower_is_better=lower_is_better).astype(np.float64), level)
    known = {model: values for model, values in drawn.items() if values is not None}
    groups = tie_groups(own, known, lower_is_better=lower_is_better, level=level)
    group = {model: number for number, models in enumerate(groups, 1) for model in models}
    ranked = {}
    for place, (model, result) in enumerate(found.items()):
        interval = result.rank_interval
        if model in known and model in group:
            interval = interval._replace(low=float(low[place]), high=float(high[place]))
        rank = now[place] if model in group else None
        ranked[model] = replace(result, rank=rank, rank_interval=interval, group=group.get(model))
    return ranked


def _apart(leader: Float | None, other: Float | None, lower_is_better: bool, level: float) -> bool:
    """True where the interval of the paired difference is known and leaves 0 out."""
    if leader is None or other is None:
        return False
    one, two = (costs(values, lower_is_better=lower_is_better) for values in (leader, other))
    with np.errstate(invalid="ignore"):
        difference = np.where(one == two, 0.0, two - one)
    low, high = middle(difference, level)
    return bool(low > 0 or high < 0)


def _at(ordered: Float, index: NDArray[np.int64]) -> Float:
    return np.take_along_axis(ordered, index[..., np.newaxis], axis=-1)[..., 0]
