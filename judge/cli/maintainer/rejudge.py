"""`judge rejudge`: judges again, shows what changed, and with --apply makes the new results count."""

from __future__ import annotations

import shlex
import sys

import typer
from rich.console import Console
from rich.table import Table

from judge.cli.maintainer.request_options import require_choice
from judge.cli.options import AGAIN, RETRY_HELD
from judge.cli.output import print_json, print_lines
from judge.cli.reasons import checked_reason
from judge.config import UsageError
from judge.evaluation.rejudge import Change, Rejudged, apply, judged_anew, rejudge
from judge.evaluation.request import Request
from judge.workspace import open_workspace
from submissions.progress import Reporter
from submissions.tables import number_text, plain_table, table_console

INTERRUPTED = 130


def run_rejudge(request: Request, everything: bool, again: bool, applied: bool, reason: str, as_json: bool) -> None:
    """Judges again what was judged, and shows old and new results. The old ones count until a call with --apply."""
    require_choice("rejudge", request.ids, everything)
    if reason and not applied:
        raise UsageError("--reason goes with --apply: without it nothing changes that needs a reason")
    if applied and (again or request.retry_held):
        first = AGAIN if again else RETRY_HELD
        raise UsageError(f"--apply judges nothing: first run judge rejudge {first} without it, and check what changed")
    words = checked_reason(reason) if applied else ""
    workspace, reporter = open_workspace(), Reporter(Console(stderr=as_json), "judging again")
    try:
        if applied:
            done = apply(workspace, judged_anew(workspace, request, reporter), words, reporter)
        else:
            done = rejudge(workspace, request, reporter, again)
    except KeyboardInterrupt:
        print(f"\nStopped. Finished units are kept. To continue: {_command(RETRY_HELD)}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json({**done.model_dump(mode="json"), "exit_status": done.exit_status}, indent=None)
    else:
        _show(done)
    raise typer.Exit(done.exit_status)


def _command(*kept: str) -> str:
    """The command that was typed, without --again and --retry-held unless they are `kept`."""
    dropped = {AGAIN, RETRY_HELD} - set(kept)
    return shlex.join(["judge", *(argument for argument in sys.argv[1:] if argument not in dropped)])


def _show(done: Rejudged) -> None:
    console = table_console()
    console.print(table_of(done.changes))
    failed = [f"{change.submission} {change.task}: {change.why}" for change in done.changes if change.after is None]
    print_lines(console, (*done.not_judged, *failed, *done.not_applied))
    if done.applied:
        console.print("The new results count from now on. Next: judge site build")
    elif any(change.after is not None for change in done.changes):
        next_step = f"{_command()} --apply --reason TEXT"
        print_lines(console, [f"The old results still count. To make the new ones count: {next_step}"])


def table_of(changes: tuple[Change, ...]) -> Table:
    """A table with a row for each metric of each task, before and after."""
    numbers = ("before", "after", "difference")
    table = plain_table("submission", "task", "verdict", "answers", "metric", *numbers, "unit", numbers=numbers)
    answers = {True: "the same", False: "different", None: "–"}
    for change in changes:
        new = str(change.after) if change.after else "no verdict"
        verdict = new if new == str(change.before) else f"{change.before} → {new}"
        first = (change.submission, change.task, verdict, answers[change.same_answers])
        if not change.metrics:
            table.add_row(*first, "", "", "", "", "")
        for metric in change.metrics:
            shown = (number_text(value, 5) for value in (metric.before, metric.after, metric.difference))
            table.add_row(*first, metric.name, *shown, metric.unit)
            first = ("", "", "", "")
    return table
