"""`judge list`: the submissions, a line each."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import typer
from rich.cells import cell_len, set_cell_size

from judge.records.decisions import read_standings
from judge.records.record_index import open_index
from judge.records.results import submission_ids
from judge.workspace import open_workspace
from sandbox.events import plain


def list_command(
    as_json: Annotated[bool, typer.Option("--json", help="print the answer as JSON")] = False,
) -> None:
    """The submissions, and how far each is judged."""
    workspace = open_workspace()
    settings, store = workspace.settings, workspace.store
    standings = read_standings(store, submission_ids(store), workspace.trusted)
    found = open_index(settings, store).summaries({id: standing.rounds for id, standing in standings.items()})
    rows: list[dict[str, str | int]] = [
        {
            "id": each.id,
            "name": each.name,
            "driver": each.driver,
            "submitted": each.submitted,
            "results": each.results,
            "ok": each.ok,
            "held": each.held,
            "standing": standings[each.id].in_words,
        }
        for each in found
    ]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    if not rows:
        print(f"No submission in {settings.store} yet: lambench-submit IMAGE")
        return
    print("\n".join(_lines(rows)))


def _lines(rows: Sequence[Mapping[str, str | int]]) -> Iterator[str]:
    """A table of `rows`, no wider than the terminal. Rich needs milliseconds a row, which thousands of rows feel."""
    shown = [list(rows[0]), *([plain(str(value)) for value in row.values()] for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    numbers = [isinstance(value, int) for value in rows[0].values()]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    whole = sum(widths) + 3 * len(widths) - 1
    for number, cells in enumerate(shown):
        padded = (
            " " * (width - cell_len(cell)) + cell if right else cell + " " * (width - cell_len(cell))
            for cell, width, right in zip(cells, widths, numbers, strict=True)
        )
        line = f" {'   '.join(padded)}".rstrip()
        yield line if cell_len(line) <= room else set_cell_size(line, room - 1) + "…"
        if number == 0:
            yield "─" * min(whole, room)
