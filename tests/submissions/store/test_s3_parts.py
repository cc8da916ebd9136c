"""A large value in parts: two writers, damage on the way, a crash in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from submissions.store.interface import StoreError
from submissions.store.s3 import S3Store
from tests.servers.rgw import RgwServer
from tests.submissions.store.store_contract import LARGE, LARGE_KEY, PART_BYTES, rgw_store

ROOT = Path(__file__).parents[3]


@pytest.fixture
def rgw(aws_environment: RgwServer) -> RgwServer:
    """The server, by the user's own credentials."""
    return aws_environment


@pytest.fixture
def store(rgw: RgwServer) -> S3Store:
    return rgw_store(rgw)


def test_a_large_value_travels_in_parts_one_after_the_other(store: S3Store) -> None:
    parts = parts_sent(store)
    assert store.put_if_absent(LARGE_KEY, LARGE)
    assert parts == [1, 2, 3, 4]
    assert store.put_if_absent(LARGE_KEY, LARGE)
    assert not store.put_if_absent(LARGE_KEY, LARGE[:-1] + b"x")
    assert parts == [1, 2, 3, 4]
    assert store.get(LARGE_KEY) == LARGE


def test_a_value_that_its_key_does_not_name_travels_in_one_request(store: S3Store) -> None:
    parts = parts_sent(store)
    assert store.put_if_absent("large", LARGE)
    assert not store.put_if_absent("large", LARGE[:-1] + b"x")
    assert parts == []


def test_two_writers_of_one_large_value(store: S3Store) -> None:
    barrier = threading.Barrier(2)

    def write(_: int) -> bool:
        barrier.wait()
        return store.put_if_absent(LARGE_KEY, LARGE)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(write, range(2))) == [True, True]
    assert store.get(LARGE_KEY) == LARGE


def test_a_part_that_is_damaged_on_the_way_is_refused_and_the_upload_aborted(rgw: RgwServer, store: S3Store) -> None:
    def damage(request: Any, **_: object) -> None:
        if "partNumber=3" in request.url:
            request.body = b"x" * PART_BYTES

    store._client.meta.events.register("before-send.s3.UploadPart", damage)
    with pytest.raises(StoreError, match="SHA256"):
        store.put_if_absent(LARGE_KEY, LARGE)
    assert not store.exists(LARGE_KEY)
    assert unfinished(rgw, store) == []
    store._client.meta.events.unregister("before-send.s3.UploadPart", damage)
    assert store.put_if_absent(LARGE_KEY, LARGE)
    assert store.get(LARGE_KEY) == LARGE


KILLED = """
import sys, time
from pathlib import Path
from submissions.store.s3_client import connect, bucket_place
from submissions.store.s3 import S3Store

url, endpoint, key, file, part_bytes = sys.argv[1:]

def report_part(params, **_):
    print(params["PartNumber"], flush=True)
    if params["PartNumber"] == 3:
        time.sleep(60)

client = connect(endpoint)
client.meta.events.register("provide-client-params.s3.UploadPart", report_part)
S3Store(client, bucket_place(url, "store"), int(part_bytes)).put_if_absent(key, Path(file).read_bytes())
"""


def test_after_a_crash_the_value_is_sent_again(rgw: RgwServer, store: S3Store, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(LARGE)
    url = f"s3://{store.place.bucket}/{store.place.prefix}"
    writer = subprocess.Popen(
        [sys.executable, "-c", KILLED, url, rgw.endpoint, LARGE_KEY, str(tmp_path / "large"), str(PART_BYTES)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert writer.stdout is not None
    assert [int(writer.stdout.readline()) for _ in range(3)] == [1, 2, 3]
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    assert not store.exists(LARGE_KEY)
    assert list(store.list("")) == []
    assert store.put_if_absent(LARGE_KEY, LARGE)
    assert store.get(LARGE_KEY) == LARGE
    assert len(unfinished(rgw, store)) == 1  # the crashed writer's: the bucket's lifecycle rule removes it


def parts_sent(store: S3Store) -> list[int]:
    """The numbers of the parts that `store` sends from now on, as it sends them."""
    numbers: list[int] = []

    def note(params: dict[str, Any], **_: object) -> None:
        numbers.append(params["PartNumber"])

    store._client.meta.events.register("provide-client-params.s3.UploadPart", note)
    return numbers


def unfinished(rgw: RgwServer, store: S3Store) -> list[str]:
    listed = rgw.client().list_multipart_uploads(Bucket=store.place.bucket, Prefix=store.place.prefix)
    return [upload["Key"] for upload in listed.get("Uploads", ())]
