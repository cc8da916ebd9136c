"""Tables as commands show them: plain, one line a row, and not squeezed where nobody's terminal is that narrow."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table

WIDTH_OF_A_FILE = 160


def plain_table(*columns: str, numbers: Collection[str] = (), title: str | None = None, folded: bool = False) -> Table:
    """An empty table with these columns, without frames; those of `numbers` are set to the right.

    Args:
        folded: what does not fit goes on in the next line, in place of being cut.
    """
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        justify: Literal["left", "right"] = "right" if column in numbers else "left"
        table.add_column(column, no_wrap=not folded, overflow="fold" if folded else "ellipsis", justify=justify)
    return table


def table_console(stderr: bool = False) -> Console:
    """A console as wide as its terminal; wide where it writes to a file or a pipe."""
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=WIDTH_OF_A_FILE)
