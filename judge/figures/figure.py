"""A figure: what it shows as a table, as a drawing, and as what plotly draws where a script runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from judge.figures.table import Cell, Heading, table_markup

__all__ = ["Cell", "Figure", "Heading"]


@dataclass(frozen=True)
class Figure:
    """One figure.

    Args:
        key: its id in the page, and the name of what is downloaded of it: letters, digits and hyphens.
        title: what is drawn.
        about: how to read it, in a sentence or two.
        headings, rows: all numbers that are drawn, as a table, whose first column names the row. The page shows them
            as `judge.view.formatting` does, downloads have them whole, in the heading's own unit.
        drawing: an SVG without any style of its own: its colours are classes of the stylesheet.
        plot: `data` and `layout` as plotly takes them, without any colour: a trace may say which of the page's colours
            it has, by `meta: {"colour": 0}` (`judge.figures.drawing` counts the same; "rest": grey), or, of a heat
            map, `meta: {"ramp": true}`. Empty: the drawing stays.
        digits: that the page shows of a number.
    """

    key: str
    title: str
    about: str
    headings: tuple[Heading, ...]
    rows: Sequence[Sequence[Cell]]
    drawing: Markup
    plot: Mapping[str, Any] = field(default_factory=dict)
    digits: int = 3

    @property
    def table(self) -> Markup:
        """Head and body of the table as HTML."""
        return table_markup(self.headings, self.rows, self.digits)

    @property
    def data(self) -> Markup:
        """The plot as JSON that may stand within a script element; what is not finite is null."""
        return htmlsafe_json_dumps(_plain(self.plot), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """The value with lists for sequences, and null for a number that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
