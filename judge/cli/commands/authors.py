"""`judge invite|invitations|revoke|intake`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judge.cli.completion import invitations
from judge.cli.options import Gpus, Json
from judge.intake.invitations import MAX_JUDGED, MAX_PARTS, MAX_REFUSED, MAX_SUBMISSIONS, N_PARTS

Name = Annotated[str, typer.Argument(metavar="NAME", help="of the invitation")]


def invite_command(
    name: Name,
    max_judged: Annotated[
        int | None,
        typer.Option("--max", min=1, max=MAX_SUBMISSIONS, show_default=str(MAX_JUDGED), help="submissions taken"),
    ] = None,
    max_refused: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_SUBMISSIONS, show_default=str(MAX_REFUSED), help="submission requests that may be refused"
        ),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(min=0, max=MAX_PARTS, show_default=str(N_PARTS), help="slots for parts of images, 256 MB each"),
    ] = None,
    repository: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST/PATH", help="repositories of the author, which nobody else may submit from"),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="file to write (default NAME.invite.json)")] = None,
    again: Annotated[bool, typer.Option("--again", help="write the file of an earlier invitation again")] = False,
    as_json: Json = False,
) -> None:
    """Invites an author: writes the one file that an author needs to submit and to see the status."""
    from judge.cli.intake.invite import run_invite

    run_invite(name, max_judged, max_refused, parts, repository, out, again, as_json)


def invitations_command(as_json: Json = False) -> None:
    """Lists the invitations: how much of each is used, and when its upload forms expire."""
    from judge.cli.intake.invite import run_invitations

    run_invitations(as_json)


def revoke_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="of the invitation", autocompletion=invitations)],
    reason: Annotated[str, typer.Option(help="why, for its author to read")] = "",
    as_json: Json = False,
) -> None:
    """Revokes an invitation: nothing more is taken with it."""
    from judge.cli.intake.invite import run_revoke

    run_revoke(name, reason, as_json)


def intake_command(gpus: Gpus = "", as_json: Json = False) -> None:
    """Examines authors' submission requests, submits or refuses them, and writes each author's status and upload forms.

    Run it often: upload forms expire. Exit status 1 if this machine could not examine a request or write a status.
    """
    from judge.cli.intake.intake import run_intake

    run_intake(gpus, as_json)
