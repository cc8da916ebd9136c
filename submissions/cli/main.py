"""`lambench-submit`: the author's command.

Exit statuses: 0 submitted, checked or shown; 1 refused; 2 wrong usage; 3 this machine is at fault.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from submissions.cli.entry import EVERYWHERE, HELP, Debug, Quiet, take_common, version_of
from submissions.cli.lazy import Lazy, lazy_group
from submissions.cli.usage_errors import run
from tasks.suites.names import did_you_mean

REFUSED, USAGE, MACHINE_FAULT = 1, 2, 3
BUG = "[bold red]A bug in lambench-submit:[/]"
SUBMIT = "submit"

COMMANDS = {
    SUBMIT: ("commands", "Checks IMAGE in the judge's own sandbox, shows the result, and submits it."),
    "check": ("commands", "Runs the judge's preflight and writes a receipt."),
    "init": ("init", "Writes what a submission needs."),
    "status": ("commands", "Shows the progress of a submission."),
    "log": ("commands", "Prints what a submission's container printed in the preflight."),
    "list": ("commands", "Shows all requests of an invitation."),
}
LAZY = {name: Lazy(f"{__package__}.{module}", f"{name}_command", help) for name, (module, help) in COMMANDS.items()}

app = typer.Typer(
    cls=lazy_group(LAZY),
    context_settings=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Submit a model: a container image that exposes an ASE calculator. lambench-submit IMAGE is short for "
    "lambench-submit submit IMAGE.",
    epilog="Exit status: 0 submitted, checked or shown; 1 refused; 2 wrong usage; 3 this machine is at fault.",
)


@app.callback()
def common(
    version: Annotated[bool, version_of("lambench-submit")] = False, quiet: Quiet = False, debug: Debug = False
) -> None:
    """Options of all commands."""


OWN_OPTIONS = {*HELP["help_option_names"], "--version", "--install-completion", "--show-completion"}


def with_command(arguments: list[str]) -> list[str]:
    """The arguments with their command: without one, they are about an image to submit.

    An image has no further argument: a word before one that is almost a command is a misspelt command.
    """
    known = not arguments or arguments[0].lower() in LAZY or arguments[0] in OWN_OPTIONS
    misspelt = bool(arguments[1:]) and not arguments[1].startswith("-") and did_you_mean(arguments[0], LAZY)
    return arguments if known or misspelt else [SUBMIT, *arguments]


def main() -> None:
    """Entry point of `lambench-submit`: one line for every error, and an exit status that a script can use."""
    arguments, debug = take_common(sys.argv[1:])
    sys.argv[1:] = with_command(arguments)
    try:
        run(app, "lambench-submit", EVERYWHERE)
    except Exception as error:  # at the very top: a person reads one line
        from rich.console import Console

        line, status = explain(error)
        if debug and line.startswith(BUG):
            raise
        Console(stderr=True, highlight=False).print(line)
        sys.exit(status)


def explain(error: Exception) -> tuple[str, int]:
    """One line about an error, in markup, and the exit status."""
    from pydantic import ValidationError  # here, for `lambench-submit --help` needs none of these
    from rich.markup import escape

    from sandbox.verdict import JudgeFault, SubmissionFault
    from submissions.card.file import CardError, first_complaint
    from submissions.client.http import WebError
    from submissions.client.status_bucket import InviteError, RevokedError
    from submissions.settings import SettingsFileError

    match error:
        case SubmissionFault():
            return f"[bold red]✗ {error.verdict}[/]  {escape(error.sentence)}", REFUSED
        case JudgeFault():
            return f"[bold red]This machine ({error.cause}):[/] {escape(error.remedy)}", MACHINE_FAULT
        case ValidationError():
            return f"[bold red]judge.toml or LAMBENCH_…:[/] {escape(first_complaint(error))}", USAGE
        case RevokedError():
            return f"[bold red]{escape(str(error))}[/]", REFUSED
        case WebError():
            return f"[bold red]{escape(str(error))}[/]", MACHINE_FAULT
        case CardError() | InviteError() | SettingsFileError():
            return f"[bold red]{escape(str(error))}[/]", USAGE
        case _:
            text = " ".join(str(error).split())[:300]
            return f"{BUG} {type(error).__name__}: {escape(text)}; see where with --debug", MACHINE_FAULT


if __name__ == "__main__":
    main()
