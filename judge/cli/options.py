"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.completion import submissions, suites, tasks
from sandbox.driver import DriverName

RETRY_HELD, AGAIN = "--retry-held", "--again"

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="submissions", autocompletion=submissions)]
Everything = Annotated[bool, typer.Option("--all", help="all submissions")]
RetryHeld = Annotated[bool, typer.Option(RETRY_HELD, help="try held units again")]
SuiteName = Annotated[str | None, typer.Option("--suite", help="name, or path of a TOML file", autocompletion=suites)]
Tasks = Annotated[list[str] | None, typer.Option(help="only this task; may be repeated", autocompletion=tasks)]
Gpus = Annotated[str, typer.Option(help="UUIDs, comma-separated, or all; none means the CPU")]
Drivers = Annotated[DriverName | None, typer.Option(help="docker, or process: no isolation")]
ObserveOnly = Annotated[
    bool, typer.Option("--observe-only", help="only ask the models; another machine has the labels and measures")
]
BudgetHours = Annotated[
    float | None, typer.Option("--budget", metavar="HOURS", help="start no unit that is expected to end later")
]
SkipMissing = Annotated[bool, typer.Option("--skip-missing", help="skip tasks whose data sets are missing")]
Json = Annotated[bool, typer.Option("--json", help="print JSON to standard output")]
AsPublished = Annotated[
    bool, typer.Option("--as-published", help="by the scheme's own rules, instead of the corrected ones")
]
Reason = Annotated[str, typer.Option(help="why; the pages show it")]


def asked_gpus(text: str) -> tuple[str, ...]:
    """The UUIDs in a comma-separated list."""
    return tuple(uuid.strip() for uuid in text.split(",") if uuid.strip())
