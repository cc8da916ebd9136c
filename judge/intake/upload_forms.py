"""Presigned POST forms: each lets whoever has it put one object of a limited size under one key of the inbox.

They are signed here, without a request. A form is as good as the credentials that signed it: with temporary ones it
ends when they do.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import NoCredentialsError

from judge.intake.invitations import Invited, inbox_key
from judge.workspace import Workspace
from submissions.requests import MAX_LETTER, MAX_PART, Form, Forms
from submissions.store.s3_client import Place, S3Client, place_of, s3_errors

MAX_LIFE = timedelta(days=7)
"""The longest that a signature of version 4 may live."""


def make_forms(
    workspace: Workspace,
    invited: Invited,
    layers: Collection[str],
    now: datetime,
    filled: Collection[str] = (),
) -> Forms:
    """The forms for what is open of an invitation; of a revoked one, or one that is used up, none.

    Args:
        layers: diff IDs of layers that need not be sent.
        filled: slots that hold an object already: of two the older one counts, so they are not offered again.

    Raises:
        StoreError: `inbox` is no place in S3, or there are no credentials to sign with.
    """
    client, inbox = workspace.s3, place_of(workspace.settings.inbox, "inbox")
    revocation = invited.revocation
    with s3_errors("inbox"):
        life = _life(workspace, now)

        def form(slot: str, max_bytes: int) -> Form:
            return _form(client, inbox, inbox_key(invited.invitation, slot), slot, max_bytes, life)

        return Forms(
            renewed=now,
            expires=(now + life).replace(microsecond=0),  # a policy knows no parts of a second
            revoked=revocation.reason if revocation else "",
            letters=tuple(form(slot, MAX_LETTER) for slot in invited.open_slots(filled)),
            parts=tuple(form(slot, MAX_PART) for slot in invited.open_part_slots(filled)),
            layers=tuple(sorted(layers)) if invited.is_open else (),
        )


def _form(client: S3Client, inbox: Place, key: str, slot: str, max_bytes: int, life: timedelta) -> Form:
    made = client.generate_presigned_post(
        inbox.bucket,
        inbox.prefix + key,
        Conditions=[["content-length-range", 1, max_bytes]],
        ExpiresIn=int(life.total_seconds()),
    )
    return Form(slot=slot, url=made["url"], fields=made["fields"], max_bytes=max_bytes)


def _life(workspace: Workspace, now: datetime) -> timedelta:
    """How long a form lives that is made now: in whole seconds, and at least one."""
    life = min(timedelta(days=workspace.settings.form_days), MAX_LIFE)
    if end := credentials_end(workspace.s3):
        life = min(life, end - now)
    return timedelta(seconds=max(1, int(life.total_seconds())))


def credentials_end(client: S3Client) -> datetime | None:
    """When the credentials of `client` end; None where they do not, or where nothing tells."""
    credentials = _credentials(client)
    credentials.get_frozen_credentials()  # refreshes what is about to end: the next to sign has the new ones
    end = getattr(credentials, "_expiry_time", None)
    return end if isinstance(end, datetime) and end.tzinfo else None


def are_temporary(client: S3Client) -> bool:
    """Whether the credentials of `client` come with a session token, and so end some day."""
    return bool(_credentials(client).get_frozen_credentials().token)


def _credentials(client: S3Client) -> Any:
    """What botocore signs with, which it tells to nobody but itself.

    Raises:
        botocore.exceptions.NoCredentialsError: it has none; to sign a form without any it would trip over itself.
    """
    credentials = client._request_signer._credentials
    if credentials is None:
        raise NoCredentialsError
    return credentials
