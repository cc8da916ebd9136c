"""The figures over all models."""

from __future__ import annotations

from judge.figures.drift import drift_figure
from judge.figures.failures import failures_by_cause, verdicts_by_task
from judge.figures.heat_map import heat_map
from judge.figures.history import history_figure
from judge.figures.pareto import pareto
from judge.figures.radar import radar
from judge.view.page_context import Frame

PAGE = "figures.html"
DRAWN = (pareto, radar, heat_map, failures_by_cause, verdicts_by_task, drift_figure, history_figure)


def pages(frame: Frame) -> dict[str, bytes]:
    """`figures.html` with each figure that has data."""
    figures = [figure for draw in DRAWN if (figure := draw(frame)) is not None]
    return {PAGE: frame.draw(PAGE, PAGE, figures=figures)}
