"""Figures of curves and parts, for boards with nothing to draw and for hostile names."""

from __future__ import annotations

from judge.figures.diatomic import diatomics_of
from judge.figures.drift import drift_figure, drift_of
from judge.figures.elements import elements_figure, elements_of
from judge.figures.groups import groups_of
from judge.figures.history import history_figure
from tests.judge.figures.hostile_board import plot_of
from tests.judge.figures.test_parts import part
from tests.world.board_records import submission
from tests.world.curves import (
    CRYSTALS,
    KNOWN,
    LAWS,
    board_of,
    drifting,
    dynamics,
    frame_of,
    pairs,
    results_of,
    wells,
)

HOSTILE = '<script>alert(1)</script>"&\u202e\x00'


def test_a_board_without_results_has_no_figure() -> None:
    empty = frame_of(board_of([], []))
    assert drift_figure(empty) is None
    assert history_figure(empty) is None
    assert elements_figure(empty, CRYSTALS.name) is None
    not_judged = frame_of(board_of([submission("alpha")], []))
    (row,) = not_judged.board.rows
    for draw in (drift_of, diatomics_of, elements_of, groups_of):
        assert draw(not_judged, row) is None
    assert history_figure(not_judged) is None


def test_names_are_text() -> None:
    model = submission("alpha")
    hostile = model.model_copy(update={"card": model.card.model_copy(update={"name": HOSTILE})})
    parts = (part("group", HOSTILE, 1.0), part("group", "other", 0.3), part("element", "Cu", 1.0))
    board = board_of([hostile], results_of(hostile, 0.2, parts))
    items = {(model.id, KNOWN.name): dynamics(drifting(2), HOSTILE), (model.id, LAWS.name): pairs(wells())}
    page_frame = frame_of(board, items)
    (row,) = page_frame.board.rows
    drift, history = plot_of(drift_figure(page_frame)), plot_of(history_figure(page_frame))
    assert drift["data"][0]["name"].startswith("<script>alert(1)")
    assert history["data"][-1]["text"][0].startswith("<script>alert(1)")
    for draw in (drift_of, diatomics_of, elements_of, groups_of):
        figure = draw(page_frame, row)
        plot_of(figure)
        assert figure is not None
        assert "<script" not in figure.table
