"""`judge list`: the submissions, a line each."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import typer
from rich.cells import cell_len, set_cell_size

from judge.cli.output import print_json
from judge.records.decisions import Decisions, read_all_decisions
from judge.records.record_cache import SubmissionFacts, open_cache
from judge.records.result_selection import select_counting
from judge.records.results import submission_ids
from judge.workspace import open_workspace
from sandbox.events import plain
from sandbox.verdict import Verdict


def list_command(
    as_json: Annotated[bool, typer.Option("--json", help="print the answer as JSON")] = False,
) -> None:
    """Lists the submissions with the number of their results."""
    workspace = open_workspace()
    settings, store = workspace.settings, workspace.store
    decisions_by_id = read_all_decisions(store, submission_ids(store), workspace.trusted)
    facts = open_cache(settings, store).facts(decisions_by_id)
    in_order = sorted(facts.values(), key=lambda each: (each.submission.created, each.submission.id))
    rows = [_row(each, decisions_by_id[each.submission.id]) for each in in_order]
    if as_json:
        print_json(rows)
        return
    if not rows:
        print(f"No submission in {settings.store} yet: lambench-submit IMAGE")
        return
    print("\n".join(_lines(rows)))


def _row(facts: SubmissionFacts, decisions: Decisions) -> dict[str, str | int]:
    submission, histories = facts.submission, facts.histories
    results = select_counting(facts.results, histories, decisions.rounds, of_all_suites=True)
    return {
        "id": submission.id,
        "name": submission.card.name,
        "driver": submission.image.driver,
        "submitted": f"{submission.created:%Y-%m-%d %H:%M}",
        "results": len(results),
        "ok": sum(result.verdict is Verdict.OK for result in results),
        "held": sum(history.held is not None for history in histories.values()),
        "decision": decisions.in_words,
    }


def _lines(rows: Sequence[Mapping[str, str | int]]) -> Iterator[str]:
    """A table of `rows`, no wider than the terminal. Written by hand, since rich takes milliseconds for each row."""
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
