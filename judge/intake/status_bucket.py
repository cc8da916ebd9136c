"""What an invited author reads: `mail/<secret>/` in the mail bucket, with the forms, the status and the logs.

Anybody may read an object there whose name he knows, and nobody may list any: the secret in the name is the lock. So
these are the only files that hold it, and nothing is put there but what `submissions.requests` defines.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TypeVar

from botocore.exceptions import ClientError
from pydantic import ValidationError

from judge.config import JudgeSettings
from judge.intake.invitations import Invitation, Invited
from judge.intake.upload_forms import make_forms
from judge.workspace import Workspace
from sandbox.events import Event, emit
from submissions.records import SUBMISSION_ID, Record
from submissions.requests import FORMS, STATUS, Forms, InviteFile, Status, log_name
from submissions.store.s3_client import Place, error_code, place_of, s3_errors

R = TypeVar("R", bound=Record)
NEVER_KEPT = "no-store"
_JSON, _TEXT = "application/json", "text/plain; charset=utf-8"


def mail_address(settings: JudgeSettings, invitation: Invitation) -> str:
    """The address below which the author finds his files; whoever has it may submit in his name."""
    return f"{settings.mail_url.rstrip('/')}/{invitation.secret}/"


def invite_file(settings: JudgeSettings, invitation: Invitation) -> InviteFile:
    """What the author is given."""
    return InviteFile(name=invitation.name, mail=mail_address(settings, invitation))


def write_forms(
    workspace: Workspace, invited: Invited, layers: Collection[str], now: datetime, *, filled: Collection[str] = ()
) -> Forms:
    """Fresh forms, as they were written for the author; of a revoked invitation it is none, and why.

    Args:
        layers: diff IDs of layers that need not be sent.
        filled: slots that hold an object already, and are not offered again.

    Raises:
        StoreError: the mail bucket cannot be written, or there are no credentials to sign with.
    """
    forms = make_forms(workspace, invited, layers, now, filled)
    _put(workspace, invited, FORMS, forms.model_dump_json().encode(), _JSON)
    emit(Event.MAIL_WRITTEN, key=f"{invited.invitation.name}/{FORMS}", count=len(forms.letters) + len(forms.parts))
    return forms


def write_status(workspace: Workspace, invited: Invited, status: Status, logs: Mapping[str, str]) -> None:
    """Writes what became of the author's letters, after these logs.

    Args:
        logs: what containers said in the preflight, by submission.

    Raises:
        StoreError: the mail bucket cannot be written.
        ValueError: a log is of no submission.
    """
    for submission, said in logs.items():
        if not SUBMISSION_ID.match(submission):
            raise ValueError(f"{submission!r} is no submission")
        _put(workspace, invited, log_name(submission), said.encode("utf-8", "backslashreplace"), _TEXT)
    _put(workspace, invited, STATUS, status.model_dump_json().encode(), _JSON)
    emit(Event.MAIL_WRITTEN, key=f"{invited.invitation.name}/{STATUS}", count=len(logs))


def read_forms(workspace: Workspace, invited: Invited) -> Forms | None:
    """The forms that the author has now; None where there are none, or not ours.

    Raises:
        StoreError: the mail bucket cannot be read.
    """
    return _read(workspace, invited, FORMS, Forms)


def read_status(workspace: Workspace, invited: Invited) -> Status | None:
    """The status that the author has now; None where there is none, or not ours.

    Raises:
        StoreError: the mail bucket cannot be read.
    """
    return _read(workspace, invited, STATUS, Status)


def _mail_place(settings: JudgeSettings, invited: Invited) -> Place:
    mail = place_of(settings.mail, "mail")
    return Place(mail.bucket, f"{mail.prefix}{invited.invitation.secret}/")


def _put(workspace: Workspace, invited: Invited, name: str, data: bytes, content_type: str) -> None:
    place = _mail_place(workspace.settings, invited)
    with s3_errors("mail"):  # and not the key, which has the secret in it
        workspace.s3.put_object(
            Bucket=place.bucket,
            Key=place.prefix + name,
            Body=data,
            ContentType=content_type,
            CacheControl=NEVER_KEPT,
        )


def _read(workspace: Workspace, invited: Invited, name: str, record: type[R]) -> R | None:
    place = _mail_place(workspace.settings, invited)
    with s3_errors("mail"):
        try:
            data: bytes = workspace.s3.get_object(Bucket=place.bucket, Key=place.prefix + name)["Body"].read()
        except ClientError as error:
            if error_code(error) in ("NoSuchKey", "404"):
                return None
            raise
    try:
        return record.read(data)
    except ValidationError:
        return None


def mail_names(workspace: Workspace) -> dict[str, set[str]]:
    """The names of the files of every invitation, by its secret: with one request for each thousand files.

    Raises:
        StoreError: the mail bucket cannot be listed.
    """
    mail = place_of(workspace.settings.mail, "mail")
    names: dict[str, set[str]] = {}
    with s3_errors("mail"):
        for page in workspace.s3.get_paginator("list_objects_v2").paginate(Bucket=mail.bucket, Prefix=mail.prefix):
            for thing in page.get("Contents", ()):
                secret, _, name = thing["Key"].removeprefix(mail.prefix).partition("/")
                names.setdefault(secret, set()).add(name)
    return names
