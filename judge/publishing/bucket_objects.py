"""The objects of a site in a bucket: listed, read, put on a condition, and removed."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from botocore.exceptions import ClientError

from judge.publishing.served_file import ServedAs, SiteObject, is_well_served, unpacked
from sandbox.events import plain
from submissions.store.interface import StoreError
from submissions.store.s3_client import BucketPlace, S3Client, error_code, s3_errors

N_THREADS = 8
MAX_BULK = 1000  # names in one request to delete
_ABSENT = frozenset({"404", "NoSuchKey"})
_CONFLICT = frozenset({"409", "412", "ConditionalRequestConflict", "PreconditionFailed", *_ABSENT})


class ObjectHead(NamedTuple):
    """What a bucket says of an object.

    Args:
        metadata: what whoever put it said of it.
    """

    etag: str
    served: ServedAs
    metadata: Mapping[str, str]


class BucketObjects:
    """What lies below a prefix of a bucket; an ETag is always without quotes.

    Raises (all methods):
        StoreError: the bucket does not answer; one line with the remedy.
    """

    def __init__(self, client: S3Client, place: BucketPlace) -> None:
        self._client, self._place = client, place
        self._token = secrets.token_hex(16)  # with every object that is put, to know it again

    def path(self, name: str = "") -> str:
        """How a person calls an object."""
        return f"s3://{self._place.bucket}/{self._place.prefix}{name}"

    def list(self, folder: str) -> Iterator[tuple[str, str]]:
        """Path and ETag of each object anywhere in `folder`; for none, right below the prefix."""
        flat = {} if folder else {"Delimiter": "/"}
        with s3_errors(self.path(folder)):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._place.bucket, Prefix=self._place.prefix + folder, **flat
            )
            for page in pages:
                for entry in page.get("Contents", ()):
                    yield entry["Key"].removeprefix(self._place.prefix), entry["ETag"].strip('"')

    def get(self, name: str) -> tuple[bytes | None, str] | None:
        """The file under `name`, None if it cannot be unpacked, and its ETag; None if nothing is there."""
        with s3_errors(self.path(name)):
            try:
                answer = self._client.get_object(Bucket=self._place.bucket, Key=self._place.prefix + name)
            except ClientError as error:
                if error_code(error) not in _ABSENT:
                    raise
                return None
            content = unpacked(answer["Body"].read(), answer.get("ContentEncoding", ""))
            return content, answer["ETag"].strip('"')

    def get_all(self, names: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """The files under `names`, in order; None where none is, or it cannot be unpacked."""
        asked = list(names)
        with ThreadPoolExecutor(N_THREADS) as pool:
            for name, got in zip(asked, pool.map(self.get, asked), strict=True):
                yield name, got[0] if got else None

    def holds(self, objects: Mapping[str, SiteObject]) -> dict[str, bool]:
        """Whether each of `objects` is there, handed out as it should be."""
        with ThreadPoolExecutor(N_THREADS) as pool:
            return dict(zip(objects, pool.map(self._holds, objects, objects.values()), strict=True))

    def _holds(self, name: str, wanted: SiteObject) -> bool:
        head = self._head(name)
        return head is not None and (head.etag, head.served) == (wanted.md5.hex(), wanted.served)

    def misserved(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of `names` that are there, and that a browser would not take for what they are."""
        asked = list(names)
        with ThreadPoolExecutor(N_THREADS) as pool:
            heads = zip(asked, pool.map(self._head, asked), strict=True)
            return tuple(name for name, head in heads if head and not is_well_served(name, head.served))

    def _head(self, name: str) -> ObjectHead | None:
        """What is said of the object; None if nothing is there."""
        with s3_errors(self.path(name)):
            try:
                answer = self._client.head_object(Bucket=self._place.bucket, Key=self._place.prefix + name)
            except ClientError as error:
                if error_code(error) not in _ABSENT:
                    raise
                return None
        served = (answer.get(field, "") for field in ("ContentType", "ContentEncoding", "CacheControl"))
        return ObjectHead(answer["ETag"].strip('"'), ServedAs(*served), answer["Metadata"])

    def put(self, name: str, wanted: SiteObject, etag: str) -> str:
        """The ETag of `wanted`, which is there now.

        Args:
            etag: of what must be there before, if anything is; empty for nothing.

        Raises:
            StoreError: something else is there, so others publish too.
        """
        condition = {"IfMatch": etag} if etag else {"IfNoneMatch": "*"}  # Ceph knows an ETag without quotes alone
        metadata = {"sha256": wanted.sha256, "publication": self._token}
        if wanted.served.content_encoding:
            condition["ContentEncoding"] = wanted.served.content_encoding
        with s3_errors(self.path(name)):
            try:
                answer = self._client.put_object(
                    Bucket=self._place.bucket,
                    Key=self._place.prefix + name,
                    Body=wanted.body,
                    ContentMD5=base64.b64encode(wanted.md5).decode(),
                    ContentType=wanted.served.content_type,
                    CacheControl=wanted.served.cache_control,
                    Metadata=metadata,
                    **condition,
                )
                return str(answer["ETag"]).strip('"')
            except ClientError as error:
                if error_code(error) not in _CONFLICT:
                    raise
        head = self._head(name)
        if head is None and etag:  # removed meanwhile, by whoever published before
            return self.put(name, wanted, "")
        if head and (head.metadata, head.served) == (metadata, wanted.served):
            return head.etag  # put by a request of ours whose answer was lost
        raise self.changed(name)

    def changed(self, name: str) -> StoreError:
        """What is to be said where another publishes too."""
        return StoreError(f"{self.path(name)} was changed meanwhile: see who else publishes, then publish again")

    def put_all(self, objects: Mapping[str, SiteObject], etags: Mapping[str, str]) -> dict[str, str]:
        """The ETags of `objects`, all of which are there now; several travel at once.

        Args:
            etags: of what must be there before; nothing must where one has none.
        """
        with ThreadPoolExecutor(N_THREADS) as pool:
            futures = {n: pool.submit(self.put, n, wanted, etags.get(n, "")) for n, wanted in objects.items()}
            try:
                return {name: future.result() for name, future in futures.items()}
            except BaseException:  # also Ctrl-C: what has not begun is not begun
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def remove(self, names: Sequence[str]) -> None:
        """Removes objects."""
        for start in range(0, len(names), MAX_BULK):
            keys = [{"Key": self._place.prefix + name} for name in names[start : start + MAX_BULK]]
            with s3_errors(self.path()):
                answer = self._client.delete_objects(Bucket=self._place.bucket, Delete={"Objects": keys, "Quiet": True})
            for refused in answer.get("Errors", ()):
                what = plain(f"s3://{self._place.bucket}/{refused.get('Key')}: {refused.get('Code')}")
                raise StoreError(f"{what}: it could not be removed: allow s3:DeleteObject, then publish again")
