"""`judge invite`, `judge revoke`, `judge invitations`: who may submit without an account on this machine."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from rich.markup import escape

from judge.cli.output import lines_aside, print_done, print_json
from judge.cli.reasons import checked_reason
from judge.config import JudgeSettings, UsageError
from judge.intake.form_renewal import renew_forms
from judge.intake.invitations import (
    MAX_JUDGED,
    MAX_REFUSED,
    N_PARTS,
    Invitation,
    InvitationState,
    checked_name,
    create_invitation,
    read_invitation,
    read_invitations,
    revoke_invitation,
)
from judge.intake.ownership import checked_repositories
from judge.intake.retry_queue import read_delayed
from judge.intake.reusable_layers import public_layers
from judge.intake.status import invitation_status
from judge.intake.status_bucket import invite_file, read_forms, read_status, write_status
from judge.intake.upload_bucket import open_upload_bucket
from judge.upkeep.bucket_checks import check_status_bucket, check_upload_bucket, require_bucket_settings, weak_points
from judge.workspace import Workspace, open_workspace
from submissions.records import utc_now
from submissions.requests import UploadForms
from submissions.store.interface import StoreError
from submissions.tables import plain_table, table_console


class InvitationRow(NamedTuple):
    """A row of `judge invitations`.

    Args:
        expires: when the author's present upload forms expire; None if there are none.
    """

    name: str
    created: datetime
    judged: int
    max_judged: int
    refused: int
    max_refused: int
    expires: datetime | None
    revoked: str


def run_invite(
    name: str,
    max_judged: int | None,
    max_refused: int | None,
    parts: int | None,
    repository: list[str] | None,
    out: Path | None,
    again: bool,
    as_json: bool,
) -> None:
    """Invites an author: writes the one file that an author needs to submit and to see the status."""
    path = out or Path(f"{checked_name(name)}.invite.json")
    if again and (max_judged, max_refused, parts, repository or None) != (None, None, None, None):
        raise UsageError(
            "--again: the limits of an invitation are fixed: leave --max, --max-refused, --parts and --repository out"
        )
    workspace = open_workspace()
    settings, store = workspace.settings, workspace.store
    require_bucket_settings(settings)
    repositories = checked_repositories(repository or (), settings.registries)
    _require_free(path, again)
    earlier = _not_revoked(read_invitation(store, name)) if again else None
    check_upload_bucket(workspace)
    check_status_bucket(workspace)
    limits = (max_judged or MAX_JUDGED, max_refused or MAX_REFUSED, N_PARTS if parts is None else parts)
    state = earlier or InvitationState(create_invitation(store, name, *limits, repositories))
    forms = _write_to_author(workspace, state)
    _write_file(path, settings, state.invitation)
    with lines_aside(as_json):
        _print_invited(path, state, forms, weak_points(workspace))
    if as_json:
        print_json({"invitation": name, "file": str(path)})


def run_revoke(name: str, reason: str, as_json: bool) -> None:
    """Revokes an invitation: nothing more is taken with it."""
    words, workspace = checked_reason(reason), open_workspace()
    settings, store = workspace.settings, workspace.store
    revocation = revoke_invitation(store, name, words)
    print_done(
        as_json,
        {"invitation": name, "time": f"{revocation.time:%Y-%m-%dT%H:%M:%SZ}", "reason": words},
        f"{name}: revoked on {revocation.time:%Y-%m-%d}: {words}",
        "New requests with it are refused from now on; earlier submissions stay.",
    )
    if not (settings.upload_bucket and settings.status_bucket):
        return
    state = read_invitation(store, name)
    try:
        last = read_forms(workspace, state)
        _write_to_author(workspace, state)
    except StoreError as error:
        raise StoreError(
            f"{name} is revoked, but its author's status was not written: {error.remedy}; then judge intake"
        ) from error
    if last and last.expires > utc_now() and (last.requests or last.parts):
        until = f"{last.expires:%Y-%m-%d %H:%M} UTC"
        line = f"Earlier upload forms work until {until}; what is uploaded with them is not read."
        print(line, file=sys.stderr if as_json else sys.stdout)


def run_invitations(as_json: bool) -> None:
    """Lists the invitations: how much of each is used, and when its upload forms expire."""
    workspace = open_workspace()
    rows = [_row(workspace, state) for state in read_invitations(workspace.store)]
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


def _row(workspace: Workspace, state: InvitationState) -> InvitationRow:
    invitation, quota = state.invitation, state.quota
    forms = read_forms(workspace, state) if workspace.settings.status_bucket else None
    return InvitationRow(
        name=invitation.name,
        created=invitation.created,
        judged=quota.judged,
        max_judged=quota.max_judged,
        refused=quota.refused,
        max_refused=quota.max_refused,
        expires=forms.expires if forms and (forms.requests or forms.parts) else None,
        revoked=state.revocation.reason if state.revocation else "",
    )


def _not_revoked(state: InvitationState) -> InvitationState:
    if state.revocation:
        raise UsageError(f"{state.name} was revoked ({state.revocation.reason}): choose another name")
    return state


def _write_to_author(workspace: Workspace, state: InvitationState) -> UploadForms:
    """Writes upload forms and status of an invitation, with the progress that the last status stated; the forms."""
    now, store = utc_now(), workspace.store
    state, forms = renew_forms(workspace, open_upload_bucket(workspace), state, public_layers(store))
    last = read_status(workspace, state)
    progress = {each.submission: each for each in (last.submissions if last else ())}
    delayed = read_delayed(store, state.name).get(state.name, ())
    write_status(workspace, state, invitation_status(state, progress, delayed, now), {})
    return forms


def _require_free(path: Path, again: bool) -> None:
    """Returns if `path` can be written: nothing is there, or with --again the file that was written before."""
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--out: there is no folder {path.absolute().parent}: create it")
    if os.path.lexists(path) and not again:
        raise UsageError(f"{path} exists already: move it away, or name another file with --out FILE")


def _write_file(path: Path, settings: JudgeSettings, invitation: Invitation) -> None:
    """Writes the file, readable by this user only. An existing file must be the same."""
    data = invite_file(settings, invitation).model_dump_json(indent=1).encode() + b"\n"
    again = f"judge invite {invitation.name} --again --out FILE"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except FileExistsError:
        if not (path.is_file() and path.read_bytes() == data):
            raise UsageError(f"{path} exists already, with another content: {again}") from None
        path.chmod(0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): {again}") from None


def _print_invited(path: Path, state: InvitationState, forms: UploadForms, weak_points: list[str]) -> None:
    quota = state.quota
    print(f"{path}: give it to the author and to nobody else: anyone who has it can submit in the author's name.")
    print(f"  Good for {quota.max_judged} submissions; {quota.max_refused} submission requests may be refused.")
    print(f"  Its upload forms expire on {forms.expires:%Y-%m-%d %H:%M} UTC; each judge intake renews them.")
    print("  Published are the names in the model card; not the invitation's name, nor the address of the image.")
    for sentence in weak_points:
        print(f"  {sentence[0].upper()}{sentence[1:]}.")
    print("  The author: lambench-submit IMAGE --invite FILE")
