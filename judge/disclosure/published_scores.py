"""What a board shows, as a manifest states it: the scores, and of which results they are."""

from __future__ import annotations

from judge.disclosure.redaction import EFFICIENCY, public_score
from judge.ranking.leaderboard import Leaderboard
from judge.records.manifest import PublishedScores
from judge.records.records import Result
from scoring import Term


def published_scores(board: Leaderboard) -> dict[str, PublishedScores]:
    """The scores of every submission on the board, cut as on the pages: in more digits answers could be hidden."""
    return {
        row.submission.id: PublishedScores(
            force_field=_score("force_field", row.scores.force_field),
            property_error=_score("property_error", row.scores.property_error),
            efficiency=_score(EFFICIENCY, row.scores.efficiency),
            instability=_score("instability", row.scores.stability),
            rank=row.rank,
        )
        for row in sorted(board.rows, key=lambda row: row.submission.id)
    }


def _score(name: str, term: Term) -> float | None:
    """JSON has no infinity: a score that is none is absent."""
    return public_score(name, term.value) if term.value is not None and abs(term.value) < float("inf") else None


def shown_results(board: Leaderboard) -> list[Result]:
    """All results that the board shows."""
    return [line.result for row in board.rows for line in row.tasks if line.result is not None]
