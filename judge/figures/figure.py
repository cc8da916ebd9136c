"""A figure: what it shows as a table, as a drawing, and as what plotly draws where a script runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

Cell = str | float | int | None


class Heading(NamedTuple):
    """A column of the figure's table; `unit` is empty for text and pure numbers."""

    name: str
    unit: str = ""


@dataclass(frozen=True)
class Figure:
    """One figure.

    Args:
        key: its id in the page, and the name of what is downloaded of it: letters, digits and hyphens.
        title: what is drawn.
        about: how to read it, in a sentence or two.
        headings, rows: all numbers that are drawn, as a table, whose first column names the row. The page shows them
            as `judge.present` does, downloads have them whole, in the heading's own unit.
        drawing: an SVG without any style of its own: its colours are classes of the stylesheet.
        plot: `data` and `layout` as plotly takes them, without any colour: a trace may say which of the page's colours
            it has, by `meta: {"colour": 0}` (`judge.figures.drawing` counts the same; "rest": grey), or, of a heat
            map, `meta: {"ramp": true}`. Empty: the drawing stays.
    """

    key: str
    title: str
    about: str
    headings: tuple[Heading, ...]
    rows: Sequence[Sequence[Cell]]
    drawing: Markup
    plot: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> Markup:
        """Table and plot as JSON that may stand within a script element; what is not finite is a word, or null."""
        told = {
            "headings": [[heading.name, heading.unit] for heading in self.headings],
            "rows": _plain(self.rows, words=True),
            "plot": _plain(self.plot, words=False),
        }
        return htmlsafe_json_dumps(told, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _plain(value: Any, *, words: bool) -> Any:
    """The value with lists for sequences, and for a number that JSON does not have null, or a word."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) or not words else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _plain(part, words=words) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, words=words) for part in value]
    return value
