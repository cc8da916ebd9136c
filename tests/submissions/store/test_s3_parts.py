"""A large value in parts: what arrived is not sent again, and nobody else's upload is touched."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from submissions.store import s3_parts
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


def test_two_writers_of_one_large_value(rgw: RgwServer, store: S3Store) -> None:
    barrier = threading.Barrier(2)

    def write(_: int) -> bool:
        barrier.wait()
        return store.put_if_absent(LARGE_KEY, LARGE)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(write, range(2))) == [True, True]
    assert store.get(LARGE_KEY) == LARGE


KILLED = """
import sys, time
from pathlib import Path
from submissions.store.s3_client import connect, place_of
from submissions.store.s3 import S3Store

url, endpoint, key, file, part_bytes = sys.argv[1:]

def on_progress(done, of):
    print(done, flush=True)
    if done == 2 * int(part_bytes):
        time.sleep(60)

store = S3Store(connect(endpoint), place_of(url, "store"), int(part_bytes), on_progress)
store.put_if_absent(key, Path(file).read_bytes())
"""


def test_what_had_arrived_before_a_crash_is_not_sent_again(rgw: RgwServer, tmp_path: Path) -> None:
    told: list[int] = []
    store = rgw_store(rgw, on_progress=lambda done, of: told.append(done))
    (tmp_path / "large").write_bytes(LARGE)
    url = f"s3://{store.place.bucket}/{store.place.prefix}"
    writer = subprocess.Popen(
        [sys.executable, "-c", KILLED, url, rgw.endpoint, LARGE_KEY, str(tmp_path / "large"), str(PART_BYTES)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert writer.stdout is not None
    assert [int(writer.stdout.readline()) for _ in range(2)] == [PART_BYTES, 2 * PART_BYTES]
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    assert not store.exists(LARGE_KEY)
    assert list(store.list("")) == []
    assert len(unfinished(rgw, store)) == 1
    sent = parts_sent(store)
    assert store.put_if_absent(LARGE_KEY, LARGE)
    assert sent == [3, 4]
    assert told == [PART_BYTES, 2 * PART_BYTES, 3 * PART_BYTES, len(LARGE)]
    assert store.get(LARGE_KEY) == LARGE
    assert unfinished(rgw, store) == []


def test_parts_of_other_bytes_are_sent_again(rgw: RgwServer, store: S3Store) -> None:
    where = {"Bucket": store.place.bucket, "Key": store.place.prefix + LARGE_KEY}
    digest = hashlib.sha256(LARGE).hexdigest()
    upload = rgw.client().create_multipart_upload(**where, Metadata={"sha256": digest})["UploadId"]
    for number, body in ((1, LARGE[:PART_BYTES]), (2, bytes(PART_BYTES))):
        rgw.client().upload_part(**where, UploadId=upload, PartNumber=number, Body=body)
    sent = parts_sent(store)
    assert store.put_if_absent(LARGE_KEY, LARGE)
    assert sent == [2, 3, 4]
    assert store.get(LARGE_KEY) == LARGE


def test_an_old_upload_of_the_same_key_is_ended_and_no_other(
    rgw: RgwServer, store: S3Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, prefix = store.place
    others = [prefix + key for key in (LARGE_KEY[:-1], f"{LARGE_KEY}.more", "of another program")]
    for key in (prefix + LARGE_KEY, *others):
        rgw.client().create_multipart_upload(Bucket=bucket, Key=key)
    monkeypatch.setattr(s3_parts, "STALE", timedelta(seconds=-60))
    assert store.put_if_absent(LARGE_KEY, LARGE)
    assert sorted(unfinished(rgw, store)) == sorted(others)
    assert store.get(LARGE_KEY) == LARGE


def parts_sent(store: S3Store) -> list[int]:
    """The numbers of the parts that `store` sends from now on, as it sends them."""
    sent: list[int] = []

    def note(params: dict[str, Any], **_: object) -> None:
        sent.append(params["PartNumber"])

    store._client.meta.events.register("provide-client-params.s3.UploadPart", note)
    return sent


def unfinished(rgw: RgwServer, store: S3Store) -> list[str]:
    listed = rgw.client().list_multipart_uploads(Bucket=store.place.bucket, Prefix=store.place.prefix)
    return [upload["Key"] for upload in listed.get("Uploads", ())]
