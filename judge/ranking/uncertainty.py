"""How far scores and ranks may move: intervals from the items of every result, and ranks under other weights."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judge.ranking.leaderboard import Robustness
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
"""The largest relative difference between a metric computed from the items and the stored one."""


def robustness(judged: Judged, trees: Mapping[str, ScoreTrees], ranked: Collection[str]) -> Robustness:
    """Intervals of every score, and how ranks move.

    A metric that cannot be resampled is left out, with a line in `judged.problems`.

    Args:
        trees: by submission.
        ranked: the submissions that have ranks.
    """
    stats = {
        id: [*cluster_statistics(judged, id, _metrics_of(scores.corrected.values())), *scores.stats]
        for id, scores in trees.items()
    }
    resampled = resample(stats, N_RESAMPLES, np.random.default_rng(SEED))
    intervals: dict[str, Mapping[str, Uncertainty]] = {}
    weights: dict[str, Mapping[str, RankRange]] = {}
    without: dict[str, Mapping[str, LeftOut]] = {}
    for score in SCORES.values():
        scored = {id: tree for id, scores in trees.items() if (tree := scores.corrected.get(score.key)) and tree.units}
        if not score.resampled or not scored:
            continue
        placed = {id: tree for id, tree in scored.items() if id in ranked}
        try:
            intervals[score.key] = _intervals(scored, resampled, placed, score.lower_is_better)
            weights[score.key], without[score.key] = _moves(placed, score.lower_is_better) if placed else ({}, {})
        except ScoringError as error:
            judged.problems.append(f"uncertainty of the {score.label.lower()}: {error}")
    return Robustness(intervals, weights, without)


def cluster_statistics(judged: Judged, key: str, wanted: Collection[Key]) -> list[ClusterSums]:
    """Sums by cluster of the `wanted` metrics of a submission that are means over items.

    A metric is left out, with a line in `judged.problems`, if its items cannot be read or do not give the stored value.
    """
    statistics: list[ClusterSums] = []
    by_task: dict[str, list[str]] = {}
    for task_name, metric in sorted(wanted):
        by_task.setdefault(task_name, []).append(metric)
    for task in judged.suite.tasks:
        result, kind = judged.ok(key, task.name), KINDS[task.kind]
        metrics = {} if result is None else result.metrics
        scored = {name: metrics[name] for name in by_task.get(task.name, ()) if name in metrics}
        if result is None or not scored or not isinstance(kind, Contributing):
            continue
        items = judged.items(result, "no interval")
        if items is None:
            continue
        where = f"results/{key}/{task.name}: no interval"
        try:
            contributions = {c.metric: c for c in kind.contributions(items, scored)}
        except ValueError as error:
            judged.problems.append(f"{where}: {error}")
            continue
        clusters = _numbered(items.cluster)
        for metric in scored:
            try:
                statistics.append(_by_cluster(result, metric, contributions.get(metric), clusters))
            except ScoringError as error:
                judged.problems.append(f"{where}: {error}")
    return statistics


class _Clusters(NamedTuple):
    """The names of clusters, and (k,) the number of each item's cluster among them."""

    names: tuple[str, ...]
    of_items: NDArray[np.intp]


def _numbered(clusters: Sequence[str]) -> _Clusters:
    """The clusters of items; by hashing, which is faster than sorting all items."""
    names = tuple(sorted(set(clusters)))
    number = {name: i for i, name in enumerate(names)}
    return _Clusters(names, np.array([number[name] for name in clusters], np.intp))


def _by_cluster(result: Result, metric: str, c: Contribution | None, clusters: _Clusters) -> ClusterSums:
    """The sums of a metric by cluster.

    Raises:
        ScoringError: the items do not give the metric, or give another value than the stored one.
    """
    if c is None:
        raise ScoringError(f"{metric}: the items do not give it: measure it again")
    names, numbers = clusters
    sums, counts = (np.bincount(numbers, values, len(names)).astype(np.float64) for values in (c.sums, c.counts))
    cluster_sums = ClusterSums(result.task, metric, names, sums, counts, c.power, c.scale)
    stored = result.metrics[metric]
    charged = math.nan if stored.charged is None else stored.charged
    if not math.isclose(cluster_sums.value, charged, rel_tol=AGREEMENT):
        values = f"the items give {cluster_sums.value:g}, stored is {charged:g} {stored.unit}".rstrip()
        raise ScoringError(f"{metric}: {values}: measure it again")
    return cluster_sums


def _metrics_of(trees: Iterable[Node]) -> set[Key]:
    """The metrics that any of the trees contains."""
    return {leaf.key for tree in trees for leaf in tree.leaves}


def _intervals(
    trees: Mapping[str, Node],
    resampled: Mapping[str, Mapping[Key, Float]],
    ranked: Mapping[str, Node],
    lower_is_better: bool,
) -> dict[str, Uncertainty]:
    """The uncertainty by submission. What was left out counts as worst in ranks and groups, not in the intervals.

    A submission that is not ranked is resampled apart: it may have other runs and test sets, and no other interval may
    depend on them. Those with the same pools are resampled together, which gives the same numbers. Only a submission
    with clusters that no other has (as with another label set) changes the resamples of all.
    """

    def together(group: Mapping[str, Node], ranked_by: Mapping[str, Node] | None = None) -> dict[str, Uncertainty]:
        units = draw_units(pools(group.values()), N_RESAMPLES, np.random.default_rng(SEED))
        metrics = {
            id: {key: resampled[id][key] for key in _metrics_of([tree]) & resampled[id].keys()}
            for id, tree in group.items()
        }
        return uncertainty(group, metrics, units, lower_is_better=lower_is_better, ranked_by=ranked_by)

    intervals = together(ranked, {id: with_left_out(tree) for id, tree in ranked.items()})
    by_pools: dict[Hashable, dict[str, Node]] = {}
    for id in sorted(trees.keys() - ranked.keys()):
        by_pools.setdefault(tuple(pools([trees[id]]).items()), {})[id] = trees[id]
    for group in by_pools.values():
        for id, unranked in together(group).items():
            unknown = unranked.rank_interval._replace(low=math.nan, high=math.nan)
            intervals[id] = replace(unranked, rank=None, rank_interval=unknown, group=None)
    return dict(sorted(intervals.items()))


def _moves(trees: Mapping[str, Node], lower_is_better: bool) -> tuple[Mapping[str, RankRange], Mapping[str, LeftOut]]:
    """By submission, its ranks under random weights and without single tasks; what was left out counts as worst."""
    whole = {key: with_left_out(tree) for key, tree in trees.items()}
    shared = _shared_branches(whole.values())
    rng = np.random.default_rng(SEED)
    drawn = random_weights(whole.values(), N_RESAMPLES, rng, chosen=lambda path, _: path in shared)
    ranges = rank_ranges(whole, drawn, lower_is_better=lower_is_better)
    return ranges, leave_one_out(whole, lower_is_better=lower_is_better)


def _shared_branches(trees: Iterable[Node]) -> set[Path]:
    """The branches whose parts weigh the same in all models; others keep their weights.

    The weights differ if only some models have virials in a domain, or more columns in a task.
    """
    weights: dict[Path, float] = {}
    branches: set[Path] = set()
    differing: set[Path] = set()
    for tree in trees:
        for path, node in tree.walk():
            branches.add(path)
            for part in node.parts:
                weight = weights.setdefault((*path, part.name), part.weight)
                if weight != part.weight and not math.isclose(weight, part.weight):
                    differing.add(path)
    return branches - differing
