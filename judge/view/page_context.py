"""The data that all pages share, and the drawing of one page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jinja2 import Environment

from judge.ranking.leaderboard import Leaderboard
from judge.ranking.references import ReferenceRow, computed_references, judged_references
from judge.view import score_display
from judge.view.assets import Assets, assets
from judge.view.columns import Column, columns_of
from judge.view.jinja import environment
from judge.view.leaderboard_export import leaderboard_file
from judge.view.leaderboard_schema import LeaderboardFile
from judge.view.score_display import RankStatus
from judge.view.sources import Sources


@dataclass(frozen=True)
class Frame:
    """The data that all pages share.

    Args:
        board: the public board (`judge.disclosure.public_leaderboard`). Pages never see the stored one.
        file: the content of `leaderboard.json`; `data` is the same as bytes.
        columns: the scores for which the suite has tasks.
        rank_statuses: the status of each ranked model, by submission.
        references: rows without a rank: submissions for comparison, and rows without a submission.
    """

    board: Leaderboard
    sources: Sources
    file: LeaderboardFile
    data: bytes
    assets: Assets
    columns: tuple[Column, ...]
    rank_statuses: Mapping[str, RankStatus]
    references: tuple[ReferenceRow, ...]
    templates: Environment

    @property
    def keys(self) -> list[str]:
        """The keys of the columns."""
        return [column.key for column in self.columns]

    def draw(self, template: str, path: str, **variables: object) -> bytes:
        """The page at `path` in the site.

        Args:
            variables: more variables for the template, beside those of all pages.
        """
        shared = {
            "assets": self.assets.names,
            "board": self.board,
            "columns": self.columns,
            "interval_of": score_display.score_interval,
            "path": path,
            "published_words": score_display.published_words(self.board.published),
            "root": "../" * path.count("/"),
            "sources": self.sources,
        }
        return self.templates.get_template(template).render(shared, **variables).encode()


def frame(board: Leaderboard, sources: Sources) -> Frame:
    """The frame of a public board."""
    computed = computed_references(board)
    file = leaderboard_file(board, sources, computed)
    data = file.model_dump_json(exclude_defaults=True).encode() + b"\n"
    columns = columns_of(board)
    rank_statuses = score_display.rank_statuses(board, [column.key for column in columns])
    references = (*judged_references(board), *computed)
    return Frame(board, sources, file, data, assets(data), columns, rank_statuses, references, environment())
