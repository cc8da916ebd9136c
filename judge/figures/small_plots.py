"""Small plots of one figure, in a grid; one below the other where there is little room."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from judge.figures.figure import Trace

MOST_PLOTS = 12
"""A figure draws so many small plots; its table has more."""

_COLUMNS = 3
_ROW_HEIGHT, _REST = 210, 90  # CSS pixels; the rest is the legend


class SmallPlot(NamedTuple):
    """One plot.

    Args:
        x, y: the axes, as plotly takes them.
        traces: without axes. Traces of one name, in all plots of a figure, have one entry in the legend if they have
            a `legendgroup`, and else none.
    """

    title: str
    x: Mapping[str, Any]
    y: Mapping[str, Any]
    traces: Sequence[Trace]


class PlotGrid(NamedTuple):
    """Traces, layout and heights of a figure: see `judge.figures.figure.Figure`."""

    traces: list[Trace]
    layout: dict[str, Any]
    height: float
    narrow_height: float


def grid_of(plots: Sequence[SmallPlot], columns: int = _COLUMNS, row_height: float = _ROW_HEIGHT) -> PlotGrid:
    """The plots side by side, at most `columns` in a row.

    Args:
        row_height: of a plot with its axes, in CSS pixels.
    """
    n_columns = min(columns, len(plots))
    n_rows = math.ceil(len(plots) / n_columns)
    grid = {"rows": n_rows, "columns": n_columns, "pattern": "independent", "xgap": 0.24, "ygap": 0.42}
    layout: dict[str, Any] = {"grid": grid, "annotations": [], "legend": {"orientation": "h"}}
    traces: list[Trace] = []
    for index, plot in enumerate(plots):
        number = str(index + 1) if index else ""
        layout[f"xaxis{number}"], layout[f"yaxis{number}"] = plot.x, plot.y
        place = {"xref": f"x{number} domain", "yref": f"y{number} domain", "x": 0, "y": 1, "xanchor": "left"}
        layout["annotations"].append({"text": plot.title, **place, "yanchor": "bottom"})
        traces += [{**trace, "xaxis": f"x{number}", "yaxis": f"y{number}"} for trace in plot.traces]
    named: set[str] = set()
    for trace in traces:
        group = trace.get("legendgroup")
        trace["showlegend"] = group is not None and group not in named
        named |= {group} if group is not None else set()
    return PlotGrid(traces, layout, _REST + row_height * n_rows, _REST + row_height * len(plots))
