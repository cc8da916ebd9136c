"""A store in a bucket of an S3 service.

`put_if_absent` is one PUT with `If-None-Match: *`: the service decides who was first. A retry after a lost answer may
find its own bytes there: they are read back, and equal ones count as done.

A large value whose key holds its own sha256 goes in parts instead, if nothing is stored under the key. Two writers may
then both write; they write the same bytes. An upload that fails is aborted, and the next call sends all parts again.
A process that is killed leaves its parts in the bucket until a lifecycle rule removes them
(AbortIncompleteMultipartUpload). Any other value goes in one request, however large (5 GiB at most), since of two
writers of different bytes one must lose.

Each object carries the sha256 of its bytes as metadata, and is checked against it whenever it is read.
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
from submissions.store.interface import StoreError, check_key
from submissions.store.s3_client import Place, S3Client, connect, error_code, in_parts, place_of, s3_errors

PART_BYTES = 16 * 1024**2
_TRIES = 6
_ABSENT = ("NoSuchKey", "404")
_TAKEN = ("PreconditionFailed", "412")
_BUSY = ("ConditionalRequestConflict", "OperationAborted", "ConcurrentModification", "409")  # others write it just now


class _OthersWrite(Exception):
    """Other writers of the same key are at it just now."""


class S3Store:
    """A store below a prefix of a bucket. Threads may share it.

    `page_keys` is how many keys a listing asks for at a time: 1,000 is the most that S3 gives.

    Args:
        part_bytes: of a value that goes in parts, and the size up to which none does; at least 5 MiB.
    """

    page_keys = 1000

    def __init__(self, client: S3Client, place: Place, part_bytes: int = PART_BYTES) -> None:
        self.place = place
        self._client = client
        self._part_bytes = part_bytes
        self._bucket_seen = False

    @classmethod
    def at(cls, url: str, endpoint_url: str = "") -> Self:
        """The store at `s3://bucket/prefix`; nothing is asked of the service yet.

        Raises:
            StoreError: `url` names no place, or no service can be at `endpoint_url`.
        """
        return cls(connect(endpoint_url), place_of(url, "store"))

    def get(self, key: str) -> bytes:
        what = self._what(key)
        with s3_errors(what):
            try:
                data, said = self._read(self._object(key))
            except ClientError as error:
                if error_code(error) in _ABSENT:
                    raise KeyError(key) from None
                raise
        if said not in ("", hashlib.sha256(data).hexdigest()):  # none: somebody else's tool has put it there
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
        return (key for key, _ in self.stamped(prefix))

    def stamped(self, prefix: str) -> Iterator[tuple[str, str]]:
        folder = prefix.rpartition("/")[0]
        if folder:
            check_key(folder)
        asked = {"Bucket": self.place.bucket, "Prefix": self.place.prefix + prefix}
        pages = self._client.get_paginator("list_objects_v2").paginate(
            **asked, PaginationConfig={"PageSize": self.page_keys}
        )
        found: list[tuple[str, str]] = []
        with s3_errors(self._what(prefix)):
            for page in pages:
                for one in page.get("Contents", ()):
                    key = one["Key"].removeprefix(self.place.prefix)
                    if _can_be_key(key):  # consoles make objects such as `folder/`
                        found.append((key, f"{one['ETag']}-{one['Size']}"))
        return iter(sorted(found))

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
                    # A HEAD is answered without a word. A listing says whether the bucket is missing, or what is wrong.
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
        """What `write()` returns, tried again while other writers of the same key are in its way."""
        with s3_errors(self._what(key)):
            for wait in _waits():
                try:
                    return write()
                except _OthersWrite:
                    time.sleep(wait or 0)
        raise StoreError(f"{self._what(key)} is written by others all the time: run it again")

    def _put(self, where: Mapping[str, str], data: bytes, **condition: str) -> bool:
        """Whether `data` is there now."""
        md5, sha256 = hashlib.md5(data, usedforsecurity=False).digest(), hashlib.sha256(data).hexdigest()
        checksum = base64.b64encode(md5).decode()  # the service refuses what was damaged on the way
        try:
            self._client.put_object(**where, **condition, Body=data, ContentMD5=checksum, Metadata={"sha256": sha256})
        except ClientError as error:
            return self._settle(error, where, data)
        return True

    def _put_parts(self, where: Mapping[str, str], data: bytes, sha256: str) -> bool:
        """Whether `data` is there now: beside `data`, memory for one part is used."""
        if (stored := self._found(where)) is not None:
            return stored == data
        extra, config = {"Metadata": {"sha256": sha256}}, in_parts(self._part_bytes)
        try:
            self._client.upload_fileobj(BytesIO(data), where["Bucket"], where["Key"], ExtraArgs=extra, Config=config)
        except ClientError as error:
            return self._settle(error, where, data)
        return True

    def _settle(self, error: ClientError, where: Mapping[str, str], data: bytes) -> bool:
        """What a refused write has come to."""
        if error_code(error) in _TAKEN:
            found = self._found(where)
            if found is not None:
                return found == data
        elif error_code(error) not in _BUSY:
            raise error
        raise _OthersWrite from error

    def _found(self, where: Mapping[str, str]) -> bytes | None:
        try:
            return self._read(where)[0]
        except ClientError as error:
            if error_code(error) in _ABSENT:
                return None
            raise

    def _read(self, where: Mapping[str, str]) -> tuple[bytes, str]:
        """The bytes, and the sha256 that they should have.

        The client's own retries end where the answer begins: one that breaks off is asked for again here.
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
    """Seconds to wait after each failure, longer and longer; None after the last, which is to be told.

    They are random, or writers that met once would meet again.
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
