"""How ranks move under other weights and without single tasks, computed beside the intervals of the scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import numpy as np

from judge.parallel import in_background
from judge.ranking.cluster_statistics import N_RESAMPLES, SEED
from judge.ranking.interval_cache import IntervalCache, key_of
from judge.ranking.score_trees import ScoredTree
from scoring import ScoringError
from scoring.names import SCORES
from scoring.robustness import LeftOut, RankRange, leave_one_out, random_weights, rank_ranges
from scoring.tree import with_left_out


@contextmanager
def begun_moves(
    placed: Mapping[str, Mapping[str, ScoredTree]], cache: IntervalCache
) -> Iterator[Callable[[], Mapping[str, bytes | ScoringError]]]:
    """A function that returns, by score, how ranks move; what the cache lacks is computed in another process meanwhile.

    Args:
        placed: by score and submission, the trees of those that are ranked.
    """
    keys = {
        score: key_of("moves", SCORES[score].lower_is_better, {id: tree.digest for id, tree in sorted(trees.items())})
        for score, trees in placed.items()
        if trees
    }
    missing = {score: placed[score] for score, key in keys.items() if not cache.get(key)}

    def entries() -> dict[str, bytes | ScoringError]:
        made = finish()
        for score, entry in made.items():
            if isinstance(entry, bytes):
                cache.put(keys[score], entry)
        return {score: made.get(score) or cache.get(key) for score, key in keys.items()}

    with in_background(partial(_moves, missing), sum(map(len, missing.values()))) as finish:
        yield entries


def _moves(missing: Mapping[str, Mapping[str, ScoredTree]]) -> dict[str, bytes | ScoringError]:
    """By score, the ranks of submissions under random weights and without single tasks, as `unpacked_moves` reads
    them; what was left out counts as worst. An error that one score raises is its value.
    """
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


def unpacked_moves(entry: bytes | ScoringError) -> tuple[dict[str, RankRange], dict[str, LeftOut]]:
    """The ranks in an entry of `_moves`.

    Raises:
        ScoringError: the entry is this error.
    """
    if isinstance(entry, ScoringError):
        raise entry
    ranges, left_out = json.loads(entry)
    return (
        {id: RankRange(*values) for id, values in ranges.items()},
        {id: LeftOut(rank, without, tuple(decisive)) for id, (rank, without, decisive) in left_out.items()},
    )
