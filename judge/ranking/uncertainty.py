"""How firm scores and ranks are: intervals from the items of every result, and ranks under other weights."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judge.ranking.leaderboard import Firmness
from judge.ranking.score_inputs import Judged
from judge.ranking.score_trees import ScoreTrees
from judge.records.records import Result
from scoring import Node, ScoringError
from scoring.bootstrap import draw_units, pools, resample
from scoring.clusters import ClusterSums
from scoring.intervals import Uncertainty, uncertainty
from scoring.names import SCORES
from scoring.robustness import LeftOut, RankRange, leave_one_out, random_weights, rank_ranges
from scoring.tree import Float, Key, Path, with_left_out
from tasks.kinds.registry import KINDS
from tasks.metrics.contributions import Contributing, Contribution

N_RESAMPLES = 1000
SEED = 0  # the same records give the same pages
AGREEMENT = 1e-6
"""Relative difference at which the items' metric and the stored metric are not the same number."""


def firmness(judged: Judged, trees: Mapping[str, ScoreTrees], ranked: Collection[str]) -> Firmness:
    """Intervals of every score, and how ranks move.

    A metric that cannot be resampled is left out, with a line in `judged.problems`.

    Args:
        trees: by submission.
        ranked: the submissions that have ranks.
    """
    stats = {
        id: [*cluster_statistics(judged, id, _metrics_of(own.corrected.values())), *own.stats]
        for id, own in trees.items()
    }
    resampled = resample(stats, N_RESAMPLES, np.random.default_rng(SEED))
    intervals: dict[str, Mapping[str, Uncertainty]] = {}
    weights: dict[str, Mapping[str, RankRange]] = {}
    without: dict[str, Mapping[str, LeftOut]] = {}
    for score in SCORES.values():
        own = {id: tree for id, of in trees.items() if (tree := of.corrected.get(score.key)) and tree.units}
        if not score.resampled or not own:
            continue
        among = {id: tree for id, tree in own.items() if id in ranked}
        try:
            intervals[score.key] = _intervals(own, resampled, among, score.lower_is_better)
            weights[score.key], without[score.key] = _moves(among, score.lower_is_better) if among else ({}, {})
        except ScoringError as error:
            judged.problems.append(f"uncertainty of the {score.label.lower()}: {error}")
    return Firmness(intervals, weights, without)


def cluster_statistics(judged: Judged, key: str, wanted: Collection[Key]) -> list[ClusterSums]:
    """Sums by cluster of the `wanted` metrics of a submission that are means over items.

    Items that are lost, or do not give the metric that is stored, leave none and are said in `judged.problems`.
    """
    found: list[ClusterSums] = []
    of_task: dict[str, list[str]] = {}
    for task_name, metric in sorted(wanted):
        of_task.setdefault(task_name, []).append(metric)
    for task in judged.suite.tasks:
        result, kind = judged.ok(key, task.name), KINDS[task.kind]
        metrics = {} if result is None else result.metrics
        scored = {name: metrics[name] for name in of_task.get(task.name, ()) if name in metrics}
        if result is None or not scored or not isinstance(kind, Contributing):
            continue
        items = judged.items(result, "no interval")
        if items is None:
            continue
        place = f"results/{key}/{task.name}: no interval"
        try:
            contributions = {c.metric: c for c in kind.contributions(items, scored)}
        except ValueError as error:
            judged.problems.append(f"{place}: {error}")
            continue
        clusters = _numbered(items.cluster)
        for metric in scored:
            try:
                found.append(_folded(result, metric, contributions.get(metric), clusters))
            except ScoringError as error:
                judged.problems.append(f"{place}: {error}")
    return found


class _Clusters(NamedTuple):
    """The names of clusters, and (k,) which of them each item belongs to."""

    names: tuple[str, ...]
    of_item: NDArray[np.intp]


def _numbered(clusters: Sequence[str]) -> _Clusters:
    """The clusters of items; by hashing, which is faster than sorting all items."""
    names = tuple(sorted(set(clusters)))
    place = {name: number for number, name in enumerate(names)}
    return _Clusters(names, np.array([place[name] for name in clusters], np.intp))


def _folded(result: Result, metric: str, c: Contribution | None, clusters: _Clusters) -> ClusterSums:
    """A metric by cluster.

    Raises:
        ScoringError: the items do not give it, or give another number than the one that is stored and scored.
    """
    if c is None:
        raise ScoringError(f"{metric}: the items do not give it: measure it again")
    names, where = clusters
    sums, counts = (np.bincount(where, of, len(names)).astype(np.float64) for of in (c.sums, c.counts))
    own = ClusterSums(result.task, metric, names, sums, counts, c.power, c.scale)
    stored = result.metrics[metric]
    charged = math.nan if stored.charged is None else stored.charged
    if not math.isclose(own.value, charged, rel_tol=AGREEMENT):
        given = f"the items give {own.value:g}, stored is {charged:g} {stored.unit}".rstrip()
        raise ScoringError(f"{metric}: {given}: measure it again")
    return own


def _metrics_of(trees: Iterable[Node]) -> set[Key]:
    """The metrics that any of the trees contains."""
    return {leaf.key for tree in trees for leaf in tree.leaves}


def _intervals(
    trees: Mapping[str, Node],
    resampled: Mapping[str, Mapping[Key, Float]],
    ranked: Mapping[str, Node],
    lower_is_better: bool,
) -> dict[str, Uncertainty]:
    """By submission. Ranks and groups count what was left out as worst, which the scores and their intervals do not.

    A submission that is not ranked is resampled alone: its runs and test sets may be others, and no other interval
    may depend on them. Those with the same pools are resampled together, which gives the same. Only a submission with
    clusters that no other has (a label set of its own) changes the resamples of all.
    """

    def of(some: Mapping[str, Node], ranked_by: Mapping[str, Node] | None = None) -> dict[str, Uncertainty]:
        units = draw_units(pools(some.values()), N_RESAMPLES, np.random.default_rng(SEED))
        metrics = {
            id: {key: resampled[id][key] for key in _metrics_of([tree]) & resampled[id].keys()}
            for id, tree in some.items()
        }
        return uncertainty(some, metrics, units, lower_is_better=lower_is_better, ranked_by=ranked_by)

    intervals = of(ranked, {id: with_left_out(tree) for id, tree in ranked.items()})
    alike: dict[Hashable, dict[str, Node]] = {}
    for id in sorted(trees.keys() - ranked.keys()):
        alike.setdefault(tuple(pools([trees[id]]).items()), {})[id] = trees[id]
    for some in alike.values():
        for id, alone in of(some).items():
            unknown = alone.rank_interval._replace(low=math.nan, high=math.nan)
            intervals[id] = replace(alone, rank=None, rank_interval=unknown, group=None)
    return dict(sorted(intervals.items()))


def _moves(trees: Mapping[str, Node], lower_is_better: bool) -> tuple[Mapping[str, RankRange], Mapping[str, LeftOut]]:
    """By submission its rank under random weights, and without single tasks; what was left out counts as worst."""
    whole = {key: with_left_out(tree) for key, tree in trees.items()}
    shared = _shared_branches(whole.values())
    rng = np.random.default_rng(SEED)
    drawn = random_weights(whole.values(), N_RESAMPLES, rng, chosen=lambda path, _: path in shared)
    ranges = rank_ranges(whole, drawn, lower_is_better=lower_is_better)
    return ranges, leave_one_out(whole, lower_is_better=lower_is_better)


def _shared_branches(trees: Iterable[Node]) -> set[Path]:
    """The branches whose parts weigh the same in all models. Others keep their weights: label types of a domain of
    which only some models have virials to be held against, or tasks of which they have more columns.
    """
    weights: dict[Path, float] = {}
    branches: set[Path] = set()
    differing: set[Path] = set()
    for tree in trees:
        for path, node in tree.walk():
            branches.add(path)
            for part in node.parts:
                there = weights.setdefault((*path, part.name), part.weight)
                if there != part.weight and not math.isclose(there, part.weight):
                    differing.add(path)
    return branches - differing
