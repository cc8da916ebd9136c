"""How far scores and ranks may move: intervals from the items of every result, and ranks under other weights."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from judge.ranking.cluster_statistics import N_RESAMPLES, SEED, ClusterStatistics
from judge.ranking.interval_cache import IntervalCache, NodeNames, key_of, packed, unpacked
from judge.ranking.leaderboard import Robustness
from judge.ranking.score_inputs import Judged
from judge.ranking.score_trees import ScoredTree
from judge.ranking.submission_scores import SubmissionScores
from scoring import Node, ScoringError
from scoring.bootstrap import Pools, draw_units, pools
from scoring.intervals import ResampledScore, Uncertainty, resampled_scores, with_ranks
from scoring.names import SCORES
from scoring.robustness import LeftOut, RankRange, leave_one_out, random_weights, rank_ranges
from scoring.tree import with_left_out

Moves = tuple[Mapping[str, RankRange], Mapping[str, LeftOut]]


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
    intervals: dict[str, Mapping[str, Uncertainty]] = {}
    weights: dict[str, Mapping[str, RankRange]] = {}
    without: dict[str, Mapping[str, LeftOut]] = {}
    for score in SCORES.values():
        scored = {
            id: tree for id, each in scores.items() if (tree := each.trees.get(score.key)) and tree.shape.has_units
        }
        if not score.resampled or not scored:
            continue
        placed = {id: tree for id, tree in scored.items() if id in ranked}
        try:
            drawn = _resampled(scored, placed, statistics, cache)
            ranks = with_ranks({id: drawn[id] for id in placed}, lower_is_better=score.lower_is_better)
            intervals[score.key] = {id: drawn[id].uncertainty for id in sorted(scored)} | ranks
            weights[score.key], without[score.key] = (
                _moves(placed, score.lower_is_better, cache) if placed else ({}, {})
            )
        except ScoringError as error:
            judged.problems.append(f"uncertainty of the {score.label.lower()}: {error}")
    return Robustness(intervals, weights, without)


def _resampled(
    trees: Mapping[str, ScoredTree],
    ranked: Mapping[str, ScoredTree],
    statistics: ClusterStatistics,
    cache: IntervalCache,
) -> dict[str, ResampledScore]:
    """By submission, a score on the resamples. What was left out counts as worst in ranks, not in the intervals.

    A submission that is not ranked is resampled apart: it may have other runs and test sets, and no other interval may
    depend on them. Only a submission with clusters that no other has (as with another label set) changes the resamples
    of all.
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
        metrics = {
            id: statistics.counted(id, {leaf.key: drawn[leaf.key] for leaf in tree.leaves if leaf.key in drawn})
            for id, tree in group.items()
            for drawn in [{**raw[id], **relative[id]}]
        }
        drawn = draw_units(units, N_RESAMPLES, np.random.default_rng(SEED))
        by_worst = {id: with_left_out(tree) for id, tree in group.items()} if is_ranked else None
        independent = {id: statistics.independent(id) for id in group}
        scores |= resampled_scores(group, metrics, drawn, by_worst, independent, raw)
        for id in group:
            if key := keys[id]:
                cache.put(key, packed(scores[id]))
    return {id: _with_key(score, keys[id]) for id, score in scores.items()}


def _with_key(score: ResampledScore, key: str | None) -> ResampledScore:
    return score if key is None else score._replace(uncertainty=replace(score.uncertainty, made_from=key))


def _moves(trees: Mapping[str, ScoredTree], lower_is_better: bool, cache: IntervalCache) -> Moves:
    """By submission, its ranks under random weights and without single tasks; what was left out counts as worst."""
    key = key_of("moves", lower_is_better, {id: tree.digest for id, tree in sorted(trees.items())})
    if entry := cache.get(key):
        ranges, left_out = json.loads(entry)
        return (
            {id: RankRange(*values) for id, values in ranges.items()},
            {id: LeftOut(rank, without, tuple(decisive)) for id, (rank, without, decisive) in left_out.items()},
        )
    whole = {key: with_left_out(tree.node()) for key, tree in trees.items()}
    shapes = {tree.shape: tree for tree in whole.values()}.values()
    drawn = random_weights(shapes, N_RESAMPLES, np.random.default_rng(SEED))
    ranges = rank_ranges(whole, drawn, lower_is_better=lower_is_better)
    left_out = leave_one_out(whole, lower_is_better=lower_is_better)
    data = [ranges, {id: (each.rank, each.without, each.decisive) for id, each in left_out.items()}]
    cache.put(key, json.dumps(data).encode())
    return ranges, left_out


def _of_each_shape(trees: Iterable[ScoredTree]) -> dict[str, ScoredTree]:
    """By shape, one of the trees that have it."""
    return {tree.shape.name: tree for tree in trees}
