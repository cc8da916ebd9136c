"""All files of the site, made from the leaderboard. The only input or output is reading templates."""

from __future__ import annotations

from judge.disclosure.public_leaderboard import public_board
from judge.pages import changes_pages, data_files, figures_page, index_page, table_pages, text_pages
from judge.pages.compare import compare_page
from judge.pages.models import model_pages
from judge.pages.tasks import task_pages
from judge.ranking.leaderboard import Leaderboard
from judge.view.page_context import frame
from judge.view.sources import Sources

PARTS = (
    model_pages,
    task_pages,
    figures_page,
    compare_page,
    text_pages,
    changes_pages,
    data_files,
    table_pages,
    index_page,
)


def render(leaderboard: Leaderboard, sources: Sources | None = None) -> dict[str, bytes]:
    """The files of the site by path; the name of an asset has the hash of its content."""
    known = sources or Sources()
    public = frame(public_board(leaderboard, known.public), known)  # all pages are made from this alone
    files = dict(public.assets.files)
    for part in PARTS:
        files |= part.pages(public)
    return files
