"""A site in a real bucket stays complete if a judge dies at any moment, or if others publish too."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import pytest

from judge.publishing.bucket import BucketSite, StagedObjects
from judge.publishing.bucket_objects import BucketObjects
from judge.publishing.served_file import site_object as served_object
from submissions.store.interface import StoreError
from submissions.store.s3_client import BucketPlace
from tests.judge.publishing.cutting_proxy import cutting_proxy
from tests.servers.rgw import RgwServer
from tests.world.site_bucket import DAY, Bucket, assert_whole, files_of, impatient


@pytest.fixture
def bucket(aws_environment: RgwServer) -> Bucket:
    return Bucket(aws_environment)


@pytest.mark.parametrize("lose_answer", [False, True], ids=["cut before", "cut after"])
def test_at_whichever_request_it_dies_the_site_is_whole_and_the_next_completes_it(
    bucket: Bucket, lose_answer: bool
) -> None:
    now, dead = files_of(0), 0
    bucket.publish(now)
    index = now["index.html"]
    with cutting_proxy(bucket.rgw.port, lose_answer) as proxy:
        client = impatient(proxy.endpoint)

        def is_cut(after: int) -> bool:
            proxy.cut_after(after)
            try:
                bucket.publish(now, client)
            except StoreError:
                assert proxy.cut
            return proxy.cut

        n = 0
        while is_cut(n):  # each but the first begins with what the one before left
            before, index = index, assert_whole(bucket)
            assert index in (before, now["index.html"])
            dead += 1
            n, now = max(n + 1, 5), files_of(dead)  # the first five requests only read
        assert dead >= 9  # once while reading; at the list, an asset, a look, 2 pages, manifest, index, the list
        assert assert_whole(bucket) == now["index.html"]
        bucket.clock.time += 2 * DAY
        now = files_of(dead + 1)
        assert is_cut(n)  # now that old assets are to be removed, there is one request more
        assert assert_whole(bucket) == now["index.html"]
    for _ in range(2):
        bucket.publish(now)
        bucket.clock.time += 2 * DAY
    bucket.publish(now)
    assert bucket.names() == {*now, "manifest.json", "site.json"}


def test_of_two_who_publish_at_once_one_says_so(bucket: Bucket) -> None:
    bucket.publish(files_of(1))
    with bucket.site().staged(files_of(2)) as first:
        with bucket.site().staged(files_of(3)) as second:  # saw that the first had begun, and takes over
            second.show()
        with pytest.raises(StoreError, match=r"was changed meanwhile: see who else publishes, then publish again"):
            first.show()
    assert assert_whole(bucket) == files_of(3)["index.html"]


def test_an_overtaken_publisher_puts_no_page_and_his_claim_is_not_forgotten(bucket: Bucket) -> None:
    bucket.publish(files_of(1))
    with bucket.site().staged({**files_of(2), "submissions/x.html": b"x"}) as first:
        with (
            bucket.site().staged(files_of(3)) as second,
            pytest.raises(StoreError, match=r"site\.json was changed mean"),
        ):
            first.show()
        bucket.s3.put_object(Bucket=bucket.name, Key="site/submissions/x.html", Body=b"late")  # had he looked before
        second.show()
    bucket.publish({**files_of(4), "submissions/x.html": b"y"})
    assert bucket.read("submissions/x.html") == b"y"


def test_two_equal_claims_at_one_moment_are_two(bucket: Bucket) -> None:
    first, second = (bucket.site().staged(files_of(1)) for _ in range(2))
    with first as site, second, pytest.raises(StoreError, match="meanwhile"):
        site.show()


class Between(BucketObjects):
    """Does something once in the middle of a publication: after `site.json` was read, or before objects are removed."""

    def __init__(
        self, bucket: Bucket, *, read: Callable[[], object] = bool, removed: Callable[[], object] = bool
    ) -> None:
        super().__init__(bucket.s3, BucketPlace(bucket.name, bucket.prefix))
        self._read, self._removed = read, removed

    def get(self, name: str) -> tuple[bytes | None, str] | None:
        got, then = super().get(name), self._read
        self._read = bool
        then()
        return got

    def remove(self, names: Sequence[str]) -> None:
        self._removed()
        super().remove(names)


def test_what_is_needed_again_while_it_is_removed_is_there_in_the_end(bucket: Bucket) -> None:
    bucket.publish(files_of(1))
    bucket.publish(files_of(2))
    bucket.clock.time += 2 * DAY
    with ExitStack() as stack:
        late: list[StagedObjects] = []

        def begin() -> None:
            late.append(stack.enter_context(bucket.site().staged(files_of(1))))

        objects = Between(bucket, removed=begin)
        with (
            BucketSite(objects, DAY, bucket.clock).staged(files_of(2)) as first,
            pytest.raises(StoreError, match=r"site\.json was changed meanwhile"),
        ):
            first.show()
        assert "assets/style-1.css" not in bucket.names()
        late[0].show()
    assert assert_whole(bucket) == files_of(1)["index.html"]
    assert bucket.read("assets/style-1.css") is not None


def test_another_publication_after_the_list_was_read_is_reported(bucket: Bucket) -> None:
    objects = Between(bucket, read=lambda: bucket.publish(files_of(1)))
    with (
        pytest.raises(StoreError, match=rf"^STORE: {bucket.url}: another is publishing there: see who"),
        BucketSite(objects, DAY, bucket.clock).staged(files_of(2)),
    ):
        pass


def test_an_object_whose_tag_is_no_hash_is_known_again(bucket: Bucket) -> None:
    """As where a bucket is encrypted with a key of its own; here the object has another body when it is asked about."""
    objects, wanted = BucketObjects(bucket.s3, BucketPlace(bucket.name, "site/")), served_object("a.bin", b"1")
    objects.put("a.bin", wanted, "")
    stored = bucket.raw("a.bin")
    served = {field: stored[field] for field in ("ContentType", "CacheControl", "Metadata")}
    bucket.s3.put_object(Bucket=bucket.name, Key="site/a.bin", Body=b"2", **served)
    assert objects.put("a.bin", wanted, "") == bucket.raw("a.bin")["ETag"].strip('"')
    with pytest.raises(StoreError, match="meanwhile"):
        BucketObjects(bucket.s3, BucketPlace(bucket.name, "site/")).put("a.bin", wanted, "")


def test_many_who_publish_at_once_leave_a_whole_site(bucket: Bucket) -> None:
    bucket.publish(files_of(9))
    start, outcomes, ended = threading.Barrier(4), [], []

    def publish(version: int) -> None:
        start.wait(timeout=20)
        try:
            bucket.publish(files_of(version))
            ended.append(version)
        except StoreError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=publish, args=(version,)) for version in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(outcomes) + len(ended) == 4
    assert all(re.search("was changed meanwhile: see who|: another is publishing there", line) for line in outcomes), (
        outcomes
    )
    assert assert_whole(bucket) in {files_of(version)["index.html"] for version in (*range(4), 9)}
    bucket.publish(files_of(5))
    assert assert_whole(bucket) == files_of(5)["index.html"]
