"""`judge`: the maintainer's command.

Exit statuses: 0 everything is done, or another judge works on it, or the budget is used up; 1 this machine prevented
something from being judged, or a check failed; 2 wrong usage, or a broken or missing setting, suite or data set; 3 this
machine is at fault; 130 Ctrl-C.
"""

from __future__ import annotations

import gc
import signal
import sys
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Annotated

import typer

from judge.gc_pause import end_process
from submissions.cli.entry import EVERYWHERE, HELP, Debug, Quiet, take_common, version_of
from submissions.cli.lazy import Lazy, lazy_group
from submissions.cli.usage_errors import run

USAGE, MACHINE_FAULT, INTERRUPTED = 2, 3, 130
_USAGE_ERRORS = {
    "judge.config": ("UsageError", "ConfigError"),
    "tasks.datasets.card": ("DatasetError",),
    "tasks.suites.suite": ("SuiteError",),
    "tasks.kinds.registry": ("KindError",),
    "scoring.errors": ("ScoringError",),
}
_MACHINE_ERRORS = {"sandbox.verdict": ("JudgeFault",)}

# By name: the module in `judge.cli` with `app` or the function NAME_command, and the line about it.
_GROUPS = {
    "score": ("commands.score", "Scores of judged submissions, and of published tables."),
    "data": ("commands.data", "Data sets: get, import, make, list, verify."),
    "site": ("commands.site", "The leaderboard's pages: build, publish, serve."),
    "store": ("commands.store", "The store: its digest, and what it uses."),
    "keys": ("maintainer.keys", "The key that this judge signs with, and the keys whose signatures count."),
    "layers": ("commands.layers", "Layers of public base images, which no author needs to send."),
}
_COMMANDS = {
    "demo": ("commands.machine", "Judges five example models, and makes a leaderboard."),
    "doctor": ("commands.machine", "Tries everything that judging needs on this machine."),
    "plan": ("commands.judging", "Estimates what is left to be judged, and how many hours it will take."),
    "evaluate": ("commands.judging", "Judges all units without a result."),
    "work": ("commands.judging", "Judges as one of several workers that share the store."),
    "status": ("commands.judging", "Shows who works on what, how fast, and what is left."),
    "list": ("maintainer.list", "Lists the submissions with the number of their results."),
    "show": ("commands.submissions", "Shows one submission: its image, verdicts and held tasks."),
    "explain": ("commands.submissions", "Shows the scores of a submission."),
    "verify": (
        "commands.machine",
        "Measures every result again from its observation; checks what was published.",
    ),
    "selftest": ("commands.machine", "Attacks this machine's sandbox with hostile images."),
    "rejudge": ("commands.judging", "Judges again what was judged, and shows old and new results."),
    "trainings": ("commands.judging", "Lists trainings and their kept models."),
    "withdraw": ("commands.submissions", "Takes a submission out of the ranking because its author asks for it."),
    "disqualify": ("commands.submissions", "Takes a submission out of the ranking because it breaks a rule."),
    "reinstate": ("commands.submissions", "Takes a withdrawn or disqualified submission back into the ranking."),
    "invite": ("commands.authors", "Invites an author."),
    "invitations": ("commands.authors", "Lists the invitations."),
    "revoke": ("commands.authors", "Revokes an invitation: nothing more is taken with it."),
    "intake": ("commands.authors", "Examines authors' submission requests, submits or refuses them."),
    "refuse": ("intake.refuse", "Refuses a delayed submission request that no intake can decide."),
    "gc": ("commands.machine", "Removes what nothing refers to."),
    "reap": ("commands.judging", "Removes the containers of dead judges."),
}

LAZY = {name: Lazy(f"judge.cli.{module}", f"{name}_command", help) for name, (module, help) in _COMMANDS.items()}
LAZY |= {name: Lazy(f"judge.cli.{module}", "app", help) for name, (module, help) in _GROUPS.items()}

app = typer.Typer(
    cls=lazy_group(LAZY),
    context_settings=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Judge large atomistic models: run the submissions, measure, and build the leaderboard.",
    epilog="Exit status: 0 done, or the budget is used up; 1 something could not be judged, or a check failed; 2 wrong "
    "usage, or a broken or missing setting, suite or data set; 3 this machine is at fault; 130 stopped.",
)


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[bool, version_of("judge")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Options of all commands."""
    if not set(sys.argv) & set(HELP["help_option_names"]):
        context.with_resource(_event_log())


def _interrupt(signum: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, lambda *_: None)  # a further one would interrupt the cleaning up
    raise KeyboardInterrupt


def _event_log() -> AbstractContextManager[None]:
    """Appends the events of this command to the log. The command itself reports broken settings."""
    from judge.config import ConfigError, load_settings  # here, for `judge --help` needs neither
    from judge.upkeep.event_log import events_to

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
    sys.argv[1:], debug = take_common(sys.argv[1:])
    try:
        run(app, "judge", EVERYWHERE)
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


def _loaded(names: Mapping[str, tuple[str, ...]]) -> tuple[type[Exception], ...]:
    """The classes whose modules were imported: of others there can be no instance."""
    return tuple(
        getattr(sys.modules[module], name) for module in names if module in sys.modules for name in names[module]
    )


def explain(error: Exception) -> tuple[str, int]:
    """One line about an error, and the exit status."""
    if isinstance(error, _loaded(_USAGE_ERRORS)):
        return f"judge: {error}", USAGE
    if isinstance(error, _loaded(_MACHINE_ERRORS)):
        return f"judge: this machine ({error.cause}): {error.remedy}", MACHINE_FAULT  # type: ignore[attr-defined]
    text = " ".join(str(error).split())[:300]
    return f"judge: a bug in judge: {type(error).__name__}: {text}; see where with --debug", MACHINE_FAULT


def process() -> None:
    """As `main`, for a process of its own: it ends without freeing large objects.

    Warnings of libraries, such as of a model's absurd stresses, appear only with --debug.
    """
    if "--debug" not in sys.argv and not sys.warnoptions:
        warnings.simplefilter("ignore")
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, int):
            end_process(end.code)
        raise


if __name__ == "__main__":
    process()
