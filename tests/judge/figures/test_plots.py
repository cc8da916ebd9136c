"""The plots over all models: plotly accepts every attribute, and names are text."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from judge.figures.figure import Figure
from judge.pages import figures_page
from judge.view.page_context import Frame
from tests.judge.figures.hostile_board import all_figures, frame_of, plot_of, with_models


def test_plotly_accepts_every_plot(hostile: Frame) -> None:
    figures = list(all_figures(hostile))
    assert {figure.key for figure in figures} >= {"radar", "pareto", "heat-map", "failures", "verdicts"}
    for figure in figures:
        assert plot_of(figure)["data"]


def test_a_page_of_hostile_names_has_them_as_text(hostile: Frame) -> None:
    page = figures_page.pages(hostile)["figures.html"].decode()
    for tag in ("<script>alert", "<img", "<b>&amp;</b>", "{{ 7", "\u202e", "\x00", "\ufffe"):
        assert (tag in page) == (tag == "{{ 7")  # braces have no meaning in a page
    assert page.count("<script") == page.count('<script type="application/json">') + 1  # main.js


def test_a_number_that_is_not_finite_is_null_in_a_plot() -> None:
    figure = Figure("k", "t", "a", (), (), [{"y": (math.inf, math.nan, 1.0)}], {})
    assert json.loads(figure.plot)["data"][0]["y"] == [None, None, 1.0]


def test_a_page_without_models_says_that_there_is_nothing_to_draw(tmp_path: Path) -> None:
    empty = frame_of(tmp_path)
    assert list(all_figures(empty)) == []
    assert "nothing to draw yet" in figures_page.pages(empty)["figures.html"].decode()


@pytest.mark.parametrize("n", [1, 200])
def test_one_model_and_two_hundred(hostile: Frame, n: int) -> None:
    crowded = with_models(hostile, n)
    by_key = {figure.key: figure for draw in figures_page.DRAWN if (figure := draw(crowded)) is not None}
    assert {"radar", "pareto", "heat-map"} <= set(by_key)
    for figure in by_key.values():
        plot_of(figure)
    assert len(by_key["heat-map"].rows) == len(by_key["pareto"].rows) == n
