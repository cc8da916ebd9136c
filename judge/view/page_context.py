"""The data that all pages share, and the drawing of one page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from jinja2 import Environment

from judge.ranking.leaderboard import Leaderboard
from judge.ranking.references import ReferenceRow, computed_references, judged_references
from judge.view import score_display
from judge.view.assets import Assets, assets, hashed
from judge.view.columns import Column, columns_of
from judge.view.earlier_pages import EarlierPages
from judge.view.jinja import environment
from judge.view.leaderboard_export import leaderboard_file
from judge.view.leaderboard_schema import FILE, LeaderboardFile
from judge.view.related_submissions import Submissions
from judge.view.score_display import RankStatus
from judge.view.sources import Sources


@dataclass(frozen=True)
class Frame:
    """The data that all pages share. What only some pages need is computed at its first use.

    Args:
        board: the public board (`judge.disclosure.public_leaderboard`). Pages never see the stored one.
        columns: the scores for which the suite has tasks.
        rank_statuses: the status of each ranked model, by submission.
        earlier: the pages of the last build; None: they are not used, and the inputs of pages are not remembered.
    """

    board: Leaderboard
    sources: Sources
    assets: Assets
    columns: tuple[Column, ...]
    rank_statuses: Mapping[str, RankStatus]
    templates: Environment
    earlier: EarlierPages | None

    @property
    def keys(self) -> list[str]:
        """The keys of the columns."""
        return [column.key for column in self.columns]

    @cached_property
    def references(self) -> tuple[ReferenceRow, ...]:
        """Rows without a rank: submissions for comparison, and rows without a submission."""
        return (*judged_references(self.board), *self._computed)

    @cached_property
    def _computed(self) -> tuple[ReferenceRow, ...]:
        return tuple(computed_references(self.board))

    @cached_property
    def twins(self) -> frozenset[str]:
        """IDs of submissions whose name looks like that of another team's: their ID stands beside the name."""
        return Submissions(self.board).twins()

    @cached_property
    def file(self) -> LeaderboardFile:
        """The content of `leaderboard.json`."""
        return leaderboard_file(self.board, self.sources, self._computed)

    @cached_property
    def data(self) -> bytes:
        """`leaderboard.json`."""
        return self.file.model_dump_json(exclude_defaults=True).encode() + b"\n"

    @cached_property
    def data_path(self) -> str:
        """The path of the same data under a name with its hash, for the scripts of pages."""
        return hashed(FILE, self.data)

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
            "twins": self.twins,
        }
        return self.templates.get_template(template).render(shared, **variables).encode()


def frame(board: Leaderboard, sources: Sources, earlier: EarlierPages | None = None) -> Frame:
    """The frame of a public board."""
    columns = columns_of(board)
    rank_statuses = score_display.rank_statuses(board, [column.key for column in columns])
    return Frame(board, sources, assets(), columns, rank_statuses, environment(sources.templates()), earlier)
