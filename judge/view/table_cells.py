"""Cells of tables with little markup around them, since a page has thousands: for tables of the class `lean`.

A cell there is a number unless it says `word`, and none is ended: HTML lets the next one, or the next row, do that. So
nothing may stand between cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from markupsafe import Markup

from judge.view.escaping import number, words

_LEAST, _MOST = 1e-3, 999.0
_FIRST_FROM_THE_RIGHT = "\u0590"
"""All scripts that are written from the right come after it."""


@lru_cache(maxsize=1 << 14)
def isolated(text: str) -> Markup:
    """The text, kept from turning around what stands beside it, if it has letters that could."""
    safe = words(text)
    return safe if text.isascii() or max(text) < _FIRST_FROM_THE_RIGHT else Markup(f"<bdi>{safe}</bdi>")


def word_cell(text: str, more: str = "") -> str:
    """A cell of text; `more` are further attributes, with a space before."""
    return f'<td class="word"{more}>{isolated(text)}'


def lean_row(heading: str, cells: str) -> str:
    """A row of cells under its heading: first of a row of numbers, it is the row's, as HTML has it."""
    return f"<tr><th>{heading}{cells}"


def number_cells(texts: Sequence[str]) -> str:
    """Cells of numbers, which need no escaping: they are made here."""
    return f"<td>{'<td>'.join(texts)}" if texts else ""


def shown(value: float | None, digits: int = 3) -> str:
    """As `judge.view.formatting.number`, sooner for the numbers that most are: those without a power or thousands."""
    if value is None or not _LEAST <= abs(value) < _MOST:
        return number(value, digits)
    text = f"{value:#.{digits}g}"
    return number(value, digits) if "e" in text else text.removesuffix(".").replace("-", "−")
