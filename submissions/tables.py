"""Tables, numbers and JSON as commands print them: no frames, one line for each row of a table."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from typing import Any, Literal

from pydantic import BaseModel
from rich import box
from rich.console import Console
from rich.table import Table

FILE_WIDTH = 160


def plain_table(*columns: str, numbers: Collection[str] = (), title: str | None = None, folded: bool = False) -> Table:
    """An empty table with these columns, without frames.

    Args:
        numbers: columns that are aligned to the right.
        folded: long text continues in the next line; else it is cut.
    """
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        justify: Literal["left", "right"] = "right" if column in numbers else "left"
        table.add_column(column, no_wrap=not folded, overflow="fold" if folded else "ellipsis", justify=justify)
    return table


def table_console(stderr: bool = False) -> Console:
    """A console as wide as its terminal, or 160 characters wide if it writes to a file or a pipe."""
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=FILE_WIDTH)


def print_json(value: object) -> None:
    """Prints `value`, which may hold records, as JSON."""
    print(json.dumps(value, indent=2, default=_fields))


def _fields(record: BaseModel) -> dict[str, Any]:
    return record.model_dump(mode="json")


def number_text(value: float | None, digits: int = 4) -> str:
    """The number with this many significant digits; a dash for None and NaN."""
    if value is None or math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else f"{value:.{digits}g}"
