"""What both commands, `judge` and `lambench-submit`, have in common: options of all commands, help and version."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated, Any

import typer

from submissions.quiet import QUIET

HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
"""For `context_settings` of the uppermost group; its subcommands inherit it."""

DEBUG, SILENT = "--debug", "--quiet"
EVERYWHERE = (DEBUG, SILENT)
"""Options that may stand anywhere."""

Debug = Annotated[bool, typer.Option(DEBUG, help="show the traceback of an error")]
Quiet = Annotated[bool, typer.Option(SILENT, help="print results and problems only, no progress")]


def version_of(command: str) -> Any:
    """The option `--version`, which prints the version and ends the command."""

    def show(value: bool) -> None:
        if value:
            print(f"{command} {metadata.version('lambench-judge')}")
            raise typer.Exit

    return typer.Option("--version", is_eager=True, callback=show, help="print the version")


def take_common(arguments: list[str]) -> tuple[list[str], bool]:
    """The arguments without options of all commands, which may stand anywhere, and whether `--debug` is among them."""
    QUIET.set(SILENT in arguments)
    return [argument for argument in arguments if argument not in {DEBUG, SILENT}], DEBUG in arguments
