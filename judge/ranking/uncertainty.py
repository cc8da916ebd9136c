"""How far scores and ranks may move: intervals from the items of every result, and ranks under other weights."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from judge.ranking.cluster_statistics import N_RESAMPLES, SEED, ClusterStatistics
from judge.ranking.interval_cache import IntervalCache, NodeNames, packed, unpacked
from judge.ranking.leaderboard import Robustness
from judge.ranking.rank_moves import begun_moves
from judge.ranking.score_inputs import Judged
from judge.ranking.score_trees import ScoredTree
from judge.ranking.submission_scores import SubmissionScores
from scoring import Node, ScoringError
from scoring.bootstrap import ItemDraws, Pools, pools
from scoring.intervals import ResampledScore, Uncertainty, resampled_scores
from scoring.names import LAMBENCH, SCORES, ScoreName
from scoring.order import PairOrder, pair_order, with_ranks
from scoring.robustness import LeftOut, RankRange
from scoring.set_spread import draw_sets
from scoring.tree import with_left_out


def robustness(
    judged: Judged, scores: Mapping[str, SubmissionScores], ranked: Collection[str], cache: IntervalCache
) -> Robustness:
    """Intervals of every score, and how ranks move.

    A metric that cannot be resampled is left out, with a line in `judged.problems`.

    Args:
        scores: by submission.
        ranked: the submissions that have ranks.
    """
    statistics = ClusterStatistics(judged, scores, cache)
    scored = {
        key: {id: tree for id, each in scores.items() if (tree := each.trees.get(key)) and tree.shape.has_units}
        for key, score in SCORES.items()
        if score.resampled
    }
    scored = {key: trees for key, trees in scored.items() if trees}
    placed = {key: {id: tree for id, tree in trees.items() if id in ranked} for key, trees in scored.items()}
    intervals: dict[str, Mapping[str, Uncertainty]] = {}
    orders: dict[str, PairOrder] = {}
    with begun_moves({key: trees for key, trees in placed.items() if trees}, cache) as moves:
        for key, trees in scored.items():
            with _reported(judged, key):
                drawn = _resampled(trees, placed[key], statistics, cache, has_tasks=SCORES[key].scheme == LAMBENCH)
                of_ranked = {id: drawn[id] for id in placed[key]}
                ranks = with_ranks(of_ranked, lower_is_better=SCORES[key].lower_is_better)
                intervals[key] = {id: drawn[id].uncertainty for id in sorted(trees)} | ranks
                orders |= _task_orders(drawn, SCORES[key])
        weights: dict[str, Mapping[str, RankRange]] = {key: {} for key in intervals}
        without: dict[str, Mapping[str, LeftOut]] = {key: {} for key in intervals}
        for key in (key for key in intervals if placed[key]):
            with _reported(judged, key):
                weights[key], without[key] = moves(key)
    return Robustness(intervals, weights, without, orders)


@contextmanager
def _reported(judged: Judged, score: str) -> Iterator[None]:
    """Adds a line to `judged.problems` if the uncertainty of a score cannot be computed."""
    try:
        yield
    except ScoringError as error:
        judged.problems.append(f"uncertainty of the {SCORES[score].label.lower()}: {error}")


def _resampled(
    trees: Mapping[str, ScoredTree],
    ranked: Mapping[str, ScoredTree],
    statistics: ClusterStatistics,
    cache: IntervalCache,
    *,
    has_tasks: bool,
) -> dict[str, ResampledScore]:
    """By submission, a score on the resamples. What was left out counts as worst in ranks, not in the intervals.

    A submission that is not ranked is resampled apart: it may have other runs and test sets, and no other interval may
    depend on them. Only a submission with clusters that no other has (as with another label set) changes the resamples
    of all.

    Args:
        has_tasks: whether the units of the score are tasks that have an order of their own.
    """
    names = {shape: NodeNames.of(tree.node()) for shape, tree in _of_each_shape(trees.values()).items()}
    shared = pools([tree.node() for tree in _of_each_shape(ranked.values()).values()])
    scores: dict[str, ResampledScore] = {}
    keys: dict[str, str | None] = {}
    missing: dict[tuple[bool, str], tuple[Pools, dict[str, Node]]] = {}
    for id in sorted(trees):
        tree = trees[id]
        keys[id] = key = statistics.key(id, tree, list(shared.items()) if id in ranked else None)
        if key and (entry := cache.get(key)):
            scores[id] = unpacked(entry, names[tree.shape.name])
        else:
            units: Pools = shared if id in ranked else pools([tree.node()])
            missing.setdefault((id in ranked, repr(units)), (units, {}))[1][id] = tree.node()
    for (is_ranked, _), (units, group) in missing.items():
        raw, relative = statistics.resampled(group), statistics.relative(group)
        draws = ItemDraws(
            *(
                {
                    id: statistics.counted(id, {leaf.key: drawn[leaf.key] for leaf in tree.leaves if leaf.key in drawn})
                    for id, tree in group.items()
                    for drawn in [{**of_raw[id], **of_relative[id]}]
                }
                for of_raw, of_relative in zip(raw, relative, strict=True)
            )
        )
        sets = draw_sets(units, N_RESAMPLES, np.random.default_rng(SEED))
        by_worst = {id: with_left_out(tree) for id, tree in group.items()} if is_ranked else None
        independent = {id: statistics.independent(id) for id in group}
        scores |= resampled_scores(group, draws, sets, by_worst, independent, raw.values)
        for id in group:
            if not has_tasks:
                scores[id] = scores[id]._replace(units={})
            if key := keys[id]:
                cache.put(key, packed(scores[id], names[trees[id].shape.name]))
    return {id: _with_key(score, keys[id]) for id, score in scores.items()}


def _task_orders(drawn: Mapping[str, ResampledScore], score: ScoreName) -> dict[str, PairOrder]:
    """By task of a score, which submission is better than which; each task is in one of LAMBench's scores."""
    tasks = sorted({task for of_submission in drawn.values() for task in of_submission.units})
    by_task = {task: {id: one.units[task] for id, one in drawn.items() if task in one.units} for task in tasks}
    return {task: pair_order(units, lower_is_better=score.lower_is_better) for task, units in by_task.items()}


def _with_key(score: ResampledScore, key: str | None) -> ResampledScore:
    return score if key is None else score._replace(uncertainty=replace(score.uncertainty, made_from=key))


def _of_each_shape(trees: Iterable[ScoredTree]) -> dict[str, ScoredTree]:
    """By shape, one of the trees that have it."""
    return {tree.shape.name: tree for tree in trees}
