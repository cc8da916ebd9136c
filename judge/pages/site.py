"""Leaderboard to pages: all files of the site. Pure but for reading templates."""

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
    """Every file of the site by its path in it; assets carry the hash of their content in their name."""
    told = sources or Sources()
    of = frame(public_board(leaderboard, told.public), told)  # whatever follows knows nothing else
    files = dict(of.assets.files)
    for part in PARTS:
        files |= part.pages(of)
    return files
