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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.bootstrap import Path, draw_units, pools, resample
from scoring.clusters import ClusterSums
from scoring.errors import ScoringError
from scoring.ranking import costs, ranks
from scoring.tree import Draw, Float, Key, Node, Valued, evaluate, score

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
) -> dict[str, Uncertainty]:
    """The uncertainty of one score of each model, from draws that may serve several scores.

    Args:
        metrics: (B,) by model and metric, from `resample`.
        units: (B,) by unit, from `draw_units`.
    """
    found, drawn = {}, {}
    for model in sorted(trees):
        of_metrics = {} if over is Over.TEST_SETS else metrics.get(model, {})
        draw = Draw(of_metrics, {} if over is Over.CLUSTERS else units)
        found[model], drawn[model] = _intervals(trees[model], draw, over, level)
    return _ranked(found, drawn, lower_is_better, level)


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


def _intervals(tree: Node, draw: Draw, over: Over, level: float) -> tuple[Uncertainty, Float | None]:
    """All but the ranks, and the score on each resample; None where nothing of it could be drawn."""
    below = list(_walk(evaluate(tree, draw)))
    undrawn = [valued for _, valued in _walk(evaluate(tree))]
    drawn = [_at_worst(valued, before) for (_, valued), before in zip(below, undrawn, strict=True)]
    values = np.array(np.broadcast_arrays(*(np.atleast_1d(value) for value in drawn)))
    lows, highs = middle(values, level)
    nodes = {
        path: _interval(valued.node, draw, over, Interval(float(low), float(high), level))
        for (path, valued), low, high in zip(below, lows, highs, strict=True)
    }
    own = nodes[(tree.name,)]
    unknown = Interval(math.nan, math.nan, level, own.n_held)
    result = Uncertainty(float(score(tree)), own, nodes, _of_metrics(tree, draw, level), None, unknown, None)
    return result, values[0] if _varies(tree, draw) else None


def _at_worst(drawn: Valued, own: Valued) -> Float:
    """The drawn values. Where only test sets were drawn that the model has nothing of, it has what these count."""
    absent = drawn.node.absent
    if absent is None or math.isnan(absent) or np.isnan(own.value):
        return drawn.value
    return np.where(np.isnan(drawn.value) & drawn.present, absent, drawn.value)


def _interval(node: Node, draw: Draw, over: Over, between: Interval) -> Interval:
    """`between` with what was held; unknown where nothing varies."""
    leaves = [below.leaf for _, below in node.walk() if below.leaf]
    n_held = sum(leaf.evidence.value is not None and leaf.key not in draw.metrics for leaf in leaves)
    if over is Over.TEST_SETS:
        n_held = 0  # was not to be drawn
    if over is not Over.CLUSTERS:
        n_held += sum(below.pool and len(below.units) == 1 for _, below in node.walk())
    if not _varies(node, draw):
        return Interval(math.nan, math.nan, between.level, n_held)
    return between._replace(n_held=n_held)


def _varies(node: Node, draw: Draw) -> bool:
    """True where a metric of it was drawn anew, or several test sets of it were drawn against one another."""
    if any(below.leaf is not None and below.leaf.key in draw.metrics for _, below in node.walk()):
        return True
    return sum(unit in draw.units for unit in node.units) > 1


def _of_metrics(tree: Node, draw: Draw, level: float) -> dict[Key, Interval]:
    """Intervals of the raw metrics, drawn or of the tree."""
    keys = sorted({node.leaf.key for _, node in tree.walk() if node.leaf} | set(draw.metrics))
    found = {key: Interval(math.nan, math.nan, level, 1) for key in keys}
    drawn = [key for key in keys if key in draw.metrics]
    if drawn:
        bounds = middle(np.array([draw.metrics[key] for key in drawn]), level)
        found |= {key: Interval(float(low), float(high), level) for key, low, high in zip(drawn, *bounds, strict=True)}
    return found


def _ranked(
    found: Mapping[str, Uncertainty], drawn: Mapping[str, Float | None], lower_is_better: bool, level: float
) -> dict[str, Uncertainty]:
    """The same with ranks, their intervals and groups."""
    if not found:
        return {}
    own = {model: result.value for model, result in found.items()}
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


def _walk(valued: Valued, path: Path = ()) -> Iterator[tuple[Path, Valued]]:
    own = (*path, valued.node.name)
    yield own, valued
    for part in valued.parts:
        yield from _walk(part, own)
