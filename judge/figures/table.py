"""The table of a figure as HTML. A script reads its cells for the downloads.

Cells show numbers as `judge.view.formatting` does. If a cell shows fewer digits than the number has, or another unit,
its attribute `data-is` has the number as JSON; `js/figure_table.js` reads all other numbers from the text. A leading
text that equals that of the row above appears once, in a cell that spans its rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from judge.view import formatting
from judge.view.escaping import words
from judge.view.table_cells import isolated, shown, word_cell

Cell = str | float | int | None
Row = Sequence[Cell]


class Heading(NamedTuple):
    """A column of the figure's table; `unit` is empty for text and pure numbers."""

    name: str
    unit: str = ""


def table_markup(headings: Sequence[Heading], rows: Sequence[Row], digits: int) -> Markup:
    """Head and body of the table.

    Args:
        digits: significant digits of the numbers shown.
    """
    units = [heading.unit for heading in headings]
    shared = _shared(rows)
    heights = _heights(shared)
    body = [
        f"<tr>{_row(row, units, digits, first, high)}" for row, first, high in zip(rows, shared, heights, strict=True)
    ]
    words_only = [all(row[i] is None or isinstance(row[i], str) for row in rows) for i in range(len(headings))]
    heads = "".join(map(_head, headings, words_only))
    return Markup(f"<thead><tr>{heads}</thead><tbody>{''.join(body)}</tbody>")


def _head(heading: Heading, text_only: bool) -> str:
    css = ' class="word"' if text_only else ""
    unit = ""
    if heading.unit:
        css += f' data-unit="{words(heading.unit)}"'
        unit = f'<span class="of"> {words(formatting.shown_unit(heading.unit))}</span>'
    return f'<th scope="col"{css}>{isolated(heading.name)}{unit}'


def _row(row: Row, units: Sequence[str], digits: int, first: int, heights: Sequence[int]) -> str:
    """The cells of a row from `first` on; the cells before span this row from above."""
    if first > 0 and not heights:
        return "".join([_cell(row[i], units[i], digits) for i in range(first, len(row))])
    spans = [f' rowspan="{high}"' if high > 1 else "" for high in heights]
    spans += [""] * (len(row) - first - len(spans))
    name = [] if first else [_name_cell(row[0], spans[0])]
    start = max(first, 1)
    return "".join(name + [_cell(row[i], units[i], digits, spans[i - first]) for i in range(start, len(row))])


def _name_cell(cell: Cell, more: str) -> str:
    if isinstance(cell, str) and cell:
        return f'<th scope="row"{more}>{_sticky(cell) if more else isolated(cell)}'
    return (
        f'<th scope="row"{more}{_data_is(cell)}>{formatting.NONE if cell is None or cell == "" else words(str(cell))}'
    )


def _cell(cell: Cell, unit: str, digits: int, more: str = "") -> str:
    """A cell other than the name of a row; a text may span several rows."""
    if isinstance(cell, str):
        return f'<td class="word"{more}>{_sticky(cell)}' if more else word_cell(cell)
    if cell is None:
        return f"<td>{formatting.NONE}"
    if isinstance(cell, int):
        if not unit:
            return f"<td>{cell}" if 0 <= cell < 1000 else f"<td>{formatting.thousands(cell)}"
        cell = float(cell)
    text = shown(formatting.shown_value(cell, unit) if unit else cell, digits)
    return f"<td>{text}" if _reads_as(text, cell) else f"<td{_data_is(cell)}>{text}"


def _sticky(text: str) -> Markup:
    """The text of a cell that spans rows, in an element that the stylesheet keeps in sight."""
    return Markup(f"<bdi>{words(text)}</bdi>")


def _reads_as(text: str, value: float) -> bool:
    """True if a script reads the value from the text; it reads a dash as a missing value."""
    try:  # short texts have no space between thousands
        return float(text.replace("−", "-").replace("\u202f", "") if value < 0 or len(text) > 4 else text) == value
    except ValueError:
        return text == formatting.NONE


def _data_is(cell: Cell) -> str:
    """The attribute `data-is` with the value of the cell; infinity is a word, because JSON has no number for it."""
    if isinstance(cell, float):
        if math.isfinite(cell):
            return f' data-is="{float(cell)!r}"'
        cell = None if math.isnan(cell) else "Infinity" if cell > 0 else "-Infinity"
    return f' data-is="{escape(json.dumps(cell))}"'


def _shared(rows: Sequence[Row]) -> list[int]:
    """For each row, how many leading texts equal those of the row above; never all of its cells."""
    counts = []
    above: Row = ()
    for row in rows:
        n = 0
        while n < min(len(row) - 1, len(above)) and row[n] and isinstance(row[n], str) and row[n] == above[n]:
            n += 1
        counts.append(n)
        above = row
    return counts


def _heights(shared: Sequence[int]) -> list[list[int]]:
    """For each row, how many rows its leading cells span, from the first that is not shared; other cells span one."""
    heights: list[list[int]] = [[] for _ in shared]
    depth = max(shared, default=0)
    below = [1] * depth  # by column, how many rows a cell here would span
    for index in range(len(shared) - 1, -1, -1) if depth else ():
        heights[index] = below[shared[index] :]
        below = [below[i] + 1 if i < shared[index] else 1 for i in range(depth)]
    return heights
