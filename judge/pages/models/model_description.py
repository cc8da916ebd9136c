"""One sentence about a model, which search engines and previews of links show."""

from __future__ import annotations

from judge.figures.names import shortened
from judge.figures.radar import errors_of
from judge.ranking.leaderboard import Row
from judge.view import formatting
from judge.view.page_context import Frame
from scoring.names import SCORES

LONGEST_NAME = 60


def model_description(frame: Frame, row: Row) -> str:
    """Name, rank, error scores and the domain with the smallest error of a model."""
    card, board = row.submission.card, frame.board
    place = "a reference without a rank" if row.reference else "not ranked"
    if row.rank is not None:
        place = f"rank {row.rank} of {len(board.ranked)}"
    name = shortened(f"{card.name} {card.version}".strip(), LONGEST_NAME)
    sentences = [f"{name}, a machine-learning interatomic potential: {place} in {board.suite.title}."]
    known = {spoke: error for spoke, error in errors_of(row).items() if error is not None}
    totals = [
        f"{SCORES[key].label.lower()} {formatting.decimals(row.scores[key].value)}"
        for key in dict.fromkeys(spoke.score for spoke in known)
        if row.scores[key].value is not None
    ]
    if totals:
        sentences.append(f"{', '.join(totals).capitalize()}.")
    if len(known) > 1:
        best = min(known, key=lambda spoke: known[spoke])
        sentences.append(f"The smallest error is {formatting.decimals(known[best])}, in {best.domain}.")
    return " ".join(sentences)
