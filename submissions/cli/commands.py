"""`lambench-submit submit|check|status|log|list`: options and help.

What does the work is imported when a command is called: so help and completion are fast.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sandbox.driver import DriverName
from submissions.cli.completion import sent_submissions
from submissions.cli.options import CardFile, Gpu, Json
from submissions.settings import INVITE_VARIABLE, RECEIPT_FILE

Invite = Annotated[Path | None, typer.Option(envvar=INVITE_VARIABLE, help="the invitation file that you received")]
Site = Annotated[str | None, typer.Option(help="address of a published leaderboard, instead of an invitation")]
WATCH_EVERY_S = 30.0  # the judge writes the status at each intake and run, which are minutes apart
Id = Annotated[
    str,
    typer.Argument(help="submission ID, or the beginning of it", show_default=False, autocompletion=sent_submissions),
]


def submit_command(
    image: Annotated[str, typer.Argument(help="image:tag, or a folder with --driver process")],
    card: CardFile = None,
    check_only: Annotated[bool, typer.Option("--check-only", help="stop before anything is submitted")] = False,
    author: Annotated[str, typer.Option(help="who submits")] = "",
    driver: Annotated[DriverName | None, typer.Option(help="docker, or process: no isolation")] = None,
    python: Annotated[str | None, typer.Option(help="process driver: which Python")] = None,
    calculator: Annotated[str | None, typer.Option(help="process driver: module:factory")] = None,
    gpu: Gpu = None,
    store: Annotated[str | None, typer.Option(help="store that receives the submission (default var/store)")] = None,
    invite: Annotated[
        Path | None, typer.Option(envvar=INVITE_VARIABLE, help="invitation file of a judge elsewhere")
    ] = None,
    upload: Annotated[
        bool, typer.Option("--upload", help="--invite: upload the image; from one machine at a time")
    ] = False,
    no_check: Annotated[bool, typer.Option("--no-check", help="--invite: skip the check on this machine")] = False,
    as_json: Json = False,
) -> None:
    """Checks IMAGE in the judge's own sandbox, shows the result, and submits it."""
    from submissions.cli.submit import run_submit

    run_submit(
        image,
        card,
        check_only,
        author,
        driver,
        python,
        calculator,
        gpu,
        store,
        invite,
        upload,
        no_check,
        as_json,
    )


def check_command(
    subject: Annotated[str, typer.Argument(help="image:tag, or module:factory of this folder or this Python")],
    image: Annotated[bool, typer.Option("--image", help="SUBJECT is an image")] = False,
    module: Annotated[bool, typer.Option("--module", help="SUBJECT is a module")] = False,
    card: CardFile = None,
    python: Annotated[str, typer.Option(help="the Python that runs a module (default: this one)")] = "",
    gpu: Gpu = None,
    receipt: Annotated[Path, typer.Option(help="file for the receipt")] = RECEIPT_FILE,
    as_json: Json = False,
) -> None:
    """Runs the judge's preflight and writes a receipt. Nothing is submitted."""
    from submissions.cli.check import run_check

    run_check(subject, image, module, card, python, gpu, receipt, as_json)


def list_command(invite: Invite = None, site: Site = None, as_json: Json = False) -> None:
    """Shows all requests of an invitation, what was refused and why, and how much of the quota is used."""
    from submissions.cli.status import run_list

    run_list(invite, site, as_json)


def status_command(
    submission: Annotated[
        str,
        typer.Argument(
            help="submission ID, or the beginning of it; none for the last one", autocompletion=sent_submissions
        ),
    ] = "",
    watch: Annotated[bool, typer.Option("--watch", help="repeat until it is judged or refused")] = False,
    every: Annotated[float, typer.Option(min=1.0, help="--watch: seconds between two reads")] = WATCH_EVERY_S,
    invite: Invite = None,
    site: Site = None,
    as_json: Json = False,
) -> None:
    """Shows the progress of a submission: position in the queue, verdicts by task, published scores."""
    from submissions.cli.status import run_status

    run_status(submission, watch, every, invite, site, as_json)


def log_command(submission: Id, invite: Invite = None, site: Site = None, as_json: Json = False) -> None:
    """Prints what a submission's container printed in the preflight, in which it saw public structures only."""
    from submissions.cli.status import run_log

    run_log(submission, invite, site, as_json)
