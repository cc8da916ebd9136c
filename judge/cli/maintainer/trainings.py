"""`judge trainings`: the trained models of submissions, and with --ask-again whether they still answer the same."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.markup import escape

from judge.audit.kept_models import KeptTraining, kept_trainings
from judge.cli.maintainer.request_options import make_request
from judge.cli.output import print_json
from judge.workspace import open_workspace
from sandbox.driver import DriverName
from submissions.progress import Reporter
from submissions.tables import plain_table, table_console

SHORT = 12  # digits of a hash that a table shows
SAME = 1e-4  # eV and eV/Å: what another order of sums changes in single precision


def run_trainings(
    ids: list[str] | None,
    suite: str | None,
    task: list[str] | None,
    gpus: str,
    driver: DriverName | None,
    skip_missing: bool,
    ask_again: bool,
    as_json: bool,
) -> None:
    """Lists trainings and their kept models. Stores nothing. Exit status 1 if a model answers differently."""
    request = make_request(ids, suite, task, gpus, driver, skip_missing)
    console = table_console(stderr=as_json)
    found = list(kept_trainings(open_workspace(), request, Reporter(Console(stderr=as_json)), ask_again))
    changed = [training for training in found if ask_again and _was_asked(training) and not _is_same(training)]
    if as_json:
        print_json({"trainings": [training.model_dump(mode="json") for training in found], "changed": len(changed)})
    elif not found:
        console.print("There are no trainings: no submission with a trainer, or no task that trains.")
    else:
        _show(console, found, ask_again)
    raise typer.Exit(1 if changed else 0)


def _was_asked(training: KeptTraining) -> bool:
    return training.answered and training.is_kept


def _is_same(training: KeptTraining) -> bool:
    return training.largest_change is not None and training.largest_change <= SAME


def _show(console: Console, found: list[KeptTraining], asked: bool) -> None:
    change = ("largest change",) if asked else ()
    table = plain_table("submission", "task", "training", "verdict", "model", *change, numbers=change)
    for each in found:
        changes = (("" if each.largest_change is None else f"{each.largest_change:.2g}"),) if asked else ()
        verdict = f"{each.verdict}" if each.verdict else "not trained yet"
        table.add_row(
            each.submission,
            each.task,
            each.training,
            verdict,
            each.model[:SHORT] if each.is_kept or not each.model else "deleted",
            *changes,
        )
    console.print(table)
    for each in found:
        if (each.verdict and not each.answered) or (asked and _was_asked(each) and each.largest_change is None):
            console.print(f"{each.submission} {each.task} {each.training}: {escape(each.sentence)}", soft_wrap=True)
