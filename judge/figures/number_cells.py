"""A small plot of cells with numbers in them, coloured by size: a matrix.

plotly's heat map trace is an image made by a script, which the Content-Security-Policy of the pages refuses. So the
cells are bars of one height.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from judge.figures.figure import Trace, axis
from judge.figures.small_plots import SmallPlot
from judge.view.formatting import number

_HEIGHT, _WIDTH = 0.92, 0.94
CELL = 24  # CSS pixels of a row of cells
AROUND = 76  # CSS pixels of title and axis


def cells_plot(
    title: str,
    sides: tuple[str, str],
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    digits: int = 3,
) -> SmallPlot:
    """The matrix of `values`, in rows from the top; a cell without a value is empty.

    Args:
        sides: titles of the axes of rows and of columns.
        digits: significant digits of the numbers.
    """
    traces = [
        _row(name, index, columns, row, digits) for index, (name, row) in enumerate(zip(rows, values, strict=True))
    ]
    x = axis(sides[1], type="category", categoryarray=list(columns), range=[-0.5, len(columns) - 0.5], showgrid=False)
    places = {"tickvals": list(range(len(rows))), "ticktext": list(rows)}
    y = axis(sides[0], **places, range=[len(rows) - 0.5, -0.5], showgrid=False, zeroline=False)
    return SmallPlot(title, x, y, traces)


def _row(name: str, index: int, columns: Sequence[str], row: Sequence[float | None], digits: int) -> Trace:
    return {
        "type": "bar",
        "name": name,
        "x": list(columns),
        "y": [None if value is None else _HEIGHT for value in row],
        "base": index - _HEIGHT / 2,
        "width": _WIDTH,
        "marker": {"color": [0.0 if value is None else value for value in row], "coloraxis": "coloraxis"},
        "text": ["" if value is None else number(value, digits) for value in row],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "hovertemplate": "%{fullData.name}, %{x}: %{text}<extra></extra>",
    }


def colour_range(values: Iterable[float | None]) -> dict[str, object]:
    """The settings of the layout for cells of these values."""
    known = [value for value in values if value is not None] or [0.0]
    low, high = min(known), max(known)
    return {
        "barmode": "overlay",
        "hovermode": "closest",
        "coloraxis": {"cmin": low, "cmax": high if high > low else low + 1.0, "showscale": False},
    }
