"""The page of a model as a reader sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from judge.disclosure.public_leaderboard import public_board
from judge.pages.models import model_pages
from judge.ranking.leaderboard import TakenOut
from judge.ranking.load import read_board
from judge.records.records import Result
from judge.view.page_context import frame
from judge.view.sources import Sources
from submissions.records import Submission
from submissions.store.local import LocalStore
from tasks.suites.suite import Suite
from tests.world.board_records import SUITE, save


class Reader(HTMLParser):
    """The text of a page, its tags, and the cells of its tables by the label of their frame."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._table: list[list[str]] | None = None
        self._skipped = self._frame = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag in ("script", "style", "title"):
            self._skipped = tag
        elif attributes.get("role") == "region":
            self._frame = attributes.get("aria-labelledby") or attributes.get("aria-label") or ""
        elif tag == "table":
            self._table = self.tables.setdefault(self._frame, [])
        elif tag == "tr" and self._table is not None:
            self._table.append([])
        elif tag in ("td", "th") and self._table:
            self._table[-1].append("")
        if tag not in ("bdi", "span", "a", "strong", "sub", "sup", "code"):
            self.pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._skipped:
            self._skipped = ""
        if tag == "table":
            self._table = None

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        self.pieces.append(data)
        if self._table and self._table[-1]:
            self._table[-1][-1] += data

    @property
    def words(self) -> str:
        """All text with single spaces."""
        return " ".join("".join(self.pieces).split())

    def rows(self, table: str) -> list[list[str]]:
        """The cells of a table without its headings."""
        return [[" ".join(cell.split()) for cell in row] for row in self.tables[table][1:]]


def pages_of(
    tmp_path: Path,
    submissions: Sequence[Submission],
    results: Sequence[Result],
    suite: Suite = SUITE,
    sources: Sources | None = None,
    taken_out: Sequence[TakenOut] = (),
) -> dict[str, str]:
    """The pages of the models by id of the submission."""
    store, problems = LocalStore(tmp_path / "store"), []
    save(store, submissions, results)
    board = replace(read_board(store, suite, problems.append), taken_out=tuple(taken_out))
    assert problems == []
    known = sources or Sources()
    drawn = model_pages.pages(frame(public_board(board, known.public), known))
    return {Path(path).stem: page.decode() for path, page in drawn.items()}


def page_of(tmp_path: Path, model: Submission, results: Sequence[Result] = (), **more: object) -> Reader:
    """The page of a submission that is alone on its board."""
    return Reader(pages_of(tmp_path, [model], results, **more)[model.id])  # type: ignore[arg-type]


def changed(model: Submission, **fields: object) -> Submission:
    return model.model_copy(update=fields)
