"""All files of the site, made from the leaderboard. The only input or output is reading templates and earlier pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from types import ModuleType
from typing import NamedTuple

from judge.disclosure.public_leaderboard import public_board
from judge.gc_pause import keep
from judge.pages import changes_pages, data_files, figures_page, index_page, reproduced_page, table_pages, text_pages
from judge.pages.chooser import Chooser, chooser
from judge.pages.compare import compare_page
from judge.pages.models import model_pages
from judge.pages.tasks import task_pages
from judge.parallel import in_background
from judge.ranking.derived_values import Derivations
from judge.ranking.leaderboard import Leaderboard
from judge.view.earlier_pages import EarlierPages, Made
from judge.view.page_context import Frame, frame
from judge.view.sources import Sources

PARTS = (model_pages, compare_page, text_pages, data_files, table_pages, figures_page)
PARTS_BESIDE = (task_pages, changes_pages, reproduced_page)
"""Drawn by another process meanwhile. These need no `Frame.file`, which takes long to make."""


def render(
    leaderboard: Leaderboard, sources: Sources | None = None, earlier: EarlierPages | None = None
) -> dict[str, bytes]:
    """The files of the site by path; the name of an asset has the hash of its content.

    Args:
        earlier: the pages of the last build, as far as they may be used again; None: every page is drawn.
    """
    known = sources or Sources()
    public = frame(
        public_board(leaderboard, known.public, known.kept), known, earlier
    )  # all pages are made from this alone
    keep(public)
    with in_background(partial(_files_beside, public), len(public.board.rows)) as finish:
        files = public.assets.files | _files(PARTS, public)
        beside = finish()
    if known.derived and beside.derivations:
        known.derived.add(beside.derivations)
    if earlier is not None:
        earlier.drawn.update(beside.drawn)
    return files | beside.files | index_page.with_chooser(public, beside.chooser)


class _Beside(NamedTuple):
    """The files of `PARTS_BESIDE`, what they were made from, the values that they used, and the chooser."""

    files: dict[str, bytes]
    drawn: Mapping[str, Made]
    derivations: Derivations | None
    chooser: Chooser | None


def _files_beside(public: Frame) -> _Beside:
    files, derived = _files(PARTS_BESIDE, public), public.sources.derived
    drawn = public.earlier.drawn if public.earlier is not None else {}
    return _Beside(files, drawn, derived.derivations() if derived else None, chooser(public))


def _files(parts: Iterable[ModuleType], public: Frame) -> dict[str, bytes]:
    return {path: content for part in parts for path, content in part.pages(public).items()}
