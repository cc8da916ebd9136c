"""The preflight report as a table for a terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from sandbox.events import plain
from submissions.preflight.task_outlook import CAN_DO
from submissions.records import PreflightReport
from submissions.tables import plain_table

MAX_SHOWN = 1000


def preflight_table(name: str, report: PreflightReport) -> Table:
    """A row for each check: its name, whether it passed, and the finding.

    Args:
        name: of the model, for the title.
    """
    caption = "* required; the others are reported, and refuse no image."
    table = plain_table("check", "", title=f"Preflight of [bold]{escape(plain(name, MAX_SHOWN))}[/]")
    table.add_column("found")
    table.caption, table.caption_justify = caption, "left"
    for n, check in enumerate(report.checks):
        if n and check.name == CAN_DO:  # the rows of tasks are the last ones
            table.add_row()
        mark = {True: "[green]✓[/]", False: "[yellow]![/]", None: "[dim]·[/]"}[check.passed]
        called = escape(plain(check.name))
        table.add_row(f"[bold]{called}[/] *" if check.gating else called, mark, escape(plain(check.value, MAX_SHOWN)))
    return table
