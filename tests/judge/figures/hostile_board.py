"""A board of models with hostile names, failed items, a failed task and a model that was not judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from judge.disclosure.public_leaderboard import public_board
from judge.figures.failures import failures_of
from judge.figures.figure import Figure
from judge.figures.radar import radar_of
from judge.pages import figures_page
from judge.ranking.leaderboard import Row
from judge.ranking.load import read_board
from judge.view.page_context import Frame, frame
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from submissions.store.local import LocalStore
from tests.world.board_records import SUITE, frames_metrics, good_results, refused, result, save, submission

HOSTILE = (
    '<script>alert(1)</script>"><img src=x onerror=alert(2)>',
    "</title></svg><b>&amp;</b>",
    "\u202ereversed \u05e9\u05dc\u05d5\u05dd",
    "{{ 7 * 7 }}%{x}" + "W" * 180,
    "🧪" * 60 + "\x00\x1b[31m\ufffe",
)


def frame_of(folder: Path) -> Frame:
    """The frame of the board in a store."""
    board = read_board(LocalStore(folder), SUITE, pytest.fail)
    return frame(public_board(board, ()), Sources())


def hostile_frame(folder: Path) -> Frame:
    """Five models with scores, one with failed items, one that ran out of time in a task, and one not judged."""
    store = LocalStore(folder)
    for number, name in enumerate(HOSTILE):
        model = submission(name)
        save(store, [model], good_results(model, 0.1 + 0.15 * number))
    failing = submission("failing")
    results = good_results(failing, 0.5)
    results[0] = result(
        failing, SUITE.tasks[0], frames_metrics(0.5, virial=True), failures={"NON_FINITE": 2, "ERROR": 1}
    )
    save(store, [failing], results)
    late = submission("late")
    save(store, [late], [*good_results(late, 0.9)[1:], refused(late, SUITE.tasks[0], Verdict.TIME_LIMIT)])
    save(store, [submission("absent")], [])
    return frame_of(folder)


def all_figures(page_frame: Frame) -> Iterator[Figure]:
    """The figures over all models, and the radar and failures of each model."""
    for draw in figures_page.DRAWN:
        figure = draw(page_frame)
        if figure is not None:
            yield figure
    for row in page_frame.board.rows:
        for figure in (radar_of(page_frame, row), failures_of(page_frame, row)):
            if figure is not None:
                yield figure


def row_called(page_frame: Frame, name: str) -> Row:
    return next(row for row in page_frame.board.rows if row.submission.card.name == name)


def with_models(page_frame: Frame, n: int) -> Frame:
    """The frame with `n` models, all alike but for their ids and names."""
    row = page_frame.board.rows[0]
    rows = tuple(
        replace(
            row,
            rank=number + 1,
            submission=row.submission.model_copy(
                update={
                    "id": f"{row.submission.id}-{number}",
                    "card": row.submission.card.model_copy(update={"name": f"model {number}"}),
                }
            ),
        )
        for number in range(n)
    )
    return frame(replace(page_frame.board, rows=rows), page_frame.sources)


def plot_of(figure: Figure | None) -> dict[str, Any]:
    """The plot as the page has it; plotly's own Python library checks every attribute."""
    assert figure is not None
    assert {len(row) for row in figure.rows} == {len(figure.headings)}
    assert "<" not in figure.plot  # it cannot end its script element
    plot: dict[str, Any] = json.loads(figure.plot)
    go.Figure(plot)
    return plot
