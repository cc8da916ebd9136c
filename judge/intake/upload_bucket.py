"""The inbox that authors upload to: a versioned bucket, of which every byte was written by a stranger.

Whoever has a form can use it again and again while it lives. So of each object the oldest version is the one that
counts, whatever was written over it since, and also where the newest version says that it was deleted: what was
examined once cannot become something else. What came is only what the server says of it (size, time, version), and
nothing is read before its size was held against a bound.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from itertools import islice, pairwise
from typing import Any, NamedTuple

from judge.workspace import Workspace
from sandbox.events import plain
from sandbox.verdict import SubmissionFault, Verdict
from submissions.store.interface import StoreError
from submissions.store.s3_client import Place, S3Client, place_of, s3_errors

CHUNK = 1024**2
MAX_BULK = 1000  # versions in one request to delete
MAX_VERSIONS = 20_000
"""Of all objects of one invitation: whoever floods the inbox is not looked at, and delays nobody else."""
MAX_THINNED = 5 * MAX_VERSIONS


class Sent(NamedTuple):
    """The oldest version of an object: the one that counts.

    Args:
        key: in the bucket.
    """

    key: str
    version: str
    n_bytes: int
    received: datetime


class Flood(NamedTuple):
    """An invitation whose objects have more versions than anybody needs."""

    name: str


class Inbox:
    """Where authors' letters and parts arrive.

    Raises (all methods):
        StoreError: the service does not answer, or refuses.
    """

    def __init__(self, client: S3Client, place: Place) -> None:
        self._client = client
        self._place = place

    def objects(self, name: str) -> dict[str, Sent] | Flood:
        """The oldest version of every object of the invitation `name`, by what follows `<name>/` in its key."""
        folder = f"{self._place.prefix}{name}/"
        found: dict[str, Sent] = {}
        for n, version in enumerate(self._versions(folder)):
            if n >= MAX_VERSIONS:
                return Flood(name)
            key = version["Key"]
            # The server lists the versions of a key newest first: the last one is the oldest, also within one second.
            found[key.removeprefix(folder)] = Sent(key, version["VersionId"], version["Size"], version["LastModified"])
        return found

    def names(self) -> list[str]:
        """What lies directly below the inbox: names of invitations, and whatever else somebody put there."""
        names = set()
        with s3_errors(self._what()):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._place.bucket, Prefix=self._place.prefix, Delimiter="/"
            )
            for page in pages:
                found = [each["Prefix"] for each in page.get("CommonPrefixes", ())]
                found += [each["Key"] for each in page.get("Contents", ())]
                names |= {key.removeprefix(self._place.prefix).removesuffix("/") for key in found}
        return sorted(names)

    def read(self, sent: Sent, max_bytes: int) -> bytes:
        """The bytes of `sent`.

        Raises:
            SubmissionFault: there are more than `max_bytes`.
        """
        if sent.n_bytes > max_bytes:
            raise SubmissionFault(Verdict.OUTPUT_LIMIT, f"The letter is larger than {max_bytes} bytes: shorten it.")
        return b"".join(self.chunks(sent))

    def chunks(self, sent: Sent) -> Iterator[bytes]:
        """The bytes of `sent`, piece by piece."""
        with s3_errors(self._what(sent.key)):
            body = self._client.get_object(Bucket=self._place.bucket, Key=sent.key, VersionId=sent.version)["Body"]
        try:
            while True:
                with s3_errors(self._what(sent.key)):
                    piece: bytes = body.read(CHUNK)
                if not piece:
                    return
                yield piece
        finally:
            body.close()

    def remove(self, sent: Iterable[Sent]) -> None:
        """Removes every version of these objects: listed once, and a thousand versions in one request."""
        keys = {each.key for each in sent}
        if not keys:
            return
        common = os.path.commonprefix(sorted(keys))  # noqa: RUF071 - of keys, and not of folders
        versions = self._versions(common, with_markers=True)
        named = ({"Key": v["Key"], "VersionId": v["VersionId"]} for v in versions if v["Key"] in keys)
        self._delete(named)

    def thin(self, name: str, slots: Collection[str]) -> int:
        """How many versions that do not count were removed of what lies in the `slots` of the invitation `name`.

        The oldest version of each object stays. Of a flood only so many are removed as one intake has time for.
        """
        folder = f"{self._place.prefix}{name}/"
        versions = islice(self._versions(folder), MAX_THINNED)
        # Newest first within a key: whatever is followed by a version of the same key is not the oldest.
        later = [
            {"Key": one["Key"], "VersionId": one["VersionId"]}
            for one, next_one in pairwise(versions)
            if one["Key"] == next_one["Key"] and one["Key"].removeprefix(folder) in slots
        ]
        self._delete(iter(later))
        return len(later)

    def _delete(self, named: Iterator[dict[str, str]]) -> None:
        """Removes the versions that are named, a thousand in one request."""
        while batch := list(islice(named, MAX_BULK)):
            with s3_errors(self._what()):
                answer = self._client.delete_objects(
                    Bucket=self._place.bucket, Delete={"Objects": batch, "Quiet": True}
                )
            for refused in answer.get("Errors", ()):
                what = plain(f"{self._what(str(refused.get('Key')))}: {refused.get('Code')}")
                raise StoreError(f"{what}: it could not be removed: allow s3:DeleteObjectVersion")

    def _versions(self, prefix: str, *, with_markers: bool = False) -> Iterator[dict[str, Any]]:
        """As the server describes them; those that say that an object was deleted only where asked for."""
        with s3_errors(self._what()):
            pages = self._client.get_paginator("list_object_versions").paginate(
                Bucket=self._place.bucket, Prefix=prefix
            )
            for page in pages:
                yield from page.get("Versions", ())
                if with_markers:
                    yield from page.get("DeleteMarkers", ())

    def _what(self, key: str = "") -> str:
        return f"inbox: s3://{self._place.bucket}/{key or self._place.prefix}"


def open_inbox(workspace: Workspace) -> Inbox:
    """The inbox of the settings.

    Raises:
        StoreError: `inbox` names no place in S3, or one that does not keep every version.
    """
    place = place_of(workspace.settings.inbox, "inbox")
    require_versions(workspace, place)
    return Inbox(workspace.s3, place)


def require_versions(workspace: Workspace, place: Place) -> None:
    """Returns where the bucket of the inbox keeps every version.

    Raises:
        StoreError: it does not: then an upload could be exchanged for another after it was examined.
    """
    with s3_errors("inbox"):
        state = workspace.s3.get_bucket_versioning(Bucket=place.bucket).get("Status", "")
    if state != "Enabled":
        endpoint = workspace.settings.endpoint_url
        at = f" --endpoint-url {endpoint}" if endpoint else ""
        remedy = (
            f"aws{at} s3api put-bucket-versioning --bucket {place.bucket} --versioning-configuration Status=Enabled"
        )
        raise StoreError(f"inbox: a second upload would take the place of the first: enable versioning: {remedy}")
