"""Curves of a model's items, as its kinds state them: g(r), densities, paths. A small plot for each item."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from judge.disclosure.public_curves import PUBLIC_DIGITS, PublicCurve, public_profile
from judge.disclosure.redaction import LEAST_ITEMS
from judge.figures.figure import Cell, Figure, Heading, Trace
from judge.ranking.leaderboard import Row
from judge.view.page_context import Frame
from tasks.metrics.profiles import Profile

MOST_PLOTS = 12
_COLUMNS, _ROW_HEIGHT = 3, 210
_MEAN = "mean over the items"


class SmallPlot(NamedTuple):
    """A curve with its task and its axes."""

    task: str
    profile: Profile
    curve: PublicCurve

    @property
    def title(self) -> str:
        return f"{self.task}: {self.curve.name or _MEAN}"


def profiles_of(frame: Frame, row: Row) -> Figure | None:
    """The curves of a model, of at most `MOST_PLOTS` items in the plot and of all in the table; None if it has none."""
    items, public = frame.sources.items, frame.sources.public
    plots = [
        SmallPlot(line.task.name, profile, curve)
        for line in row.tasks
        for profile in line.task.traits.profiles
        for curve in public_profile(line, items.get((row.submission.id, line.task.name)), profile, public)
    ]
    if not plots:
        return None
    drawn = plots[:MOST_PLOTS]
    left_out = (
        f" The first {MOST_PLOTS} of {len(plots)} are drawn; the table has all." if len(plots) > MOST_PLOTS else ""
    )
    about = (
        "What the model's own simulations and paths look like, item by item; the reference is grey. For a hidden data "
        f"set only the mean is shown, over at least {LEAST_ITEMS} items and to two digits.{left_out}"
    )
    headings = (*(Heading(name) for name in ("Curve", "Quantity", "x", "y")), Heading("Reference"))
    n_rows = math.ceil(len(drawn) / _COLUMNS)
    return Figure(
        "profiles",
        "Curves of simulations and paths",
        about,
        headings,
        [point for plot in plots for point in _points_of(plot)],
        [trace for index, plot in enumerate(drawn) for trace in _traces(plot, index)],
        _layout(drawn, n_rows),
        height=60 + _ROW_HEIGHT * n_rows,
        digits=PUBLIC_DIGITS,
    )


def _points_of(plot: SmallPlot) -> list[Sequence[Cell]]:
    curve = plot.curve
    reference = curve.reference or (None,) * len(curve.x)
    quantity = f"{plot.profile.y} over {plot.profile.x}"
    points = zip(curve.x, curve.y, reference, strict=True)
    return [(plot.title, quantity, x, y, r) for x, y, r in points if y is not None]


def _traces(plot: SmallPlot, index: int) -> list[Trace]:
    number = str(index + 1) if index else ""
    shared = {
        "type": "scatter",
        "mode": "lines",
        "x": plot.curve.x,
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "showlegend": False,
    }
    traces = [{**shared, "name": plot.title, "y": plot.curve.y, "meta": {"colour": 0}}]
    if plot.curve.reference:
        traces.insert(0, {**shared, "name": "reference", "y": plot.curve.reference, "meta": {"colour": "rest"}})
    return traces


def _layout(plots: Sequence[SmallPlot], n_rows: int) -> dict[str, Any]:
    n_columns = min(_COLUMNS, len(plots))
    grid = {"rows": n_rows, "columns": n_columns, "pattern": "independent", "xgap": 0.18, "ygap": 0.42}
    layout: dict[str, Any] = {"grid": grid, "annotations": []}
    for index, plot in enumerate(plots):
        number = str(index + 1) if index else ""
        layout[f"xaxis{number}"] = {"title": {"text": plot.profile.x}}
        layout[f"yaxis{number}"] = {"title": {"text": plot.profile.y}}
        place = {"xref": f"x{number} domain", "yref": f"y{number} domain", "x": 0, "y": 1, "xanchor": "left"}
        layout["annotations"].append({"text": plot.title, **place, "yanchor": "bottom"})
    return layout
