"""A large value, sent to S3 in parts, of which none is sent twice: not after a lost connection, nor after a crash.

What a part is follows from the value's size alone, so whoever sends the same bytes under the same key again cuts them
the same way and finds what arrived before. An old upload of the same key is ended by the next one after a week. One
that nobody comes back to stays, paid for and shown by no listing, until the bucket's own lifecycle rule ends it
(AbortIncompleteMultipartUpload): other programs may have theirs in the same bucket.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from submissions.store.s3_client import Place, S3Client, error_code

PART_BYTES = 16 * 1024**2
STALE = timedelta(days=7)
_MAX_PARTS = 10_000

Progress = Callable[[int, int], None]  # bytes that have arrived, of how many


class UploadGone(Exception):
    """Another writer of the same key has finished this upload, or ended it."""


class _Part(NamedTuple):
    number: int
    data: bytes
    md5: bytes


class PartsUpload:
    """One value on its way to one key.

    The key must hold a hash of the value: an unfinished upload found under it is then one of the same bytes.

    Args:
        key: in the bucket of `place`, prefix included.
        sha256: of `data`, hexadecimal; it becomes the object's metadata.
        part_bytes: at least 5 MiB.
    """

    def __init__(self, client: S3Client, place: Place, key: str, data: bytes, sha256: str, part_bytes: int) -> None:
        self._client = client
        self._place = place
        self._object = {"Bucket": place.bucket, "Key": key}
        self._data = data
        self._sha256 = sha256
        self._part_bytes = max(part_bytes, -(-len(data) // _MAX_PARTS))

    def send(self, on_progress: Progress) -> None:
        """Returns once the object is there under its key; until then there is nothing.

        Raises:
            UploadGone: another writer was faster, or ended it.
            ClientError: of boto3, as all of its errors; 412 where the service sees that the key was taken meanwhile.
        """
        upload, arrived = self._unfinished() or (self._begin(), {})
        try:
            self._send_parts(upload, arrived, on_progress)
        except ClientError as error:
            if error_code(error) == "NoSuchUpload":
                raise UploadGone from error
            raise

    def _send_parts(self, upload: str, arrived: Mapping[int, str], on_progress: Progress) -> None:
        done, etags = 0, []
        for part in self._parts():
            etag = arrived.get(part.number, "")
            if etag.strip('"') != part.md5.hex():  # an encrypted bucket has ETags of another kind: all are sent again
                etag = self._send_part(upload, part)
            etags.append({"PartNumber": part.number, "ETag": etag})
            done += len(part.data)
            on_progress(done, len(self._data))
        self._client.complete_multipart_upload(
            **self._object, UploadId=upload, MultipartUpload={"Parts": etags}, IfNoneMatch="*"
        )

    def _send_part(self, upload: str, part: _Part) -> str:
        answer = self._client.upload_part(
            **self._object,
            UploadId=upload,
            PartNumber=part.number,
            Body=part.data,
            ContentMD5=base64.b64encode(part.md5).decode(),  # the service refuses what was damaged on the way
        )
        return str(answer["ETag"])

    def _begin(self) -> str:
        return str(self._client.create_multipart_upload(**self._object, Metadata={"sha256": self._sha256})["UploadId"])

    def _parts(self) -> Iterator[_Part]:
        for number, start in enumerate(range(0, len(self._data), self._part_bytes), 1):
            data = self._data[start : start + self._part_bytes]
            yield _Part(number, data, hashlib.md5(data, usedforsecurity=False).digest())

    def _unfinished(self) -> tuple[str, Mapping[int, str]] | None:
        """The upload of this key of which the most has arrived, with the ETags of its parts; ends stale ones of it."""
        found: list[tuple[str, Mapping[int, str]]] = []
        oldest = datetime.now(UTC) - STALE
        for upload in self._pages("list_multipart_uploads", "Uploads", Prefix=self._object["Key"]):
            if upload["Key"] != self._object["Key"]:
                continue  # it only begins so
            name = {**self._object, "UploadId": upload["UploadId"]}
            try:
                if upload["Initiated"] < oldest:
                    self._client.abort_multipart_upload(**name)
                else:
                    parts = self._pages("list_parts", "Parts", Key=name["Key"], UploadId=name["UploadId"])
                    found.append((name["UploadId"], {part["PartNumber"]: part["ETag"] for part in parts}))
            except ClientError as error:
                if error_code(error) != "NoSuchUpload":  # it was finished since it was listed
                    raise
        return max(found, key=lambda one: len(one[1]), default=None)

    def _pages(self, operation: str, field: str, **asked: str) -> Iterator[Mapping[str, Any]]:
        for page in self._client.get_paginator(operation).paginate(Bucket=self._place.bucket, **asked):
            yield from page.get(field, ())
