"""`judge work`: one of several workers. It ends when nothing is left that nobody works on, or when its time is up."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import typer
from rich.console import Console

from judge.cli.maintainer.evaluate import INTERRUPTED, as_json_of
from judge.cli.maintainer.request_options import require_choice
from judge.cli.output import print_json, print_lines
from judge.config import UsageError
from judge.evaluation.evaluate import evaluate, in_words
from judge.evaluation.request import Request
from judge.records.process_identity import process_identity
from judge.workspace import open_workspace
from submissions.progress import Reporter, duration

LONGEST_TIMER_S = 1e9  # setitimer refuses three centuries


class TimeIsUp(BaseException):
    """The worker's time limit is reached."""


def run_work(request: Request, everything: bool, time_limit: float | None, as_json: bool) -> None:
    """Takes units by claims until none is free. After the time limit, the unit that runs is left to others."""
    require_choice("work", request.ids, everything)
    if time_limit is not None and not time_limit > 0:
        raise UsageError(f"--time-limit must be more than 0 seconds, not {time_limit:g}")
    console = Console(stderr=as_json)
    reporter = Reporter(console, "judging")
    workspace = open_workspace()
    try:
        with _ends_after(time_limit):
            summary = evaluate(workspace, request, reporter, process_identity())
    except TimeIsUp:
        reporter.say(f"The time limit of {duration(time_limit or 0)} is reached: the unit that ran is left to others.")
        raise typer.Exit from None
    except KeyboardInterrupt:
        again = shlex.join(["judge", *sys.argv[1:]])
        print(f"\nStopped. Finished units are kept, and others may go on with the rest; or: {again}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json(as_json_of(summary, None, summary.exit_status), indent=None)
    else:
        print_lines(console, in_words(summary))
    raise typer.Exit(summary.exit_status)


@contextmanager
def _ends_after(seconds: float | None) -> Iterator[None]:
    """A context in which `TimeIsUp` is raised after so many seconds."""

    def end(signum: int, frame: FrameType | None) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, min(seconds or 0.0, LONGEST_TIMER_S))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
