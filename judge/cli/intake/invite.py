"""`judge invite`, `judge revoke`, `judge invitations`: who may submit without an account on this machine."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.markup import escape

from judge.cli.options import Json, checked_reason
from judge.config import JudgeSettings, UsageError
from judge.intake.form_renewal import renew_forms
from judge.intake.invitations import (
    MAX_PARTS,
    MAX_SUBMISSIONS,
    Invitation,
    Invited,
    checked_name,
    create_invitation,
    read_invitation,
    read_invitations,
    revoke_invitation,
)
from judge.intake.retry_queue import read_delayed
from judge.intake.reusable_layers import public_layers
from judge.intake.status import invitation_status
from judge.intake.status_bucket import invite_file, read_forms, read_status, write_status
from judge.intake.upload_bucket import open_inbox
from judge.upkeep.bucket_checks import check_inbox, check_mail, require_mail_settings, weak_points
from judge.workspace import Workspace, open_workspace
from submissions.records import utc_now
from submissions.requests import Forms
from submissions.store.interface import StoreError
from submissions.tables import plain_table, table_console

MAX_JUDGED, MAX_REFUSED, N_PARTS = 20, 20, 64

Name = Annotated[str, typer.Argument(metavar="NAME", help="of the invitation")]


class Row(NamedTuple):
    """A line of `judge invitations`.

    Args:
        expires: of the forms that the author has now; None where there are none.
    """

    name: str
    created: datetime
    judged: int
    max_judged: int
    refused: int
    max_refused: int
    expires: datetime | None
    revoked: str


def invite_command(
    name: Name,
    max_judged: Annotated[
        int | None,
        typer.Option("--max", min=1, max=MAX_SUBMISSIONS, show_default=str(MAX_JUDGED), help="submissions taken"),
    ] = None,
    max_refused: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_SUBMISSIONS, show_default=str(MAX_REFUSED), help="letters that may be refused"),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(min=0, max=MAX_PARTS, show_default=str(N_PARTS), help="slots for parts of images, 256 MB each"),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="instead of NAME.invite.json")] = None,
    again: Annotated[bool, typer.Option("--again", help="write the file of an earlier invitation once more")] = False,
) -> None:
    """Invites an author: writes the one file that he needs to submit and to see how it fares."""
    own_path = Path(f"{checked_name(name)}.invite.json")
    path = out or own_path
    if again and (max_judged, max_refused, parts) != (None, None, None):
        raise UsageError("--again: the bounds of an invitation stay: leave --max, --max-refused and --parts out")
    workspace = open_workspace()
    settings, store = workspace.settings, workspace.store
    require_mail_settings(settings)
    _require_free(path, again)
    earlier = _still_open(read_invitation(store, name)) if again else None
    check_inbox(workspace)
    check_mail(workspace)
    bounds = (max_judged or MAX_JUDGED, max_refused or MAX_REFUSED, N_PARTS if parts is None else parts)
    invited = earlier or Invited(create_invitation(store, name, *bounds))
    forms = _write_mail(workspace, invited)
    _write_file(path, settings, invited.invitation)
    _say_invited(path, invited, forms, weak_points(workspace))


def revoke_command(name: Name, reason: Annotated[str, typer.Option(help="why, for its author to read")] = "") -> None:
    """Takes an invitation back: from now on nothing that comes with it is taken."""
    words, workspace = checked_reason(reason), open_workspace()
    settings, store = workspace.settings, workspace.store
    revocation = revoke_invitation(store, name, words)
    print(f"{name}: revoked on {revocation.time:%Y-%m-%d}: {words}")
    print("What comes with it is refused from now on; submissions that were taken stay.")
    if not (settings.inbox and settings.mail):
        return
    invited = read_invitation(store, name)
    try:
        last = read_forms(workspace, invited)
        _write_mail(workspace, invited)
    except StoreError as error:
        raise StoreError(f"{name} is revoked, but its author is not told: {error.remedy}; then judge intake") from error
    if last and last.expires > utc_now() and (last.letters or last.parts):
        until = f"{last.expires:%Y-%m-%d %H:%M} UTC"
        print(f"Forms that its author fetched before can fill the inbox until {until}; nothing of it is looked at.")


def invitations_command(as_json: Json = False) -> None:
    """The invitations: how much of each is used, and until when its forms can be used."""
    workspace = open_workspace()
    rows = [_row(workspace, invited) for invited in read_invitations(workspace.store)]
    if as_json:
        print(json.dumps([row._asdict() for row in rows], indent=1, default=datetime.isoformat))
        return
    if not rows:
        print("Nobody is invited yet: judge invite NAME")
        return
    table = plain_table("name", "taken", "refused", "forms expire", "revoked", numbers=("taken", "refused"))
    for row in rows:
        expires = f"{row.expires:%Y-%m-%d %H:%M}" if row.expires else "–"
        used = (f"{row.judged}/{row.max_judged}", f"{row.refused}/{row.max_refused}")
        table.add_row(row.name, *used, expires, escape(row.revoked))
    table_console().print(table)


def _row(workspace: Workspace, invited: Invited) -> Row:
    invitation, quota = invited.invitation, invited.quota
    forms = read_forms(workspace, invited) if workspace.settings.mail else None
    return Row(
        name=invitation.name,
        created=invitation.created,
        judged=quota.judged,
        max_judged=quota.max_judged,
        refused=quota.refused,
        max_refused=quota.max_refused,
        expires=forms.expires if forms and (forms.letters or forms.parts) else None,
        revoked=invited.revocation.reason if invited.revocation else "",
    )


def _still_open(invited: Invited) -> Invited:
    if invited.revocation:
        name, reason = invited.invitation.name, invited.revocation.reason
        raise UsageError(f"{name} was revoked ({reason}): invite under another name")
    return invited


def _write_mail(workspace: Workspace, invited: Invited) -> Forms:
    """Forms and status of an invitation; how far its submissions are, as it was written last."""
    now, store = utc_now(), workspace.store
    invited, forms = renew_forms(workspace, open_inbox(workspace), invited, public_layers(store))
    last = read_status(workspace, invited)
    progress = {each.submission: each for each in (last.submissions if last else ())}
    delayed = read_delayed(store, invited.invitation.name)
    write_status(workspace, invited, invitation_status(invited, progress, delayed, now), {})
    return forms


def _require_free(path: Path, again: bool) -> None:
    """Before anything is made: a path at which nothing is, or with --again what was written there."""
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--out: there is no folder {path.absolute().parent}: make it")
    if os.path.lexists(path) and not again:
        raise UsageError(f"{path} is there already: move it away, or name another with --out FILE")


def _write_file(path: Path, settings: JudgeSettings, invitation: Invitation) -> None:
    """Puts the file there, readable by this user alone; one that is there already must be the same."""
    data = invite_file(settings, invitation).model_dump_json(indent=1).encode() + b"\n"
    again = f"judge invite {invitation.name} --again --out FILE"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except FileExistsError:
        if not (path.is_file() and path.read_bytes() == data):
            raise UsageError(f"{path} is there already, with something else in it: {again}") from None
        path.chmod(0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): {again}") from None


def _say_invited(path: Path, invited: Invited, forms: Forms, weak: list[str]) -> None:
    quota = invited.quota
    print(f"{path}: give it to the author, and to nobody else: whoever has it submits in his name.")
    print(f"  Good for {quota.max_judged} submissions; {quota.max_refused} letters may be refused.")
    print(f"  Its forms end on {forms.expires:%Y-%m-%d %H:%M} UTC; each judge intake writes new ones.")
    for sentence in weak:
        print(f"  {sentence[0].upper()}{sentence[1:]}.")
    print("  The author: lambench-submit IMAGE --invite FILE")
