"""`judge`: the maintainer's command.

Exit statuses: 0 everything is done, or another judge works on it, or the budget is used up; 1 this machine prevented
something from being judged, or a check failed; 2 wrong usage, or a broken or missing setting, suite or data set; 3 this
machine is at fault; 130 Ctrl-C.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Annotated

import typer

from judge.cli.lazy import Lazy, lazy_group
from judge.config import ConfigError, UsageError, load_settings
from judge.gc_pause import end_process
from judge.upkeep.event_log import events_to
from sandbox.verdict import JudgeFault

USAGE, MACHINE_FAULT, INTERRUPTED = 2, 3, 130
_USAGE_ERRORS = {
    "tasks.datasets.card": "DatasetError",
    "tasks.suites.suite": "SuiteError",
    "tasks.kinds.registry": "KindError",
    "scoring.errors": "ScoringError",
}

# By name: the module in `judge.cli`, and the help of its `Typer`.
_GROUPS = {
    "data": ("maintainer.data", "Data sets: import, make, list, verify."),
    "keys": ("maintainer.keys", "The key that this judge signs with, and the keys whose signatures count."),
    "layers": ("intake.layers", "Layers of public base images, which no author needs to send."),
    "score": ("scores.score", "Scores of judged submissions, and of published tables."),
    "site": ("maintainer.site", "The leaderboard's pages: build, publish, serve."),
    "store": ("maintainer.store", "The store: what it holds, and its digest."),
}
# By name: the module in `judge.cli` with the function NAME_command.
_COMMANDS = {
    "plan": "maintainer.plan",
    "explain": "scores.explain",
    "verify": "maintainer.verify",
    "selftest": "maintainer.selftest",
    "intake": "intake.intake",
    "list": "maintainer.list",
    "show": "maintainer.show",
    "gc": "maintainer.gc",
    "rejudge": "maintainer.rejudge",
    "trainings": "maintainer.trainings",
    "withdraw": "maintainer.decisions",
    "disqualify": "maintainer.decisions",
    "reinstate": "maintainer.decisions",
    "invite": "intake.invite",
    "revoke": "intake.invite",
    "refuse": "intake.refuse",
    "invitations": "intake.invite",
    "evaluate": "maintainer.evaluate",
    "doctor": "maintainer.doctor",
    "demo": "maintainer.demo",
    "reap": "maintainer.evaluate",
}

LAZY = {name: Lazy(f"judge.cli.{module}", "app", help) for name, (module, help) in _GROUPS.items()}
LAZY |= {name: Lazy(f"judge.cli.{module}", f"{name}_command") for name, module in _COMMANDS.items()}

app = typer.Typer(
    cls=lazy_group(LAZY),
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Judge large atomistic models: run the submissions, measure, and build the leaderboard.",
    epilog="Exit status: 0 done, or the budget is used up; 1 something could not be judged, or a check failed; 2 wrong "
    "usage, or a broken or missing setting, suite or data set; 3 this machine is at fault; 130 stopped.",
)


@app.callback()
def common(debug: Annotated[bool, typer.Option("--debug", help="show the traceback of an error")] = False) -> None:
    """Options of all commands."""


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _event_log() -> AbstractContextManager[None]:
    """Appends the events of this command to the log. The command itself reports broken settings."""
    try:
        settings = load_settings()
    except ConfigError:
        return nullcontext()
    for notice in settings.notices:
        print(f"judge: {notice}", file=sys.stderr)
    return events_to(settings.log)


def main() -> None:
    """Entry point of `judge`: one line for every error, and an exit status that a script can use."""
    signal.signal(signal.SIGTERM, _interrupt)  # a service manager's stop has the effect of Ctrl-C
    debug = "--debug" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--debug"]
    try:
        with _event_log():
            app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:  # at the very top: a person reads one line
        if debug:
            raise
        line, status = explain(error)
        print(line, file=sys.stderr)
        sys.exit(status)
    finally:
        gc.freeze()  # else the collector takes half a second at the exit


def _loaded(names: Mapping[str, str]) -> Iterator[type[Exception]]:
    """The classes whose modules were imported: of others there can be no instance."""
    return (getattr(sys.modules[module], name) for module, name in names.items() if module in sys.modules)


def explain(error: Exception) -> tuple[str, int]:
    """One line about an error, and the exit status."""
    match error:
        case _ if isinstance(error, (UsageError, ConfigError, *_loaded(_USAGE_ERRORS))):
            return f"judge: {error}", USAGE
        case JudgeFault():
            return f"judge: this machine ({error.cause}): {error.remedy}", MACHINE_FAULT
        case _:
            text = " ".join(str(error).split())[:300]
            return f"judge: a bug in judge: {type(error).__name__}: {text}; see where with --debug", MACHINE_FAULT


def process() -> None:
    """As `main`, for a process of its own: it ends without freeing large objects."""
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, int):
            end_process(end.code)
        raise


if __name__ == "__main__":
    process()
