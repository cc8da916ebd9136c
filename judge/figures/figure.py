"""A figure: its numbers as a table, and as a plot for plotly, which a script of the page draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from judge.figures.table import Cell, Heading, table_markup

__all__ = ["N_COLOURS", "Cell", "Figure", "Heading", "Trace", "axis", "log_axis"]

N_COLOURS = 8
"""Colours of the stylesheet, `--c0` to `--c7`."""

Trace = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """One figure.

    Args:
        key: its id in the page, and the name of its downloads: letters, digits and hyphens.
        title: what the figure shows.
        about: how to read it, in a sentence or two.
        headings, rows: all numbers of the figure, as a table whose first column names the row. The page shows them
            as `judge.view.formatting` does; downloads have all digits, in the unit of the heading.
        traces: as plotly takes them, without colours: `js/plot_look.js` colours a trace by `meta["colour"]`. A number
            selects a series' colour, dash, symbol and pattern; a name selects a colour of the stylesheet.
        layout: as plotly takes it, without colours and margins.
        height: the height of the plot in CSS pixels.
        digits: significant digits of the numbers in the page's table.
        narrow_height: the height where there is little room, and small plots are in one column; None: the same.
    """

    key: str
    title: str
    about: str
    headings: tuple[Heading, ...]
    rows: Sequence[Sequence[Cell]]
    traces: Sequence[Trace]
    layout: Mapping[str, Any]
    height: float = 420
    digits: int = 3
    narrow_height: float | None = None

    @property
    def table(self) -> Markup:
        """Head and body of the table as HTML."""
        return table_markup(self.headings, self.rows, self.digits)

    @property
    def plot(self) -> Markup:
        """Traces and layout as JSON for a script element; null in place of a number that is not finite."""
        plot = _plain({"data": self.traces, "layout": self.layout})
        return htmlsafe_json_dumps(plot, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def axis(title: str, **settings: Any) -> dict[str, Any]:
    """An axis with its title, as plotly takes it."""
    return {"title": {"text": title}, **settings}


def log_axis(title: str) -> dict[str, Any]:
    """A logarithmic axis with powers of 10 as ticks."""
    return axis(title, type="log", exponentformat="power", dtick=1)


def _plain(value: Any) -> Any:
    """The value with lists for sequences, and None for a number that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
