"""The table of a figure as HTML. A script reads it too: what is offered as a file are these very cells.

The page shows numbers as `judge.view.formatting` does. Where that has fewer digits than the number, or another unit,
the cell says in `data-is`, as JSON, what it is; `js/figure_table.js` reads the others as they stand. A leading text
that is that of the row above stands once, in a cell as high as all its rows.
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
        digits: that numbers are shown with.
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


def _head(heading: Heading, of_words: bool) -> str:
    css = ' class="word"' if of_words else ""
    unit = ""
    if heading.unit:
        css += f' data-unit="{words(heading.unit)}"'
        unit = f'<span class="of"> {words(formatting.shown_unit(heading.unit))}</span>'
    return f'<th scope="col"{css}>{isolated(heading.name)}{unit}'


def _row(row: Row, units: Sequence[str], digits: int, first: int, heights: Sequence[int]) -> str:
    """The cells of a row from the `first` on, those before being the row's above."""
    if first > 0 and not heights:
        return "".join([_cell(row[i], units[i], digits) for i in range(first, len(row))])
    spans = [f' rowspan="{high}"' if high > 1 else "" for high in heights]
    spans += [""] * (len(row) - first - len(spans))
    name = [] if first else [_name_cell(row[0], spans[0])]
    start = max(first, 1)
    return "".join(name + [_cell(row[i], units[i], digits, spans[i - first]) for i in range(start, len(row))])


def _name_cell(cell: Cell, more: str) -> str:
    if isinstance(cell, str) and cell:
        return f'<th scope="row"{more}>{_kept(cell) if more else isolated(cell)}'
    return f'<th scope="row"{more}{_is(cell)}>{formatting.NONE if cell is None or cell == "" else words(str(cell))}'


def _cell(cell: Cell, unit: str, digits: int, more: str = "") -> str:
    """A cell that is no row's name; texts may be several rows high."""
    if isinstance(cell, str):
        return f'<td class="word"{more}>{_kept(cell)}' if more else word_cell(cell)
    if cell is None:
        return f"<td>{formatting.NONE}"
    if isinstance(cell, int):
        if not unit:
            return f"<td>{cell}" if 0 <= cell < 1000 else f"<td>{formatting.thousands(cell)}"
        cell = float(cell)
    text = shown(formatting.shown_value(cell, unit) if unit else cell, digits)
    return f"<td>{text}" if _reads_as(text, cell) else f"<td{_is(cell)}>{text}"


def _kept(text: str) -> Markup:
    """The text of a cell that is several rows high, in an element that the stylesheet keeps in sight."""
    return Markup(f"<bdi>{words(text)}</bdi>")


def _reads_as(text: str, value: float) -> bool:
    """Whether a script gets the value from what is shown; a dash is nothing to it."""
    try:  # spaces between thousands are in few texts
        return float(text.replace("−", "-").replace("\u202f", "") if value < 0 or len(text) > 4 else text) == value
    except ValueError:
        return text == formatting.NONE


def _is(cell: Cell) -> str:
    """The attribute that says what the cell is: what is not finite as a word, since JSON has no number for it."""
    if isinstance(cell, float):
        if math.isfinite(cell):
            return f' data-is="{float(cell)!r}"'
        cell = None if math.isnan(cell) else "Infinity" if cell > 0 else "-Infinity"
    return f' data-is="{escape(json.dumps(cell))}"'


def _shared(rows: Sequence[Row]) -> list[int]:
    """Of each row, how many leading texts it has in common with the one above; never all of its cells."""
    found = []
    above: Row = ()
    for row in rows:
        n = 0
        while n < min(len(row) - 1, len(above)) and row[n] and isinstance(row[n], str) and row[n] == above[n]:
            n += 1
        found.append(n)
        above = row
    return found


def _heights(shared: Sequence[int]) -> list[list[int]]:
    """Of each row, how many rows high its leading cells are, from the first that is its own; others are one high."""
    found: list[list[int]] = [[] for _ in shared]
    depth = max(shared, default=0)
    below = [1] * depth  # by column, how many rows a cell here would be high
    for index in range(len(shared) - 1, -1, -1) if depth else ():
        found[index] = below[shared[index] :]
        below = [below[i] + 1 if i < shared[index] else 1 for i in range(depth)]
    return found
