"""Upload forms (presigned POST). Each allows uploads of limited size to one key of the upload bucket.

They are signed here, without a request. A form ends with the credentials that signed it, if these are temporary.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import NoCredentialsError

from judge.intake.invitations import InvitationState, upload_key
from judge.workspace import Workspace
from submissions.requests import MAX_PART_BYTES, MAX_REQUEST_BYTES, UploadForm, UploadForms
from submissions.store.s3_client import BucketPlace, S3Client, bucket_place, s3_errors

MAX_LIFETIME = timedelta(days=7)
"""The longest lifetime of an S3 signature of version 4."""


def make_forms(
    workspace: Workspace,
    state: InvitationState,
    layers: Collection[str],
    now: datetime,
    filled: Collection[str] = (),
) -> UploadForms:
    """Forms for the open slots of an invitation; none if it is revoked or used up.

    Args:
        layers: diff IDs of layers that need not be sent.
        filled: slots that hold an object already. They are left out, since a second object would not count.

    Raises:
        StoreError: `upload_bucket` is no place in S3, or there are no credentials to sign with.
    """
    client, place = workspace.s3, bucket_place(workspace.settings.upload_bucket, "upload_bucket")
    revocation = state.revocation
    with s3_errors("upload_bucket"):
        lifetime = _lifetime(workspace, now)

        def form(slot: str, max_bytes: int) -> UploadForm:
            return _form(client, place, upload_key(state.invitation, slot), slot, max_bytes, lifetime)

        return UploadForms(
            renewed=now,
            expires=(now + lifetime).replace(microsecond=0),  # S3 policies have whole seconds
            revoked=revocation.reason if revocation else "",
            requests=tuple(form(slot, MAX_REQUEST_BYTES) for slot in state.open_request_slots(filled)),
            parts=tuple(form(slot, MAX_PART_BYTES) for slot in state.open_part_slots(filled)),
            layers=tuple(sorted(layers)) if state.is_open else (),
        )


def _form(client: S3Client, place: BucketPlace, key: str, slot: str, max_bytes: int, lifetime: timedelta) -> UploadForm:
    signed = client.generate_presigned_post(
        place.bucket,
        place.prefix + key,
        Conditions=[["content-length-range", 1, max_bytes]],
        ExpiresIn=int(lifetime.total_seconds()),
    )
    return UploadForm(slot=slot, url=signed["url"], fields=signed["fields"], max_bytes=max_bytes)


def _lifetime(workspace: Workspace, now: datetime) -> timedelta:
    """The lifetime of a form that is made now: in whole seconds, and at least one."""
    lifetime = min(timedelta(days=workspace.settings.form_days), MAX_LIFETIME)
    if end := credentials_end(workspace.s3):
        lifetime = min(lifetime, end - now)
    return timedelta(seconds=max(1, int(lifetime.total_seconds())))


def credentials_end(client: S3Client) -> datetime | None:
    """When the credentials of `client` end; None if they do not, or if that is not known."""
    credentials = _credentials(client)
    credentials.get_frozen_credentials()  # refreshes credentials that end soon, for the next form
    end = getattr(credentials, "_expiry_time", None)
    return end if isinstance(end, datetime) and end.tzinfo else None


def are_temporary(client: S3Client) -> bool:
    """True if the credentials of `client` have a session token, and so will end."""
    return bool(_credentials(client).get_frozen_credentials().token)


def _credentials(client: S3Client) -> Any:
    """The credentials that botocore signs with; it has no public attribute for them.

    Raises:
        botocore.exceptions.NoCredentialsError: it has none; signing without them would end in a TypeError.
    """
    credentials = client._request_signer._credentials
    if credentials is None:
        raise NoCredentialsError
    return credentials
