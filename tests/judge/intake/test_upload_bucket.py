"""The upload bucket on a real S3 server: the oldest version of each object counts; removal leaves no version."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import judge.intake.upload_bucket
from judge.config import JudgeSettings
from judge.intake.upload_bucket import UploadBucket, open_upload_bucket
from judge.workspace import Workspace
from sandbox.verdict import SubmissionFault
from submissions.store.interface import StoreError
from submissions.store.s3_client import BucketPlace
from tests.servers.rgw import RgwServer


class Box(NamedTuple):
    bucket: UploadBucket
    client: Any
    name: str

    def put(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=f"in/{key}", Body=data)

    def delete(self, key: str) -> None:
        self.client.delete_object(Bucket=self.name, Key=f"in/{key}")

    def versions(self) -> int:
        listing = self.client.list_object_versions(Bucket=self.name)
        return len(listing.get("Versions", ())) + len(listing.get("DeleteMarkers", ()))


@pytest.fixture
def box(rgw: RgwServer) -> Box:
    bucket, client = rgw.new_bucket(versioned=True), rgw.client()
    return Box(UploadBucket(client, BucketPlace(bucket, "in/")), client, bucket)


def read(box: Box, name: str, slot: str) -> bytes:
    uploads = box.bucket.uploads(name)
    assert uploads is not None
    return box.bucket.read(uploads[slot], 100)


def test_of_what_is_written_over_the_oldest_stands(box: Box) -> None:
    for n in range(4):  # within one second
        box.put("alice/slot", b"version %d" % n)
    box.delete("alice/slot")
    box.put("alice/slot", b"version 5")
    box.delete("alice/slot")
    assert read(box, "alice", "slot") == b"version 0"


def test_the_invitations_are_apart(box: Box) -> None:
    box.put("alice/a", b"1")
    box.put("alice-2/b", b"2")
    box.put("stray", b"3")
    uploads = box.bucket.uploads("alice")
    assert uploads is not None
    assert list(uploads) == ["a"]
    assert (uploads["a"].n_bytes, uploads["a"].received.tzinfo is not None) == (1, True)
    assert box.bucket.uploads("bob") == {}
    assert box.bucket.names() == ["alice", "alice-2", "stray"]


def test_many_versions_of_many_objects_are_all_seen(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond one page of the listing, a page that ends within the versions of one object included."""
    for n in range(5):
        for slot in "abc":
            box.put(f"alice/{slot}", b"%s %d" % (slot.encode(), n))
    make = box.client.get_paginator("list_object_versions").paginate
    pages = list(make(Bucket=box.name, Prefix="in/alice/", PaginationConfig={"PageSize": 2}))
    assert len(pages) > 3

    class Small:
        """The same client, with pages of two."""

        def get_paginator(self, name: str) -> Any:
            paginator = box.client.get_paginator(name)
            whole = paginator.paginate
            paginator.paginate = lambda **options: whole(**options, PaginationConfig={"PageSize": 2})
            return paginator

        def __getattr__(self, name: str) -> Any:
            return getattr(box.client, name)

    small = Box(UploadBucket(Small(), BucketPlace(box.name, "in/")), box.client, box.bucket)
    assert [read(small, "alice", slot) for slot in "abc"] == [b"a 0", b"b 0", b"c 0"]
    monkeypatch.setattr(judge.intake.upload_bucket, "MAX_VERSIONS", 14)
    assert small.bucket.uploads("alice") is None


def test_what_is_removed_leaves_no_version(box: Box) -> None:
    for key in ("alice/a", "alice/a", "alice/ab", "alice/b"):
        box.put(key, b"x")
    box.delete("alice/a")
    uploads = box.bucket.uploads("alice")
    assert uploads is not None
    box.bucket.remove([uploads["a"]])
    left = box.bucket.uploads("alice")
    assert sorted(left) == ["ab", "b"]
    assert box.versions() == 2


def test_many_versions_are_removed_with_few_requests(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    for slot in ("a", "ab", "b", "c"):
        for n in range(3):
            box.put(f"alice/{slot}", b"%d" % n)
    operations: list[str] = []
    box.client.meta.events.register("before-call.s3", lambda model, **_: operations.append(model.name))
    monkeypatch.setattr(judge.intake.upload_bucket, "MAX_BULK", 4)
    uploads = box.bucket.uploads("alice")
    assert uploads is not None
    box.bucket.remove(uploads[slot] for slot in "abc")
    assert operations == ["ListObjectVersions"] * 2 + ["DeleteObjects"] * 3
    assert box.versions() == 3
    assert read(box, "alice", "ab") == b"0"
    box.bucket.remove(())


def test_nothing_is_read_beyond_its_bound(box: Box) -> None:
    box.put("alice/a", b"x" * 101)
    with pytest.raises(SubmissionFault, match="larger than 100 bytes"):
        read(box, "alice", "a")


def test_large_parts_come_in_pieces(box: Box) -> None:
    data = bytes(range(256)) * 4096 * 3
    box.put("alice/a", data)
    uploads = box.bucket.uploads("alice")
    assert uploads is not None
    pieces = list(box.bucket.chunks(uploads["a"]))
    assert (b"".join(pieces), len(pieces)) == (data, 3)


def test_an_upload_bucket_that_keeps_one_version_is_none(aws_environment: RgwServer) -> None:
    for bucket, words in ((aws_environment.new_bucket(), "enable versioning"), ("no-such-bucket", "no such bucket")):
        settings = JudgeSettings(upload_bucket=f"s3://{bucket}/in", endpoint_url=aws_environment.endpoint)
        with pytest.raises(StoreError, match=words):
            open_upload_bucket(Workspace(settings))
