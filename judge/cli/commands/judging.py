"""`judge plan|evaluate|work|status|rejudge|trainings|reap`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from judge.cli.completion import submissions
from judge.cli.options import (
    AGAIN,
    BudgetHours,
    Drivers,
    Everything,
    Gpus,
    Ids,
    Json,
    ObserveOnly,
    RetryHeld,
    SkipMissing,
    SuiteName,
    Tasks,
)


def plan_command(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="submissions; none for all", autocompletion=submissions),
    ] = None,
    suite: SuiteName = None,
    task: Tasks = None,
    gpus: Gpus = "",
    driver: Drivers = None,
    skip_missing: SkipMissing = False,
    workers: Annotated[int, typer.Option("--workers", metavar="N", min=1, help="how long so many would take")] = 1,
    as_json: Json = False,
) -> None:
    """Estimates what is left to be judged, and how many hours it will take. Runs nothing."""
    from judge.cli.maintainer.plan import run_plan
    from judge.cli.maintainer.request_options import make_request

    run_plan(make_request(ids, suite, task, gpus, driver, skip_missing), workers, as_json)


def evaluate_command(
    ids: Ids = None,
    everything: Everything = False,
    suite: SuiteName = None,
    task: Tasks = None,
    gpus: Gpus = "",
    driver: Drivers = None,
    retry_held: RetryHeld = False,
    skip_missing: SkipMissing = False,
    observe_only: ObserveOnly = False,
    budget: BudgetHours = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", help="worker processes; with --gpus all one for each GPU")
    ] = None,
    cluster: Annotated[
        str, typer.Option("--cluster", metavar="WHERE", help="workers by Dask: local, slurm, ssh, or an address")
    ] = "",
    as_json: Json = False,
) -> None:
    """Judges all units without a result. You can stop it at any time; the next run continues."""
    from judge.cli.maintainer.evaluate import run_evaluate
    from judge.cli.maintainer.request_options import ALL_GPUS, make_request

    gpus_here, gpus_there = ("", gpus) if cluster else (gpus, "")
    request = make_request(ids, suite, task, gpus_here, driver, skip_missing, retry_held, observe_only, budget)
    each_gpu = len(request.gpus) if gpus_here.strip().casefold() == ALL_GPUS else None
    run_evaluate(request, everything, each_gpu if jobs is None else jobs, as_json, cluster, gpus_there)


def work_command(
    ids: Ids = None,
    everything: Everything = False,
    suite: SuiteName = None,
    task: Tasks = None,
    gpus: Gpus = "",
    driver: Drivers = None,
    retry_held: RetryHeld = False,
    skip_missing: SkipMissing = False,
    observe_only: ObserveOnly = False,
    budget: BudgetHours = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="then leave the unit that runs, and end")
    ] = None,
    as_json: Json = False,
) -> None:
    """Judges as one of several workers that share the store. It ends when others work on all that is left."""
    from judge.cli.maintainer.request_options import make_request
    from judge.cli.maintainer.work import run_work

    request = make_request(ids, suite, task, gpus, driver, skip_missing, retry_held, observe_only, budget)
    run_work(request, everything, time_limit, as_json)


def status_command(
    suite: SuiteName = None,
    watch: Annotated[bool, typer.Option("--watch", help="renew it until everything is judged")] = False,
    as_json: Json = False,
) -> None:
    """Shows who works on what, how fast, and what is left, from the store alone. Changes nothing."""
    from judge.cli.maintainer.status import run_status

    run_status(suite, watch, as_json)


def reap_command(
    driver: Annotated[Literal["docker", "process"] | None, typer.Option(help="docker or process")] = None,
    as_json: Json = False,
) -> None:
    """Removes the containers of dead judges. `judge evaluate` does so by itself."""
    from judge.cli.maintainer.evaluate import run_reap

    run_reap(driver, as_json)


def rejudge_command(
    ids: Ids = None,
    everything: Everything = False,
    suite: SuiteName = None,
    task: Tasks = None,
    gpus: Gpus = "",
    driver: Drivers = None,
    retry_held: RetryHeld = False,
    skip_missing: SkipMissing = False,
    again: Annotated[
        bool, typer.Option(AGAIN, help="start another round, even if the last one was not applied")
    ] = False,
    applied: Annotated[
        bool, typer.Option("--apply", help="judge nothing: the results of the last round count from now on")
    ] = False,
    reason: Annotated[str, typer.Option(help="with --apply: why they count")] = "",
    as_json: Json = False,
) -> None:
    """Judges again what was judged, and shows old and new results. The old ones count until a call with --apply.

    --apply judges nothing: it makes the results count that an earlier call has judged and shown.
    """
    from judge.cli.maintainer.rejudge import run_rejudge
    from judge.cli.maintainer.request_options import make_request

    request = make_request(ids, suite, task, gpus, driver, skip_missing, retry_held)
    run_rejudge(request, everything, again, applied, reason, as_json)


def trainings_command(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="submissions; none for all", autocompletion=submissions),
    ] = None,
    suite: SuiteName = None,
    task: Tasks = None,
    gpus: Gpus = "",
    driver: Drivers = None,
    skip_missing: SkipMissing = False,
    ask_again: Annotated[bool, typer.Option("--ask-again", help="ask each kept model once more, and compare")] = False,
    as_json: Json = False,
) -> None:
    """Lists trainings and their kept models. Stores nothing. Exit status 1 if a model answers differently."""
    from judge.cli.maintainer.trainings import run_trainings

    run_trainings(ids, suite, task, gpus, driver, skip_missing, ask_again, as_json)
