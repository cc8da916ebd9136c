"""The status bucket: the files that an invited author reads. Each invitation has a folder, named by its secret.

Anybody may read an object there whose name he knows, and nobody may list any: the secret protects the files. So no
other file states the secret, and nothing is written there but the files that `submissions.requests` defines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from botocore.exceptions import ClientError
from pydantic import ValidationError

from judge.config import JudgeSettings
from judge.intake.invitations import Invitation, InvitationState
from judge.workspace import Workspace
from sandbox.events import Event, emit
from submissions.records import SUBMISSION_ID, Record
from submissions.requests import FORMS_FILE, STATUS_FILE, InvitationStatus, InviteFile, UploadForms, log_name
from submissions.store.s3_client import BucketPlace, bucket_place, error_code, s3_errors

R = TypeVar("R", bound=Record)
SETTING = "status_bucket"
_JSON, _TEXT = "application/json", "text/plain; charset=utf-8"


def status_address(settings: JudgeSettings, invitation: Invitation) -> str:
    """The address of an invitation's folder. Anyone who knows it may submit in the author's name."""
    return f"{settings.status_url.rstrip('/')}/{invitation.secret}/"


def invite_file(settings: JudgeSettings, invitation: Invitation) -> InviteFile:
    """The file for the author."""
    return InviteFile(name=invitation.name, status_url=status_address(settings, invitation))


def write_forms(workspace: Workspace, state: InvitationState, forms: UploadForms) -> None:
    """Writes upload forms for the author.

    Raises:
        StoreError: the status bucket cannot be written.
    """
    _put(workspace, state, FORMS_FILE, forms.model_dump_json().encode(), _JSON)
    emit(Event.STATUS_WRITTEN, key=f"{state.name}/{FORMS_FILE}", count=len(forms.requests) + len(forms.parts))


def write_status(
    workspace: Workspace, state: InvitationState, status: InvitationStatus, logs: Mapping[str, str]
) -> None:
    """Writes preflight logs, and then the status.

    Args:
        logs: by submission.

    Raises:
        StoreError: the status bucket cannot be written.
        ValueError: a log is of no submission.
    """
    for submission, log in logs.items():
        if not SUBMISSION_ID.match(submission):
            raise ValueError(f"{submission!r} is no submission")
        _put(workspace, state, log_name(submission), log.encode("utf-8", "backslashreplace"), _TEXT)
    _put(workspace, state, STATUS_FILE, status.model_dump_json().encode(), _JSON)
    emit(Event.STATUS_WRITTEN, key=f"{state.name}/{STATUS_FILE}", count=len(logs))


def read_forms(workspace: Workspace, state: InvitationState) -> UploadForms | None:
    """The author's present upload forms; None if there are none that can be read.

    Raises:
        StoreError: the status bucket cannot be read.
    """
    return _read(workspace, state, FORMS_FILE, UploadForms)


def read_status(workspace: Workspace, state: InvitationState) -> InvitationStatus | None:
    """The author's present status; None if there is none that can be read.

    Raises:
        StoreError: the status bucket cannot be read.
    """
    return _read(workspace, state, STATUS_FILE, InvitationStatus)


def file_names(workspace: Workspace) -> dict[str, set[str]]:
    """The names of every invitation's files, by its secret, with one request for each thousand files.

    Raises:
        StoreError: the status bucket cannot be listed.
    """
    place = bucket_place(workspace.settings.status_bucket, SETTING)
    names: dict[str, set[str]] = {}
    with s3_errors(SETTING):
        pages = workspace.s3.get_paginator("list_objects_v2").paginate(Bucket=place.bucket, Prefix=place.prefix)
        for page in pages:
            for entry in page.get("Contents", ()):
                secret, _, name = entry["Key"].removeprefix(place.prefix).partition("/")
                names.setdefault(secret, set()).add(name)
    return names


def _folder(workspace: Workspace, state: InvitationState) -> BucketPlace:
    place = bucket_place(workspace.settings.status_bucket, SETTING)
    return BucketPlace(place.bucket, f"{place.prefix}{state.invitation.secret}/")


def _put(workspace: Workspace, state: InvitationState, name: str, data: bytes, content_type: str) -> None:
    folder = _folder(workspace, state)
    with s3_errors(SETTING):  # and not the key, which holds the secret
        workspace.s3.put_object(
            Bucket=folder.bucket,
            Key=folder.prefix + name,
            Body=data,
            ContentType=content_type,
            CacheControl="no-store",
        )


def _read(workspace: Workspace, state: InvitationState, name: str, record: type[R]) -> R | None:
    folder = _folder(workspace, state)
    with s3_errors(SETTING):
        try:
            data: bytes = workspace.s3.get_object(Bucket=folder.bucket, Key=folder.prefix + name)["Body"].read()
        except ClientError as error:
            if error_code(error) in ("NoSuchKey", "404"):
                return None
            raise
    try:
        return record.read(data)
    except ValidationError:
        return None
