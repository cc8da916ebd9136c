"""`judge rejudge`: judges anew, shows what changed, and makes it count where that is asked for."""

from __future__ import annotations

import json
import shlex
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from judge.cli.options import Drivers, Gpus, Json, SkipMissing, SuiteName, Tasks, asked_gpus, checked_reason
from judge.config import UsageError
from judge.evaluation.rejudge import Change, Rejudged, apply, judged_anew, rejudge
from judge.evaluation.request import Request
from judge.workspace import open_workspace
from submissions.progress import Reporter
from submissions.tables import plain_table, table_console

INTERRUPTED = 130
AGAIN, RETRY_HELD = "--again", "--retry-held"


def rejudge_command(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="submissions")] = None,
    everything: Annotated[bool, typer.Option("--all", help="all submissions")] = False,
    suite: SuiteName = None,
    task: Tasks = None,
    gpus: Gpus = "",
    driver: Drivers = None,
    retry_held: Annotated[bool, typer.Option(RETRY_HELD, help="try once more what is held")] = False,
    skip_missing: SkipMissing = False,
    again: Annotated[bool, typer.Option(AGAIN, help="begin anew, even if there is one that was not applied")] = False,
    applied: Annotated[bool, typer.Option("--apply", help="judge nothing; what was judged anew now counts")] = False,
    reason: Annotated[str, typer.Option(help="why they count, with --apply")] = "",
    as_json: Json = False,
) -> None:
    """Judges anew what was judged, beside the old, and shows both. What counts changes only with --apply.

    That judges nothing: it takes what an earlier call has judged and shown.
    """
    if everything == bool(ids):
        raise UsageError("say which submissions: judge rejudge --all, or judge rejudge ID…")
    if reason and not applied:
        raise UsageError("--reason goes with --apply: without it nothing changes that would want one")
    if applied and (again or retry_held):
        first = AGAIN if again else RETRY_HELD
        raise UsageError(f"--apply judges nothing: first judge rejudge {first} without it, and look at what changed")
    words = checked_reason(reason) if applied else ""
    request = Request(
        ids=tuple(ids or ()),
        suite=suite,
        tasks=tuple(task or ()),
        gpus=asked_gpus(gpus),
        driver=driver,
        retry_held=retry_held,
        skip_missing=skip_missing,
    )
    workspace, reporter = open_workspace(), Reporter(Console(stderr=as_json), "judging anew")
    try:
        if applied:
            done = apply(workspace, judged_anew(workspace, request, reporter), words, reporter)
        else:
            done = rejudge(workspace, request, reporter, again)
    except KeyboardInterrupt:
        print(f"\nStopped. What was finished is kept. To go on: {_command(RETRY_HELD)}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print(json.dumps({**done.model_dump(mode="json"), "exit_status": done.exit_status}))
    else:
        _show(done)
    raise typer.Exit(done.exit_status)


def _command(*kept: str) -> str:
    """The command that was given, without what is for the first call only."""
    first = {AGAIN, RETRY_HELD} - set(kept)
    return shlex.join(["judge", *(argument for argument in sys.argv[1:] if argument not in first)])


def _show(done: Rejudged) -> None:
    console = table_console()
    console.print(table_of(done.changes))
    failed = [f"{change.submission} {change.task}: {change.why}" for change in done.changes if change.after is None]
    for line in (*done.not_judged, *failed, *done.not_applied):
        console.print(escape(line), soft_wrap=True)
    if done.applied:
        console.print("The new results count from now on. Next: judge site build")
    elif any(change.after is not None for change in done.changes):
        line = f"Nothing that counts has changed. To make it count: {_command()} --apply --reason TEXT"
        console.print(escape(line), soft_wrap=True)


def table_of(changes: tuple[Change, ...]) -> Table:
    """A line for each metric of each task, before and after."""
    numbers = ("before", "after", "difference")
    table = plain_table("submission", "task", "verdict", "answers", "metric", *numbers, "unit", numbers=numbers)
    answers = {True: "the same", False: "others", None: "–"}
    for change in changes:
        new = str(change.after) if change.after else "no verdict"
        verdict = new if new == str(change.before) else f"{change.before} → {new}"
        first = (change.submission, change.task, verdict, answers[change.same_answers])
        if not change.metrics:
            table.add_row(*first, "", "", "", "", "")
        for metric in change.metrics:
            shown = map(_shown, (metric.before, metric.after, metric.difference))
            table.add_row(*first, metric.name, *shown, metric.unit)
            first = ("", "", "", "")
    return table


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.5g}"
