"""`judge`: the maintainer's command.

Exit statuses: 0 all is done (or another living judge is at it, or the budget is used up); 1 this machine kept something
from being judged, or a check failed; 2 wrong usage, a broken setting, suite or data set, or a missing one; 3 this
machine is at fault as a whole; 130 Ctrl-C.
"""

from __future__ import annotations

import json
import signal
import sys
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from judge.config import ConfigError, JudgeSettings, UsageError, load_settings
from judge.data_cli import app as data_app
from judge.doctor import examine
from judge.estimate import HOUR_S
from judge.evaluate import evaluate, in_words
from judge.event_log import events_to
from judge.explain_cli import explain_command
from judge.gc_cli import gc_command
from judge.keys_cli import app as keys_app
from judge.plan_cli import Drivers, Gpus, Json, SkipMissing, SuiteName, Tasks, asked_gpus, plan_command
from judge.rejudge_cli import rejudge_command
from judge.score_cli import app as score_app
from judge.selftest_cli import selftest_command
from judge.show_cli import list_command, show_command
from judge.site_cli import app as site_app
from judge.standing_cli import disqualify_command, reinstate_command, withdraw_command
from judge.store_cli import app as store_app
from judge.survey import Request
from judge.verify_cli import verify_command
from sandbox.drivers import open_driver
from sandbox.verdict import JudgeFault
from scoring import ScoringError
from submissions.progress import Reporter
from tasks.dataset import DatasetError
from tasks.suite import SuiteError

FAULTS, USAGE, MACHINE_FAULT, INTERRUPTED = 1, 2, 3, 130

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Judge large atomistic models: run the submissions, measure, and build the leaderboard.",
    epilog="Exit status: 0 done, or the budget is used up; 1 something was kept from being judged or a check failed; 2 "
    "wrong usage, a broken setting, suite or data set, or a missing one; 3 this machine is at fault; 130 stopped.",
)
app.add_typer(data_app, name="data", help="Data sets: import, list, verify.")
app.add_typer(keys_app, name="keys", help="The key that this judge signs with, and those whose signatures count.")
app.add_typer(score_app, name="score", help="Scores: of what was judged, of published tables.")
app.add_typer(site_app, name="site", help="The leaderboard's pages: build, publish, serve.")
app.add_typer(store_app, name="store", help="The store: its digest.")

app.command("plan")(plan_command)
app.command("explain")(explain_command)
app.command("verify")(verify_command)
app.command("selftest")(selftest_command)
app.command("list")(list_command)
app.command("show")(show_command)
app.command("gc")(gc_command)
app.command("rejudge")(rejudge_command)
app.command("withdraw")(withdraw_command)
app.command("disqualify")(disqualify_command)
app.command("reinstate")(reinstate_command)


@app.callback()
def common(debug: Annotated[bool, typer.Option("--debug", help="show where an error comes from")] = False) -> None:
    """Options of all commands."""


@app.command("evaluate")
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
    settings = load_settings()
    try:
        summary = evaluate(settings, request, Reporter(console, "judging"))
    except KeyboardInterrupt:
        again = " ".join(argument for argument in sys.argv[1:])
        print(f"\nStopped. What was finished is kept. To go on: judge {again}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        counts = {did.value: count for did, count in summary.counts.items()}
        print(json.dumps({**summary.model_dump(mode="json"), "counts": counts, "exit_status": summary.exit_status}))
    else:
        for line in in_words(summary):
            console.print(escape(line), soft_wrap=True)
    raise typer.Exit(summary.exit_status)


@app.command("doctor")
def doctor_command(as_json: Json = False) -> None:
    """Tries everything that judging needs on this machine, and names what is to be mended."""
    findings = []
    for finding in examine(load_settings()):
        findings.append(finding)
        if not as_json:
            mark = {True: "ok ", None: "–  ", False: "NOT"}[finding.ok]
            print(f"{mark}  {finding.name}: {finding.text}", flush=True)
    if as_json:
        print(json.dumps([finding._asdict() for finding in findings], indent=1))
    raise typer.Exit(FAULTS if any(finding.ok is False for finding in findings) else 0)


@app.command("reap")
def reap_command(
    driver: Annotated[Literal["docker", "process"] | None, typer.Option(help="docker or process")] = None,
) -> None:
    """Removes the containers that dead judges left behind. `judge evaluate` does so by itself."""
    settings: JudgeSettings = load_settings()
    removed = open_driver(driver or settings.driver, settings.run_dir, settings.runtime).reap()
    print(f"Removed {removed}." if removed else "Nothing was left behind.")


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _event_log() -> AbstractContextManager[None]:
    """Writes down what happens meanwhile. Settings that are broken are told by the command that needs them."""
    try:
        return events_to(load_settings().log)
    except ConfigError:
        return nullcontext()


def main() -> None:
    """Entry point of `judge`: one line for every error, and an exit status that a script can use."""
    signal.signal(signal.SIGTERM, _interrupt)  # a service manager's stop is as good as Ctrl-C
    debug = "--debug" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--debug"]
    try:
        with _event_log():
            app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:  # the very top: a person reads one line
        if debug:
            raise
        line, status = explain(error)
        print(line, file=sys.stderr)
        sys.exit(status)


def explain(error: Exception) -> tuple[str, int]:
    """An error in one line, and the exit status."""
    match error:
        case UsageError() | ConfigError() | DatasetError() | SuiteError() | ScoringError():
            return f"judge: {error}", USAGE
        case JudgeFault():
            return f"judge: this machine ({error.cause}): {error.mend}", MACHINE_FAULT
        case _:
            text = " ".join(str(error).split())[:300]
            return f"judge: a mistake of ours: {type(error).__name__}: {text}; see where with --debug", MACHINE_FAULT


if __name__ == "__main__":
    main()
