"""`judge evaluate`, `judge reap`: the judge at work on this machine."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from judge.cli.intake.intake import intake_before_judging, write_statuses_of_suite
from judge.cli.options import Drivers, Gpus, Json, SkipMissing, SuiteName, Tasks, asked_gpus
from judge.config import UsageError, load_settings
from judge.evaluation.estimate import HOUR_S
from judge.evaluation.evaluate import Summary, evaluate, in_words
from judge.evaluation.request import Request
from judge.intake.summary import IntakeSummary
from judge.workspace import open_workspace
from sandbox.drivers.open_driver import open_driver
from submissions.progress import Reporter

INTERRUPTED = 130


def evaluate_command(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="submissions")] = None,
    everything: Annotated[bool, typer.Option("--all", help="all submissions")] = False,
    suite: SuiteName = None,
    task: Tasks = None,
    gpus: Gpus = "",
    driver: Drivers = None,
    retry_held: Annotated[bool, typer.Option("--retry-held", help="try once more what is held")] = False,
    skip_missing: SkipMissing = False,
    observe_only: Annotated[
        bool, typer.Option("--observe-only", help="ask the models; the labels are on another machine, which measures")
    ] = False,
    budget: Annotated[
        float | None, typer.Option(metavar="HOURS", help="begin nothing that is expected to end later")
    ] = None,
    as_json: Json = False,
) -> None:
    """Judges what has no result yet. Stop it at any time; the next run goes on where it was."""
    if everything == bool(ids):
        raise UsageError("say which submissions: judge evaluate --all, or judge evaluate ID…")
    if budget is not None and not budget > 0:
        raise UsageError(f"--budget must be more than 0 hours, not {budget:g}")
    request = Request(
        ids=tuple(ids or ()),
        suite=suite,
        tasks=tuple(task or ()),
        gpus=asked_gpus(gpus),
        driver=driver,
        retry_held=retry_held,
        skip_missing=skip_missing,
        observe_only=observe_only,
        budget_s=None if budget is None else budget * HOUR_S,
    )
    console = Console(stderr=as_json)
    workspace = open_workspace()
    try:
        taken = intake_before_judging(workspace, request, Reporter(console, "intake")) if everything else None
        summary = evaluate(workspace, request, Reporter(console, "judging"))
        write_statuses_of_suite(workspace, request.suite, Reporter(console).say)
    except KeyboardInterrupt:
        again = " ".join(argument for argument in sys.argv[1:])
        print(f"\nStopped. What was finished is kept. To go on: judge {again}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    status = max(summary.exit_status, taken.exit_status if taken else 0)
    if as_json:
        print(json.dumps(_run_json(summary, taken, status)))
    else:
        for line in in_words(summary):
            console.print(escape(line), soft_wrap=True)
    raise typer.Exit(status)


def _run_json(summary: Summary, taken: IntakeSummary | None, status: int) -> dict[str, object]:
    """What a run did, for a machine."""
    counts = {did.value: count for did, count in summary.counts.items()}
    said = {**summary.model_dump(mode="json"), "counts": counts, "exit_status": status}
    return {**said, "intake": taken.model_dump(mode="json") if taken else None}


def reap_command(
    driver: Annotated[Literal["docker", "process"] | None, typer.Option(help="docker or process")] = None,
) -> None:
    """Removes the containers that dead judges left behind. `judge evaluate` does so by itself."""
    settings = load_settings()
    removed = open_driver(driver or settings.driver, settings.run_dir, settings.runtime).reap()
    print(f"Removed {removed}." if removed else "Nothing was left behind.")
