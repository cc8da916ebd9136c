"""Leaderboard to pages: all files of the site. Pure but for reading templates."""

from __future__ import annotations

from judge.board import Leaderboard
from judge.public_board import public_board
from judge.web import (
    changes_pages,
    compare_page,
    data_files,
    figures_page,
    index_page,
    model_pages,
    table_pages,
    task_pages,
    text_pages,
)
from judge.web.frame import frame
from judge.web.sources import Sources

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
