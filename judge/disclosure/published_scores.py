"""The scores that a manifest states, and the results that they are computed from."""

from __future__ import annotations

from judge.disclosure.redaction import public_score
from judge.ranking.leaderboard import Leaderboard
from judge.records.manifest import ManifestScores
from judge.records.records import Result
from scoring.names import LAMBENCH, of_scheme


def published_scores(board: Leaderboard) -> dict[str, ManifestScores]:
    """The scores of every submission on the board, with the digits of the pages: more digits could encode answers."""
    return {
        row.submission.id: ManifestScores(
            **{key: public_score(key, row.scores[key].value) for key in of_scheme(LAMBENCH)}, rank=row.rank
        )
        for row in sorted(board.rows, key=lambda row: row.submission.id)
    }


def shown_results(board: Leaderboard) -> list[Result]:
    """All results on the board."""
    return [line.result for row in board.rows for line in row.tasks if line.result is not None]
