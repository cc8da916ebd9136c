"""The intervals of domains and tasks within scores, which the ranking loads when a reader adds such a column."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from judge.ranking.leaderboard import Leaderboard
from judge.view.leaderboard_schema import LeaderboardFile, NodeFile
from judge.view.score_display import known, uncertainty_of
from scoring.intervals import Interval
from scoring.names import SCORES, Variant
from scoring.tree import Path


def node_intervals_file(board: Leaderboard, file: LeaderboardFile) -> bytes:
    """The file: by score and model, `parts` has the interval of each part of the score, `leaves` that of each leaf.

    Leaves are in the order of `leaderboard.json`. An interval is its ends, and how many parts could not be resampled.
    One that is unknown is null.

    Args:
        file: of the same board.
    """
    corrected = [
        score for scheme in file.schemes if scheme.variant == Variant.CORRECTED.value for score in scheme.scores
    ]
    by_key = {score.key: score for score in corrected}
    scores: dict[str, dict[str, object]] = {}
    for key in SCORES:
        trees = [_Paths.of(tree) for tree in by_key[key].trees] if key in by_key else []
        for row in board.rows if trees else ():
            uncertainty, values = uncertainty_of(board, key, row), by_key[key].models.get(row.submission.id)
            if uncertainty is None or values is None:
                continue
            nodes, paths = uncertainty.nodes, trees[values.tree]
            parts = {path[-1]: finite(nodes.get(path)) for path in paths.parts}
            leaves = [finite(nodes.get(path)) for path in paths.leaves]
            scores.setdefault(key, {})[row.submission.id] = {"parts": parts, "leaves": leaves}
    return json.dumps(scores, separators=(",", ":")).encode()


class _Paths(NamedTuple):
    """The paths of the parts of a tree, and those of all leaves, from the first to the last."""

    parts: Sequence[Path]
    leaves: Sequence[Path]

    @classmethod
    def of(cls, tree: NodeFile) -> _Paths:
        return cls([(tree.name, part.name) for part in tree.parts], list(_leaf_paths(tree, ())))


def finite(interval: Interval | None) -> Interval | None:
    """The interval; None if it is unknown or has no finite end."""
    ends = known(interval)
    return None if ends is None or ends.high == float("inf") else ends


def _leaf_paths(node: NodeFile, above: Path) -> Iterator[Path]:
    """The paths of all leaves, from the first to the last."""
    here = (*above, node.name)
    if node.leaf is not None:
        yield here
    for part in node.parts:
        yield from _leaf_paths(part, here)
