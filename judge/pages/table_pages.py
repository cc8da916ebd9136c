"""Long tables, each on its own page: by domain, by other scoring schemes, and the robustness of the ranking."""

from __future__ import annotations

from judge.pages.domain_tables import domain_tables
from judge.view import score_display
from judge.view.page_context import Frame


def pages(frame: Frame) -> dict[str, bytes]:
    """`domains.html`, `schemes.html` and `firmness.html`, with all models."""
    board, keys = frame.board, frame.keys
    references = [model.id for model in frame.file.models if model.reference]
    return {
        "domains.html": frame.draw(
            "domains.html",
            "domains.html",
            data_path=frame.data_path,
            domain_tables=domain_tables(board, references),
        ),
        "schemes.html": frame.draw(
            "schemes.html",
            "schemes.html",
            published_lines=score_display.published_lines(board, keys),
            others=score_display.other_table(board),
        ),
        "firmness.html": frame.draw(
            "firmness.html", "firmness.html", robustness_tables=score_display.robustness_tables(board, keys)
        ),
    }
