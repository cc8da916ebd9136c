"""`lambench-submit`: the author's command.

Exit statuses: 0 submitted, checked or shown; 1 refused; 2 wrong usage; 3 this machine is at fault.
"""

from __future__ import annotations

import sys

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from sandbox.verdict import JudgeFault, SubmissionFault
from submissions.card.file import CardError, first_complaint
from submissions.cli.check import check_command
from submissions.cli.init import init_command
from submissions.cli.status import list_command, log_command, status_command
from submissions.cli.submit import submit_command
from submissions.client.http import WebError
from submissions.client.status_bucket import InviteError

REFUSED, USAGE, MACHINE_FAULT = 1, 2, 3
BUG = "[bold red]A bug in lambench-submit:[/]"
SUBMIT = "submit"


app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Submit a model: a container image that exposes an ASE calculator. lambench-submit IMAGE is short for "
    "lambench-submit submit IMAGE.",
    epilog="Exit status: 0 submitted, checked or shown; 1 refused; 2 wrong usage; 3 this machine is at fault.",
)
app.command(SUBMIT)(submit_command)
app.command("status")(status_command)
app.command("log")(log_command)
app.command("list")(list_command)
app.command("check")(check_command)
app.command("init")(init_command)


@app.callback()
def common() -> None:
    """Keeps `submit` a subcommand."""


def with_command(arguments: list[str]) -> list[str]:
    """The arguments with their command: without one, they are about an image to submit."""
    known = {command.name for command in app.registered_commands} | {"--help"}
    return arguments if not arguments or arguments[0] in known else [SUBMIT, *arguments]


def main() -> None:
    """Entry point of `lambench-submit`: one line for every error, and an exit status that a script can use."""
    debug = "--debug" in sys.argv
    sys.argv[1:] = with_command([argument for argument in sys.argv[1:] if argument != "--debug"])
    try:
        app()
    except Exception as error:  # at the very top: a person reads one line
        line, status = explain(error)
        if debug and line.startswith(BUG):
            raise
        Console(stderr=True, highlight=False).print(line)
        sys.exit(status)


def explain(error: Exception) -> tuple[str, int]:
    """One line about an error, in markup, and the exit status."""
    match error:
        case SubmissionFault():
            return f"[bold red]✗ {error.verdict}[/]  {escape(error.sentence)}", REFUSED
        case JudgeFault():
            return f"[bold red]This machine ({error.cause}):[/] {escape(error.remedy)}", MACHINE_FAULT
        case ValidationError():
            return f"[bold red]judge.toml or LAMBENCH_…:[/] {escape(first_complaint(error))}", USAGE
        case WebError():
            return f"[bold red]{escape(str(error))}[/]", MACHINE_FAULT
        case CardError() | InviteError():
            return f"[bold red]{escape(str(error))}[/]", USAGE
        case _:
            text = " ".join(str(error).split())[:300]
            return f"{BUG} {type(error).__name__}: {escape(text)}; see where with --debug", MACHINE_FAULT


if __name__ == "__main__":
    main()
