"""The bucket that authors upload to. It keeps every version, and every byte in it was written by a stranger.

An author can use an upload form many times while it is valid. So the oldest version of each object is the one that
counts, even if later versions exist or the newest one is a deletion: what was examined cannot become something else.
Size, time and version are taken from the server, and no object is read before its size is checked.
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
from submissions.store.s3_client import BucketPlace, S3Client, bucket_place, s3_errors

CHUNK = 1024**2
MAX_BULK = 1000  # versions in one request to delete
MAX_VERSIONS = 20_000
"""Of all objects of one invitation. One with more is flooded: it is not read, so that it delays nobody else."""
MAX_THINNED = 5 * MAX_VERSIONS


class UploadedObject(NamedTuple):
    """The oldest version of an object: the one that counts.

    Args:
        key: in the bucket.
    """

    key: str
    version: str
    n_bytes: int
    received: datetime


Uploads = dict[str, UploadedObject]
"""The uploads of an invitation, by slot."""


class UploadBucket:
    """The bucket that receives submission requests and parts of images.

    Raises (all methods):
        StoreError: the service does not answer, or refuses.
    """

    def __init__(self, client: S3Client, place: BucketPlace) -> None:
        self._client = client
        self._place = place

    def uploads(self, invitation: str) -> Uploads | None:
        """The oldest version of every object of an invitation; None if the invitation is flooded."""
        folder = f"{self._place.prefix}{invitation}/"
        uploads: Uploads = {}
        for n, version in enumerate(self._versions(folder)):
            if n >= MAX_VERSIONS:
                return None
            key = version["Key"]
            # The server lists the versions of a key newest first: the last one is the oldest, also within one second.
            upload = UploadedObject(key, version["VersionId"], version["Size"], version["LastModified"])
            uploads[key.removeprefix(folder)] = upload
        return uploads

    def names(self) -> list[str]:
        """The names directly below the bucket's prefix: of invitations, and of anything else."""
        names = set()
        with s3_errors(self._what()):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._place.bucket, Prefix=self._place.prefix, Delimiter="/"
            )
            for page in pages:
                keys = [each["Prefix"] for each in page.get("CommonPrefixes", ())]
                keys += [each["Key"] for each in page.get("Contents", ())]
                names |= {key.removeprefix(self._place.prefix).removesuffix("/") for key in keys}
        return sorted(names)

    def read(self, upload: UploadedObject, max_bytes: int) -> bytes:
        """The bytes of an upload.

        Raises:
            SubmissionFault: there are more than `max_bytes`.
        """
        if upload.n_bytes > max_bytes:
            raise SubmissionFault(
                Verdict.OUTPUT_LIMIT, f"The submission request is larger than {max_bytes} bytes: shorten it."
            )
        return b"".join(self.chunks(upload))

    def chunks(self, upload: UploadedObject) -> Iterator[bytes]:
        """The bytes of an upload, in pieces."""
        what = self._what(upload.key)
        with s3_errors(what):
            body = self._client.get_object(Bucket=self._place.bucket, Key=upload.key, VersionId=upload.version)["Body"]
        try:
            while True:
                with s3_errors(what):
                    piece: bytes = body.read(CHUNK)
                if not piece:
                    return
                yield piece
        finally:
            body.close()

    def remove(self, uploads: Iterable[UploadedObject]) -> None:
        """Removes all versions of these objects, with one listing and one request for each thousand versions."""
        keys = {upload.key for upload in uploads}
        if not keys:
            return
        common = os.path.commonprefix(sorted(keys))  # noqa: RUF071 - of keys, and not of folders
        versions = self._versions(common, with_markers=True)
        self._delete({"Key": v["Key"], "VersionId": v["VersionId"]} for v in versions if v["Key"] in keys)

    def thin_out(self, invitation: str, slots: Collection[str]) -> int:
        """Removes versions that do not count from the `slots` of a flooded invitation; the number of removed versions.

        The oldest version of each object stays. An intake removes only as many as it has time for.
        """
        folder = f"{self._place.prefix}{invitation}/"
        versions = islice(self._versions(folder), MAX_THINNED)
        # Newest first within a key: a version that is followed by another one of the same key is not the oldest.
        newer = [
            {"Key": version["Key"], "VersionId": version["VersionId"]}
            for version, next_version in pairwise(versions)
            if version["Key"] == next_version["Key"] and version["Key"].removeprefix(folder) in slots
        ]
        self._delete(iter(newer))
        return len(newer)

    def _delete(self, versions: Iterator[dict[str, str]]) -> None:
        """Deletes these versions, a thousand in one request."""
        while batch := list(islice(versions, MAX_BULK)):
            with s3_errors(self._what()):
                answer = self._client.delete_objects(
                    Bucket=self._place.bucket, Delete={"Objects": batch, "Quiet": True}
                )
            for refused in answer.get("Errors", ()):
                what = plain(f"{self._what(str(refused.get('Key')))}: {refused.get('Code')}")
                raise StoreError(f"{what}: it could not be removed: allow s3:DeleteObjectVersion")

    def _versions(self, prefix: str, *, with_markers: bool = False) -> Iterator[dict[str, Any]]:
        """The versions as the server describes them; deletion markers only if asked for."""
        with s3_errors(self._what()):
            pages = self._client.get_paginator("list_object_versions").paginate(
                Bucket=self._place.bucket, Prefix=prefix
            )
            for page in pages:
                yield from page.get("Versions", ())
                if with_markers:
                    yield from page.get("DeleteMarkers", ())

    def _what(self, key: str = "") -> str:
        return f"upload_bucket: s3://{self._place.bucket}/{key or self._place.prefix}"


def open_upload_bucket(workspace: Workspace) -> UploadBucket:
    """The upload bucket of the settings.

    Raises:
        StoreError: `upload_bucket` names no place in S3, or one that does not keep every version.
    """
    place = bucket_place(workspace.settings.upload_bucket, "upload_bucket")
    require_versions(workspace, place)
    return UploadBucket(workspace.s3, place)


def require_versions(workspace: Workspace, place: BucketPlace) -> None:
    """Returns if the upload bucket keeps every version.

    Raises:
        StoreError: it does not. An upload could then be replaced after it was examined.
    """
    with s3_errors("upload_bucket"):
        state = workspace.s3.get_bucket_versioning(Bucket=place.bucket).get("Status", "")
    if state != "Enabled":
        endpoint = workspace.settings.endpoint_url
        at = f" --endpoint-url {endpoint}" if endpoint else ""
        what = f"--bucket {place.bucket} --versioning-configuration Status=Enabled"
        remedy = f"aws{at} s3api put-bucket-versioning {what}"
        raise StoreError(f"upload_bucket: a second upload would replace the first: enable versioning: {remedy}")
