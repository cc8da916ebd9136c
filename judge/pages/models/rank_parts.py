"""The parts of a model's page that change with the ranks of others: they are drawn apart, so that a new rank does not
have all models' pages drawn again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from markupsafe import Markup

from judge.pages.models.model_description import model_description
from judge.ranking.leaderboard import Row
from judge.view.page_context import Frame
from judge.view.related_submissions import Related
from judge.view.score_display import RankStatus

MARK = Markup("<!-- rank -->")


class RankParts(NamedTuple):
    """The parts in their order in the page, each between two marks.

    Args:
        about: the description in the page's head.
        line: the rank in words.
        ranks: of the versions in the page's table, by submission.
    """

    about: Markup
    line: Markup
    ranks: Mapping[str, str]


def rank_parts(frame: Frame, row: Row, related: Related) -> RankParts:
    """The parts for the page of a model."""
    status = frame.rank_statuses.get(row.submission.id, RankStatus())
    description = model_description(frame, row)
    drawn = frame.draw("rank_parts.html", row.page, row=row, rank_status=status, description=description, mark=MARK)
    about, line = drawn.decode().strip().split(f"\n{MARK}\n")
    ranks = {id: str(rank or "–") for id, rank in version_ranks(related).items()}
    return RankParts(Markup(about), Markup(line), ranks)


def with_rank_parts(page: bytes, new: RankParts) -> bytes:
    """The page of a model with these parts in place of earlier ones."""
    parts = page.split(MARK.encode())
    parts[1::2] = [part.encode() for part in (new.about, new.line, *new.ranks.values())]
    return MARK.encode().join(parts)


def version_ranks(related: Related) -> dict[str, int | None]:
    """The ranks in the table of versions, by submission."""
    several = related.versions if len(related.versions) > 1 else ()
    return {version.submission.id: version.row.rank for version in several if version.row is not None}
