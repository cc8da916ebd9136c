"""A store in a bucket of an S3 service.

`put_if_absent` is one PUT with `If-None-Match: *`: the service decides which writer was first. A retry after a lost
answer may be refused because of its own bytes: so the stored bytes are read back, and equal bytes count as written.

A large value whose key holds its own sha256 goes in parts instead, if nothing is stored under the key. Two writers may
then both write; they write the same bytes. An upload that fails is aborted, and the next call sends all parts again.
A process that is killed leaves its parts in the bucket until a lifecycle rule removes them
(AbortIncompleteMultipartUpload). Any other value goes in one request, however large (5 GiB at most), since of two
writers of different bytes one must lose.

Each object has the sha256 of its bytes as metadata, and is checked against it whenever it is read.
"""

from __future__ import annotations

import base64
import hashlib
import random
import time
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import Any, Self

from botocore.exceptions import ClientError, HTTPClientError, IncompleteReadError

from sandbox.events import plain
from submissions.store.interface import Stamped, StoreError, check_key
from submissions.store.s3_client import BucketPlace, S3Client, bucket_place, connect, error_code, in_parts, s3_errors

PART_BYTES = 16 * 1024**2
_TRIES = 6
_ABSENT = ("NoSuchKey", "404")
_TAKEN = ("PreconditionFailed", "412")
_BUSY = ("ConditionalRequestConflict", "OperationAborted", "ConcurrentModification", "409")  # another writer is active


class _OthersWrite(Exception):
    """Another writer is writing the same key at this moment."""


class S3Store:
    """A store below a prefix of a bucket. Threads may share it.

    `page_keys` is the number of keys that one request lists: S3 gives at most 1,000.

    Args:
        part_bytes: size of the parts of a large value, at least 5 MiB. Smaller values go in one request.
    """

    page_keys = 1000

    def __init__(self, client: S3Client, place: BucketPlace, part_bytes: int = PART_BYTES) -> None:
        self.place = place
        self._client = client
        self._part_bytes = part_bytes
        self._bucket_seen = False

    @classmethod
    def at(cls, url: str, endpoint_url: str = "") -> Self:
        """The store at `s3://bucket/prefix`. No request is sent yet.

        Raises:
            StoreError: `url` or `endpoint_url` is not an address.
        """
        return cls(connect(endpoint_url), bucket_place(url, "store"))

    def get(self, key: str) -> bytes:
        what = self._what(key)
        with s3_errors(what):
            try:
                data, sha256 = self._read(self._object(key))
            except ClientError as error:
                if error_code(error) in _ABSENT:
                    raise KeyError(key) from None
                raise
        if sha256 not in ("", hashlib.sha256(data).hexdigest()):  # empty: another tool has written it
            raise StoreError(f"{what} is damaged (its sha256 is another): restore it, or delete it")
        return data

    def put(self, key: str, data: bytes) -> None:
        where = self._object(key)
        self._until_settled(key, lambda: self._put(where, data))

    def put_if_absent(self, key: str, data: bytes) -> bool:
        where, digest = self._object(key), hashlib.sha256(data).hexdigest()
        if digest in key and len(data) > self._part_bytes:
            return self._until_settled(key, lambda: self._put_parts(where, data, digest))
        return self._until_settled(key, lambda: self._put(where, data, IfNoneMatch="*"))

    def list(self, prefix: str) -> Iterator[str]:
        return (stamped.key for stamped in self.stamped(prefix))

    def stamped(self, prefix: str) -> Iterator[Stamped]:
        folder = prefix.rpartition("/")[0]
        if folder:
            check_key(folder)
        query = {"Bucket": self.place.bucket, "Prefix": self.place.prefix + prefix}
        pages = self._client.get_paginator("list_objects_v2").paginate(
            **query, PaginationConfig={"PageSize": self.page_keys}
        )
        stamped: list[Stamped] = []
        with s3_errors(self._what(prefix)):
            for page in pages:
                for listed in page.get("Contents", ()):
                    key = listed["Key"].removeprefix(self.place.prefix)
                    if _can_be_key(key):  # consoles make objects such as `folder/`
                        size, modified = listed["Size"], listed["LastModified"].timestamp()
                        stamped.append(Stamped(key, f"{listed['ETag']}-{size}", True, size, modified))
        return iter(sorted(stamped))

    def delete(self, key: str) -> None:
        with s3_errors(self._what(key)):
            self._client.delete_object(**self._object(key))

    def exists(self, key: str) -> bool:
        where = self._object(key)
        with s3_errors(self._what(key)):
            try:
                self._client.head_object(**where)
            except ClientError as error:
                absent = error_code(error) in _ABSENT
                if not absent or not self._bucket_seen:
                    # The answer to a HEAD has no body. A listing says whether the bucket is missing, or what is wrong.
                    self._client.list_objects_v2(Bucket=self.place.bucket, Prefix=where["Key"], MaxKeys=1)
                    self._bucket_seen = True
                if absent:
                    return False
                raise
        return True

    def _what(self, key: str) -> str:
        return f"store: s3://{self.place.bucket}/{self.place.prefix}{plain(key)}"

    def _object(self, key: str) -> dict[str, str]:
        return {"Bucket": self.place.bucket, "Key": self.place.prefix + check_key(key)}

    def _until_settled(self, key: str, write: Callable[[], bool]) -> bool:
        """The result of `write()`, which is repeated while another writer of the same key is active."""
        with s3_errors(self._what(key)):
            for wait in _waits():
                try:
                    return write()
                except _OthersWrite:
                    time.sleep(wait or 0)
        raise StoreError(f"{self._what(key)} is written by others at the same time: run it again")

    def _put(self, where: Mapping[str, str], data: bytes, **condition: str) -> bool:
        """Whether `data` is stored now."""
        md5, sha256 = hashlib.md5(data, usedforsecurity=False).digest(), hashlib.sha256(data).hexdigest()
        checksum = base64.b64encode(md5).decode()  # the service refuses what was damaged on the way
        try:
            self._client.put_object(**where, **condition, Body=data, ContentMD5=checksum, Metadata={"sha256": sha256})
        except ClientError as error:
            return self._settle(error, where, data)
        return True

    def _put_parts(self, where: Mapping[str, str], data: bytes, sha256: str) -> bool:
        """Whether `data` is stored now. Memory for one part is needed beside `data`."""
        if (stored := self._stored(where)) is not None:
            return stored == data
        extra, config = {"Metadata": {"sha256": sha256}}, in_parts(self._part_bytes)
        try:
            self._client.upload_fileobj(BytesIO(data), where["Bucket"], where["Key"], ExtraArgs=extra, Config=config)
        except ClientError as error:
            return self._settle(error, where, data)
        return True

    def _settle(self, error: ClientError, where: Mapping[str, str], data: bytes) -> bool:
        """Whether `data` is stored although a write was refused.

        Raises:
            _OthersWrite: that is not decided yet.
        """
        if error_code(error) in _TAKEN:
            stored = self._stored(where)
            if stored is not None:
                return stored == data
        elif error_code(error) not in _BUSY:
            raise error
        raise _OthersWrite from error

    def _stored(self, where: Mapping[str, str]) -> bytes | None:
        try:
            return self._read(where)[0]
        except ClientError as error:
            if error_code(error) in _ABSENT:
                return None
            raise

    def _read(self, where: Mapping[str, str]) -> tuple[bytes, str]:
        """The bytes, and the sha256 that they should have.

        The client does not retry once an answer has begun. If an answer is cut off, the request is repeated here.
        """
        for wait in _waits():
            answer: Mapping[str, Any] = self._client.get_object(**where)
            try:
                return answer["Body"].read(), answer["Metadata"].get("sha256", "")
            except (HTTPClientError, IncompleteReadError):
                if wait is None:
                    raise
                time.sleep(wait)
        raise AssertionError("the last of the waits is None")


def _waits() -> Iterator[float | None]:
    """Seconds to wait after each failure, growing; None after the last failure.

    They are random: else two writers that collided would collide again.
    """
    for n in range(_TRIES - 1):
        yield random.uniform(0, 0.1 * 2**n)
    yield None


def _can_be_key(key: str) -> bool:
    try:
        check_key(key)
    except StoreError:
        return False
    return True
