"""How ranks move under other weights and without single tasks, computed beside the intervals of the scores."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from judge.parallel import in_background
from judge.ranking.cluster_statistics import N_RESAMPLES, SEED
from judge.ranking.interval_cache import IntervalCache, key_of
from judge.ranking.score_trees import ScoredTree
from scoring import ScoringError
from scoring.names import SCORES
from scoring.robustness import LeftOut, RankRange, leave_one_out, random_weights, rank_ranges
from scoring.tree import with_left_out

Moves = tuple[Mapping[str, RankRange], Mapping[str, LeftOut]]
"""By submission, its ranks under random weights, and those without single tasks."""


@contextmanager
def begun_moves(
    placed: Mapping[str, Mapping[str, ScoredTree]], cache: IntervalCache
) -> Iterator[Callable[[str], Moves]]:
    """A function from a score to how ranks move by it; it raises ScoringError. What the cache lacks is computed in
    another process, which has begun.

    Args:
        placed: by score and submission, the trees of those that are ranked; at least one of each score.
    """
    keys = {
        score: key_of("moves", SCORES[score].lower_is_better, {id: tree.digest for id, tree in sorted(trees.items())})
        for score, trees in placed.items()
    }
    missing = {score: placed[score] for score, key in keys.items() if not cache.get(key)}
    with in_background(functools.partial(_entries, missing), sum(map(len, missing.values()))) as finish:
        made = functools.cache(finish)

        def moves(score: str) -> Moves:
            entry = made()[score] if score in missing else cache.get(keys[score])
            if isinstance(entry, ScoringError):
                raise entry
            cache.put(keys[score], entry)
            return _unpacked(entry)

        yield moves


def _entries(missing: Mapping[str, Mapping[str, ScoredTree]]) -> dict[str, bytes | ScoringError]:
    """By score, an entry of the cache, or the error that the score raises; what was left out counts as worst."""
    made: dict[str, bytes | ScoringError] = {}
    for score, trees in missing.items():
        lower_is_better = SCORES[score].lower_is_better
        whole = {id: with_left_out(tree.node()) for id, tree in trees.items()}
        shapes = {tree.shape: tree for tree in whole.values()}.values()
        try:
            drawn = random_weights(shapes, N_RESAMPLES, np.random.default_rng(SEED))
            ranges = rank_ranges(whole, drawn, lower_is_better=lower_is_better)
            left_out = leave_one_out(whole, lower_is_better=lower_is_better)
        except ScoringError as error:
            made[score] = error
            continue
        data = [ranges, {id: (each.rank, each.without, each.decisive) for id, each in left_out.items()}]
        made[score] = json.dumps(data).encode()
    return made


def _unpacked(entry: bytes) -> Moves:
    ranges, left_out = json.loads(entry)
    return (
        {id: RankRange(*values) for id, values in ranges.items()},
        {id: LeftOut(rank, without, tuple(decisive)) for id, (rank, without, decisive) in left_out.items()},
    )
