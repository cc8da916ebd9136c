"""`judge`: the maintainer's command.

Exit statuses: 0 all is done (or another living judge is at it, or the budget is used up); 1 this machine kept something
from being judged, or a check failed; 2 wrong usage, a broken setting, suite or data set, or a missing one; 3 this
machine is at fault as a whole; 130 Ctrl-C.
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

from judge.config import ConfigError, UsageError, load_settings
from judge.event_log import events_to
from judge.lazy_commands import Lazy, lazy_group
from sandbox.verdict import JudgeFault

USAGE, MACHINE_FAULT, INTERRUPTED = 2, 3, 130
_USAGE_ERRORS = {"tasks.card": "DatasetError", "tasks.suite": "SuiteError", "scoring.errors": "ScoringError"}

COMMANDS = {
    "data": Lazy("judge.data_cli", "app", "Data sets: import, list, verify."),
    "keys": Lazy("judge.keys_cli", "app", "The key that this judge signs with, and those whose signatures count."),
    "layers": Lazy("judge.layers_cli", "app", "The layers of public base images, which no author needs to send."),
    "score": Lazy("judge.score_cli", "app", "Scores: of what was judged, of published tables."),
    "site": Lazy("judge.site_cli", "app", "The leaderboard's pages: build, publish, serve."),
    "store": Lazy("judge.store_cli", "app", "The store: its digest."),
    "plan": Lazy("judge.plan_cli", "plan_command"),
    "explain": Lazy("judge.explain_cli", "explain_command"),
    "verify": Lazy("judge.verify_cli", "verify_command"),
    "selftest": Lazy("judge.selftest_cli", "selftest_command"),
    "intake": Lazy("judge.intake_cli", "intake_command"),
    "list": Lazy("judge.list_cli", "list_command"),
    "show": Lazy("judge.show_cli", "show_command"),
    "gc": Lazy("judge.gc_cli", "gc_command"),
    "rejudge": Lazy("judge.rejudge_cli", "rejudge_command"),
    "withdraw": Lazy("judge.standing_cli", "withdraw_command"),
    "disqualify": Lazy("judge.standing_cli", "disqualify_command"),
    "reinstate": Lazy("judge.standing_cli", "reinstate_command"),
    "invite": Lazy("judge.invite_cli", "invite_command"),
    "revoke": Lazy("judge.invite_cli", "revoke_command"),
    "refuse": Lazy("judge.refuse_cli", "refuse_command"),
    "invitations": Lazy("judge.invite_cli", "invitations_command"),
    "evaluate": Lazy("judge.run_cli", "evaluate_command"),
    "doctor": Lazy("judge.doctor_cli", "doctor_command"),
    "reap": Lazy("judge.run_cli", "reap_command"),
}

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Judge large atomistic models: run the submissions, measure, and build the leaderboard.",
    epilog="Exit status: 0 done, or the budget is used up; 1 something was kept from being judged or a check failed; 2 "
    "wrong usage, a broken setting, suite or data set, or a missing one; 3 this machine is at fault; 130 stopped.",
)


@app.callback()
def common(debug: Annotated[bool, typer.Option("--debug", help="show where an error comes from")] = False) -> None:
    """Options of all commands."""


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
    finally:
        gc.freeze()  # else the collector goes through everything once more on the way out, for half a second


def _loaded(names: Mapping[str, str]) -> Iterator[type[Exception]]:
    """Those of some classes that there can be an instance of: the others' modules were never imported."""
    return (getattr(sys.modules[module], name) for module, name in names.items() if module in sys.modules)


def explain(error: Exception) -> tuple[str, int]:
    """An error in one line, and the exit status."""
    match error:
        case _ if isinstance(error, (UsageError, ConfigError, *_loaded(_USAGE_ERRORS))):
            return f"judge: {error}", USAGE
        case JudgeFault():
            return f"judge: this machine ({error.cause}): {error.mend}", MACHINE_FAULT
        case _:
            text = " ".join(str(error).split())[:300]
            return f"judge: a mistake of ours: {type(error).__name__}: {text}; see where with --debug", MACHINE_FAULT


if __name__ == "__main__":
    main()
