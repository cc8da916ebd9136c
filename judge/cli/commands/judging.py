"""`judge plan|evaluate|rejudge|trainings|reap`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from judge.cli.completion import submissions
from judge.cli.options import AGAIN, Drivers, Everything, Gpus, Ids, Json, RetryHeld, SkipMissing, SuiteName, Tasks


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
    as_json: Json = False,
) -> None:
    """Estimates what is left to be judged, and how many hours it will take. Runs nothing."""
    from judge.cli.maintainer.plan import run_plan

    run_plan(ids, suite, task, gpus, driver, skip_missing, as_json)


def evaluate_command(
    ids: Ids = None,
    everything: Everything = False,
    suite: SuiteName = None,
    task: Tasks = None,
    gpus: Gpus = "",
    driver: Drivers = None,
    retry_held: RetryHeld = False,
    skip_missing: SkipMissing = False,
    observe_only: Annotated[
        bool, typer.Option("--observe-only", help="only ask the models; another machine has the labels and measures")
    ] = False,
    budget: Annotated[
        float | None, typer.Option(metavar="HOURS", help="start no unit that is expected to end later")
    ] = None,
    as_json: Json = False,
) -> None:
    """Judges all units without a result. You can stop it at any time; the next run continues."""
    from judge.cli.maintainer.evaluate import run_evaluate

    run_evaluate(ids, everything, suite, task, gpus, driver, retry_held, skip_missing, observe_only, budget, as_json)


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
