"""`judge evaluate`: judges on this machine. `judge reap`: removes containers of dead judges."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import Literal

import typer
from rich.console import Console

from judge.cli.intake.intake import intake_before_judging, write_statuses_of_suite
from judge.cli.maintainer.request_options import make_request, require_choice
from judge.cli.output import print_done, print_json, print_lines
from judge.config import UsageError, load_settings
from judge.evaluation.estimate import HOUR_S
from judge.evaluation.evaluate import Summary, evaluate, in_words
from judge.intake.summary import IntakeSummary
from judge.workspace import open_workspace
from sandbox.driver import DriverName
from sandbox.drivers.open_driver import open_driver
from submissions.progress import Reporter

INTERRUPTED = 130


def run_evaluate(
    ids: list[str] | None,
    everything: bool,
    suite: str | None,
    task: list[str] | None,
    gpus: str,
    driver: DriverName | None,
    retry_held: bool,
    skip_missing: bool,
    observe_only: bool,
    budget: float | None,
    as_json: bool,
) -> None:
    """Judges all units without a result. You can stop it at any time; the next run continues."""
    require_choice("evaluate", ids, everything)
    if budget is not None and not budget > 0:
        raise UsageError(f"--budget must be more than 0 hours, not {budget:g}")
    request = replace(
        make_request(ids, suite, task, gpus, driver, skip_missing),
        retry_held=retry_held,
        observe_only=observe_only,
        budget_s=None if budget is None else budget * HOUR_S,
    )
    console = Console(stderr=as_json)
    workspace = open_workspace()
    try:
        intake = intake_before_judging(workspace, request, Reporter(console, "intake")) if everything else None
        summary = evaluate(workspace, request, Reporter(console, "judging"))
        write_statuses_of_suite(workspace, request.suite, Reporter(console).say)
    except KeyboardInterrupt:
        print(
            f"\nStopped. Finished units are kept. To continue: {shlex.join(['judge', *sys.argv[1:]])}", file=sys.stderr
        )
        raise typer.Exit(INTERRUPTED) from None
    status = max(summary.exit_status, intake.exit_status if intake else 0)
    if as_json:
        print_json(_as_json(summary, intake, status), indent=None)
    else:
        print_lines(console, in_words(summary))
    raise typer.Exit(status)


def _as_json(summary: Summary, intake: IntakeSummary | None, status: int) -> dict[str, object]:
    """The summary of a run, for a program."""
    counts = {did.value: count for did, count in summary.counts.items()}
    intake_json = intake.model_dump(mode="json") if intake else None
    return {**summary.model_dump(mode="json"), "counts": counts, "exit_status": status, "intake": intake_json}


def run_reap(driver: Literal["docker", "process"] | None, as_json: bool) -> None:
    """Removes the containers of dead judges. `judge evaluate` does so by itself."""
    settings = load_settings()
    removed = open_driver(driver or settings.driver, settings.run_dir, settings.runtime, settings.cold_start).reap()
    print_done(as_json, {"removed": removed}, f"Removed {removed}." if removed else "There is nothing to remove.")
