"""`judge evaluate`: judges on this machine. `judge reap`: removes containers of dead judges."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import typer
from rich.console import Console

from judge.cli.intake.intake import intake_before_judging, write_statuses_of_suite
from judge.cli.maintainer.cluster import judged_on_cluster, require_packages
from judge.cli.maintainer.request_options import require_choice
from judge.cli.output import print_done, print_json, print_lines
from judge.config import UsageError, load_settings
from judge.evaluation.evaluate import Summary, evaluate, in_words
from judge.evaluation.request import Request
from judge.evaluation.workers import Workers, joined, shares_of_gpus
from judge.intake.summary import IntakeSummary
from judge.workspace import Workspace, open_workspace
from sandbox.drivers.open_driver import open_driver
from submissions.progress import Reporter

INTERRUPTED = 130


def run_evaluate(
    request: Request, everything: bool, jobs: int | None, as_json: bool, cluster: str = "", gpus: str = ""
) -> None:
    """Judges all units without a result. You can stop it at any time; the next run continues.

    Args:
        jobs: number of worker processes; None: one, or with several GPUs one for each if all were asked for.
        cluster: where Dask starts the workers; empty: they are on this machine, without Dask.
        gpus: of each worker on a cluster.
    """
    require_choice("evaluate", request.ids, everything)
    shares = worker_gpus(request.gpus, jobs)
    if cluster:
        require_packages()
    console = Console(stderr=as_json)
    workspace = open_workspace()
    try:
        intake = intake_before_judging(workspace, request, Reporter(console, "intake")) if everything else None
        if cluster:
            summary = judged_on_cluster(workspace, request, cluster, gpus, jobs, console)
        else:
            summary = _evaluated(workspace, request, shares, console)
        write_statuses_of_suite(workspace, request.suite, Reporter(console).say)
    except KeyboardInterrupt:
        print(
            f"\nStopped. Finished units are kept. To continue: {shlex.join(['judge', *sys.argv[1:]])}", file=sys.stderr
        )
        raise typer.Exit(INTERRUPTED) from None
    status = max(summary.exit_status, intake.exit_status if intake else 0)
    if as_json:
        print_json(as_json_of(summary, intake, status), indent=None)
    else:
        print_lines(console, in_words(summary))
    raise typer.Exit(status)


def _evaluated(workspace: Workspace, request: Request, shares: Sequence[tuple[str, ...]], console: Console) -> Summary:
    """Judges with a worker for each share of GPUs. What lost workers left is judged in this process at the end."""
    reporter = Reporter(console, "judging")
    if len(shares) == 1:
        return evaluate(workspace, request, reporter)
    begin, choice = time.monotonic(), list(request.ids) or ["--all"]
    options = [replace(request, ids=(), gpus=gpus).options + ["--retry-held"] * request.retry_held for gpus in shares]
    reports = Workers([[*choice, *each] for each in options], reporter.say).run()
    budget_s = request.budget_s and max(request.budget_s - (time.monotonic() - begin), 1e-3)
    summary = evaluate(workspace, replace(request, retry_held=False, budget_s=budget_s), reporter)
    return summary.model_copy(update={"units": joined(summary.units, reports)})


def worker_gpus(gpus: Sequence[str], jobs: int | None) -> list[tuple[str, ...]]:
    """The GPUs of each worker.

    Raises:
        UsageError: there are fewer GPUs than workers, or no worker.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs must be at least 1, not {jobs}")
    try:
        return shares_of_gpus(gpus, jobs)
    except ValueError as error:
        raise UsageError(str(error)) from None


def as_json_of(summary: Summary, intake: IntakeSummary | None, status: int) -> dict[str, object]:
    """The summary of a run, for a program."""
    counts = {did.value: count for did, count in summary.counts.items()}
    intake_json = intake.model_dump(mode="json") if intake else None
    return {**summary.model_dump(mode="json"), "counts": counts, "exit_status": status, "intake": intake_json}


def run_reap(driver: Literal["docker", "process"] | None, as_json: bool) -> None:
    """Removes the containers of dead judges. `judge evaluate` does so by itself."""
    settings = load_settings()
    removed = open_driver(driver or settings.driver, settings.run_dir, settings.runtime, settings.cold_start).reap()
    print_done(as_json, {"removed": removed}, f"Removed {removed}." if removed else "There is nothing to remove.")
