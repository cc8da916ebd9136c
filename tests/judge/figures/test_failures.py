"""Failures as shares of all items, by cause, and as shares of all models, by verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judge.figures.failures import failures_by_cause, failures_of, verdicts_by_task
from judge.figures.figure import N_COLOURS, Heading
from judge.view.page_context import Frame
from tests.judge.figures.hostile_board import HOSTILE, plot_of, row_called


def test_failures_are_shares_of_all_items(hostile: Frame) -> None:
    figure, of_model = failures_by_cause(hostile), failures_of(hostile, row_called(hostile, "failing"))
    assert figure is not None
    assert of_model is not None
    row = row_called(hostile, "failing")
    n_items = sum(line.result.n_items for line in row.tasks if line.result)
    assert [heading.name for heading in figure.headings] == ["Model", "All items", "non finite", "error"]
    assert figure.rows == [("failing", n_items, pytest.approx(200 / n_items), pytest.approx(100 / n_items))]
    assert of_model.rows == [("Crystals", 10, 20.0, 10.0)]


def test_verdicts_other_than_ok_by_task(hostile: Frame) -> None:
    figure = verdicts_by_task(hostile)
    assert figure is not None
    n_judged = len(HOSTILE) + 2
    assert figure.rows == [("Crystals", n_judged, pytest.approx(100 / n_judged))]
    assert figure.headings[-1] == Heading("time limit", "%")


def test_the_rarest_causes_share_a_colour_and_have_a_column_each(hostile: Frame) -> None:
    row = row_called(hostile, "failing")
    line = row.tasks[0]
    assert line.result is not None
    causes = ("ERROR", "UNSUPPORTED", "NON_FINITE", "WRONG_SHAPE", "OUT_OF_MEMORY", "NOT_CONVERGED", "EXPLODED")
    failures = {cause: 20 - n for n, cause in enumerate((*causes, "OVER_TIME", "MISSING", "INCONSISTENT"))}
    many = line.result.model_copy(update={"failures": failures, "n_items": 1000})
    figure = failures_of(hostile, replace(row, tasks=(replace(line, result=many),)))
    assert figure is not None
    assert len(figure.headings) == 2 + len(failures)
    traces = plot_of(figure)["data"]
    assert len(traces) == N_COLOURS
    assert traces[-1]["name"] == "others"
    assert traces[-1]["x"] == [pytest.approx((13 + 12 + 11) / 10)]
