"""The page of numbers that others published and that judged submissions gave, too."""

from __future__ import annotations

from judge.disclosure.public_reproductions import reproductions
from judge.view.leaderboard_export import task_page
from judge.view.page_context import Frame

PAGE = "reproduced.html"


def pages(frame: Frame) -> dict[str, bytes]:
    """`reproduced.html`, if the suite states published numbers."""
    if not frame.board.suite.published:
        return {}
    lines = list(reproductions(frame.board, frame.sources.items, frame.sources.public))
    n_published = len(frame.board.suite.published)
    return {PAGE: frame.draw(PAGE, PAGE, lines=lines, n_published=n_published, task_page=task_page)}
