"""Accuracy against efficiency: the scores of the board, and the Pareto front."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.figures.pareto import N_NAMES, ParetoPoint, _traces, front, pareto
from judge.view.leaderboard_export import hardware_of
from judge.view.page_context import Frame
from tests.judge.figures.hostile_board import plot_of


def test_pareto_has_the_scores_of_the_board(hostile: Frame) -> None:
    figure = pareto(hostile)
    assert figure is not None
    ranked = [row for row in hostile.board.rows if row.rank is not None]
    expected = [
        (row.rank, row.scores["force_field"].value, row.scores["efficiency"].value, hardware_of(row)) for row in ranked
    ]
    assert [(values[1], values[2], values[5], values[6]) for values in figure.rows] == expected
    # The more accurate model is slower (`good_metrics`). Times have two digits: one of two equally fast models loses.
    assert [(values[2], values[-1]) for values in figure.rows] == [
        (0.1, "yes"),
        (0.25, "yes"),
        (0.4, "yes"),
        (0.5, "yes"),
        (0.55, "no"),
        (0.7, "yes"),
    ]
    others, best = plot_of(figure)["data"]
    assert others["y"] == [0.55]
    assert sorted(best["y"]) == [0.1, 0.25, 0.4, 0.5, 0.7]
    assert all(label for label in best["text"] + others["text"])


def test_of_many_models_those_of_a_front_have_names_and_intervals() -> None:
    """Of few models, all have both."""
    slow = [ParetoPoint(f"slow {n}", n + 2, 0.5, 0.4, 0.7, 1.0 + n, "") for n in range(N_NAMES)]
    best = ParetoPoint("best", 1, 0.1, 0.05, 0.2, 100.0, "")
    for others, are_named in ((slow[1:], True), (slow, False)):
        of_others, of_front = _traces([best, *others], {"": [best]})
        assert of_front["text"] == ["best"]
        assert of_front["error_y"]["array"] == pytest.approx([0.1])
        assert of_others["text"] == [point.name if are_named else "" for point in others]
        assert of_others["error_y"]["array"] == pytest.approx([0.2 if are_named else 0.0] * len(others))


any_point = st.builds(
    ParetoPoint,
    st.just("m"),
    st.just(1),
    st.integers(0, 6).map(lambda n: n / 4),
    st.none(),
    st.none(),
    st.integers(1, 6).map(float),
    st.just(""),
)


def beats(point: ParetoPoint, other: ParetoPoint) -> bool:
    as_good = point.error <= other.error and point.efficiency >= other.efficiency
    return as_good and (point.error, point.efficiency) != (other.error, other.efficiency)


@given(st.lists(any_point, max_size=12))
def test_the_front_has_the_models_that_no_other_beats(points: list[ParetoPoint]) -> None:
    best = {id(point) for point in front(points)}
    assert best == {id(point) for point in points if not any(beats(other, point) for other in points)}
