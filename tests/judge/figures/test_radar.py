"""The radar plot is one less the errors of the board, by domain."""

from __future__ import annotations

import pytest

from judge.figures.names import clean
from judge.figures.radar import radar, radar_of, spokes
from judge.view.page_context import Frame
from tests.judge.figures.hostile_board import HOSTILE, plot_of, row_called


def test_the_radar_is_one_less_the_errors_of_the_board(hostile: Frame) -> None:
    figure = radar(hostile)
    assert figure is not None
    assert [(spoke.score, spoke.domain) for spoke in spokes(hostile)] == [
        ("force_field", "Inorganic Materials"),
        ("force_field", "Molecules"),
        ("property_error", "Molecules"),
    ]
    best = [row for row in hostile.board.rows if row.rank is not None][:5]
    assert [values[0] for values in figure.rows] == [clean(row.submission.card.name) for row in best]
    for (_, *values), row in zip(figure.rows, best, strict=True):
        parts = (*row.scores["force_field"].parts, *row.scores["property_error"].parts)
        assert values == pytest.approx([1 - (part.value or 0.0) for part in parts])
    traces = plot_of(figure)["data"][::-1]  # the best model lies on top
    assert [trace["r"] for trace in traces] == [[*values, values[0]] for _, *values in figure.rows]
    assert [trace["meta"]["colour"] for trace in traces] == [0, 1, 2, 3, 4]


def test_the_radar_of_a_model_has_the_best_beside_it(hostile: Frame) -> None:
    late, first = row_called(hostile, "late"), hostile.board.rows[0]
    figure, of_best = radar_of(hostile, late), radar_of(hostile, first)
    assert figure is not None
    assert of_best is not None
    assert [values[0] for values in figure.rows] == ["late", clean(HOSTILE[0])]
    assert figure.rows[0][1] is None  # out of time in the only task of that domain
    assert of_best.rows[1][0] != of_best.rows[0][0]
    best, model = plot_of(figure)["data"]
    assert model["r"][0] == 0.0
    assert best["meta"]["colour"] == "rest"


def test_the_radar_of_a_model_without_any_value_shows_the_best_alone(hostile: Frame) -> None:
    figure = radar_of(hostile, row_called(hostile, "absent"))
    assert figure is not None
    assert figure.rows[0] == ("absent", None, None, None)
