"""The objects of a site in a bucket: listing, reading, conditional writing, removing."""

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
    """The headers of an object.

    Args:
        metadata: set by the program that put the object.
    """

    etag: str
    served: ServedAs
    metadata: Mapping[str, str]


class BucketObjects:
    """The objects below a prefix of a bucket. An ETag is always without quotes.

    Raises (all methods):
        StoreError: the bucket does not answer; one line with the remedy.
    """

    def __init__(self, client: S3Client, place: BucketPlace) -> None:
        self._client, self._place = client, place
        self._token = secrets.token_hex(16)  # stored with every object, to recognise it

    def path(self, name: str = "") -> str:
        """The address of an object, for a person."""
        return f"s3://{self._place.bucket}/{self._place.prefix}{name}"

    def list(self, folder: str) -> Iterator[tuple[str, str]]:
        """Path and ETag of each object anywhere in `folder`; if that is empty, of those directly below the prefix."""
        flat = {} if folder else {"Delimiter": "/"}
        with s3_errors(self.path(folder)):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._place.bucket, Prefix=self._place.prefix + folder, **flat
            )
            for page in pages:
                for entry in page.get("Contents", ()):
                    yield entry["Key"].removeprefix(self._place.prefix), entry["ETag"].strip('"')

    def get(self, name: str) -> tuple[bytes | None, str] | None:
        """The file `name`, None if it cannot be unpacked, and its ETag; None if there is no object."""
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
        """The files `names`, in order; None for a file that does not exist or cannot be unpacked."""
        paths = list(names)
        with ThreadPoolExecutor(N_THREADS) as pool:
            for name, got in zip(paths, pool.map(self.get, paths), strict=True):
                yield name, got[0] if got else None

    def holds(self, objects: Mapping[str, SiteObject]) -> dict[str, bool]:
        """Whether the bucket has each of `objects`, with the right headers."""
        with ThreadPoolExecutor(N_THREADS) as pool:
            return dict(zip(objects, pool.map(self._holds, objects, objects.values()), strict=True))

    def _holds(self, name: str, wanted: SiteObject) -> bool:
        head = self._head(name)
        return head is not None and (head.etag, head.served) == (wanted.md5.hex(), wanted.served)

    def misserved(self, names: Iterable[str]) -> tuple[str, ...]:
        """The objects among `names` whose headers a browser would misunderstand."""
        paths = list(names)
        with ThreadPoolExecutor(N_THREADS) as pool:
            heads = zip(paths, pool.map(self._head, paths), strict=True)
            return tuple(name for name, head in heads if head and not is_well_served(name, head.served))

    def _head(self, name: str) -> ObjectHead | None:
        """The headers of the object `name`; None if there is none."""
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
        """The ETag of `wanted`, which is in the bucket now.

        Args:
            etag: that the object must have before; empty: the object must not exist.

        Raises:
            StoreError: the object is another: another judge publishes too.
        """
        condition = {"IfMatch": etag} if etag else {"IfNoneMatch": "*"}  # Ceph accepts only an ETag without quotes
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
        if head is None and etag:  # the judge that published before removed it meanwhile
            return self.put(name, wanted, "")
        if head and (head.metadata, head.served) == (metadata, wanted.served):
            return head.etag  # put by our own request, whose answer was lost
        raise self.changed(name)

    def changed(self, name: str) -> StoreError:
        """The error if another judge publishes too."""
        return StoreError(f"{self.path(name)} was changed meanwhile: see who else publishes, then publish again")

    def put_all(self, objects: Mapping[str, SiteObject], etags: Mapping[str, str]) -> dict[str, str]:
        """The ETags of `objects`, after all were put into the bucket. Several are sent at once.

        Args:
            etags: that the objects must have before; an object without one must not exist.
        """
        with ThreadPoolExecutor(N_THREADS) as pool:
            futures = {n: pool.submit(self.put, n, wanted, etags.get(n, "")) for n, wanted in objects.items()}
            try:
                return {name: future.result() for name, future in futures.items()}
            except BaseException:  # also Ctrl-C: no further request is started
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def remove(self, names: Sequence[str]) -> None:
        """Removes objects."""
        for start in range(0, len(names), MAX_BULK):
            keys = [{"Key": self._place.prefix + name} for name in names[start : start + MAX_BULK]]
            with s3_errors(self.path()):
                answer = self._client.delete_objects(Bucket=self._place.bucket, Delete={"Objects": keys, "Quiet": True})
            for failure in answer.get("Errors", ()):
                what = plain(f"s3://{self._place.bucket}/{failure.get('Key')}: {failure.get('Code')}")
                raise StoreError(f"{what}: it could not be removed: allow s3:DeleteObject, then publish again")
