"""Cells of tables of the class `lean`, with little markup, because a page has thousands of cells.

A cell is a number unless it has the class `word`. It has no end tag: in HTML the next cell or row ends it. So no text
may stand between cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from markupsafe import Markup

from judge.view.escaping import number, words

_LEAST, _MOST = 1e-3, 999.0
_FIRST_FROM_THE_RIGHT = "\u0590"
"""Characters of scripts that are written from right to left are at or after this one."""


@lru_cache(maxsize=1 << 14)
def isolated(text: str) -> Markup:
    """The escaped text, in <bdi> if its letters could reverse the text beside it."""
    safe = words(text)
    return safe if text.isascii() or max(text) < _FIRST_FROM_THE_RIGHT else Markup(f"<bdi>{safe}</bdi>")


def word_cell(text: str) -> str:
    """A cell of text."""
    return f'<td class="word">{isolated(text)}'


def lean_row(heading: str, cells: str) -> str:
    """A row of cells after its heading. HTML takes a <th> before data cells for the heading of the row."""
    return f"<tr><th>{heading}{cells}"


def number_cells(texts: Sequence[str]) -> str:
    """Cells of formatted numbers, which need no escaping."""
    return f"<td>{'<td>'.join(texts)}" if texts else ""


def shown(value: float | None, digits: int = 3) -> str:
    """As `judge.view.formatting.number`, but faster for numbers without a power of ten and without thousands."""
    if value is None or not _LEAST <= abs(value) < _MOST:
        return number(value, digits)
    text = f"{value:#.{digits}g}"
    return number(value, digits) if "e" in text else text.removesuffix(".").replace("-", "−")
