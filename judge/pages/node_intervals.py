"""The intervals of domains and tasks within scores, which the ranking loads when a reader adds such a column."""

from __future__ import annotations

import json
from collections.abc import Iterator

from judge.ranking.leaderboard import Leaderboard
from judge.view.score_display import known, uncertainty_of
from scoring import Node
from scoring.intervals import Interval
from scoring.names import SCORES
from scoring.tree import Path

Ends = tuple[float, float] | None


def node_intervals_file(board: Leaderboard) -> bytes:
    """The file: by score and model, `parts` has the interval of each part of the score, `leaves` that of each leaf.

    Leaves are in the order of `leaderboard.json`. An interval that is unknown is null.
    """
    scores: dict[str, dict[str, object]] = {}
    for key in SCORES:
        for row in board.rows:
            uncertainty, term = uncertainty_of(board, key, row), row.scores.get(key)
            if uncertainty is None or term is None:
                continue
            nodes, top = uncertainty.nodes, term.node
            parts = {part.name: _ends(nodes.get((top.name, part.name))) for part in top.parts}
            leaves = [_ends(nodes.get(path)) for path in _leaf_paths(top, ())]
            scores.setdefault(key, {})[row.submission.id] = {"parts": parts, "leaves": leaves}
    return json.dumps(scores, separators=(",", ":")).encode()


def _ends(interval: Interval | None) -> Ends:
    ends = known(interval)
    return None if ends is None or ends.high == float("inf") else (ends.low, ends.high)


def _leaf_paths(node: Node, above: Path) -> Iterator[Path]:
    """The paths of all leaves, from the first to the last."""
    here = (*above, node.name)
    if node.leaf is not None:
        yield here
    for part in node.parts:
        yield from _leaf_paths(part, here)
