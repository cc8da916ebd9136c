"""What a board shows, as a manifest states it: the scores, and of which results they are."""

from __future__ import annotations

import math

from judge.disclosure.redaction import public_score
from judge.ranking.leaderboard import Leaderboard
from judge.records.manifest import ManifestScores
from judge.records.records import Result
from scoring.names import LAMBENCH, of_scheme


def published_scores(board: Leaderboard) -> dict[str, ManifestScores]:
    """The scores of every submission on the board, cut as on the pages: in more digits answers could be hidden."""
    return {
        row.submission.id: ManifestScores(
            **{key: _score(key, row.scores[key].value) for key in of_scheme(LAMBENCH)}, rank=row.rank
        )
        for row in sorted(board.rows, key=lambda row: row.submission.id)
    }


def _score(key: str, value: float | None) -> float | None:
    """JSON has no infinity: a score that is not finite is absent."""
    return public_score(key, value) if value is not None and math.isfinite(value) else None


def shown_results(board: Leaderboard) -> list[Result]:
    """All results that the board shows."""
    return [line.result for row in board.rows for line in row.tasks if line.result is not None]
