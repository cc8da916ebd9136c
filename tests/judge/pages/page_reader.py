"""Parsed pages: text, links and the rows of a table; and frames of small boards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html.parser import HTMLParser

from judge.disclosure.public_leaderboard import public_board
from judge.ranking.build import build_leaderboard
from judge.view.page_context import Frame, frame
from judge.view.sources import Sources
from submissions.records import Submission
from tasks.suites.suite import Suite
from tests.world.board_records import items_of


class PageReader(HTMLParser):
    """The text of a page, its links, and the rows of its first table as cells of text and sort value."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.words, self.links = "", []
        self.rows: list[list[list[str]]] = []
        self._tables = 0
        self.feed(page.decode())
        self.words = " ".join(self.words.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self._tables += tag == "table"
        if tag == "a":
            self.links.append(attributes.get("href") or "")
        elif self._tables == 1 and tag == "tr":
            self.rows.append([])
        elif self._tables == 1 and tag in ("td", "th") and self.rows:
            self.rows[-1].append(["", attributes.get("data-value") or ""])

    def handle_data(self, data: str) -> None:
        self.words += data + " "
        if self._tables == 1 and self.rows and self.rows[-1]:
            self.rows[-1][-1][0] += data

    def row(self, name: str) -> list[list[str]]:
        """The cells of a model's row."""
        return next(row for row in self.rows if len(row) > 1 and row[1][0].strip().startswith(name))

    def column(self, head: str) -> int:
        return next(i for i, cell in enumerate(self.rows[0]) if cell[0].strip().startswith(head))


def page_frame(
    suite: Suite,
    submissions: Sequence[Submission] = (),
    results: Sequence[object] = (),
    sources: Sources | None = None,
    n_items: int = 40,
) -> Frame:
    known = sources or Sources()
    load = partial(items_of, n_items=n_items, n_clusters=n_items)
    board = build_leaderboard(suite, submissions, results, load)  # type: ignore[arg-type]
    return frame(public_board(board, known.public), known)
