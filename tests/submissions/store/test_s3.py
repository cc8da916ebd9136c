"""An S3 store with refusals of a real server, cut connections, crashes and damage."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import botocore.auth
import pytest
from botocore.exceptions import ClientError

from submissions.store.interface import StoreError
from submissions.store.open_store import open_store
from submissions.store.s3 import S3Store
from submissions.store.s3_client import BucketPlace, bucket_place, connect, s3_errors
from tests.servers.cut_line import CutLine
from tests.servers.rgw import RgwServer
from tests.servers.server_process import free_port
from tests.submissions.store.store_contract import LARGE, LARGE_KEY, MIB, rgw_store

ROOT = Path(__file__).parents[3]

CALLS: dict[str, Callable[[S3Store], object]] = {
    "get": lambda store: store.get("a/b"),
    "put": lambda store: store.put("a/b", b"2"),
    "put if absent": lambda store: store.put_if_absent("a/c", b"2"),
    "put in parts": lambda store: store.put_if_absent(LARGE_KEY, LARGE),
    "list": lambda store: list(store.list("a/")),
    "delete": lambda store: store.delete("a/b"),
    "exists": lambda store: store.exists("a/b"),
}


@pytest.fixture
def rgw(aws_environment: RgwServer, monkeypatch: pytest.MonkeyPatch) -> RgwServer:
    """The server, by the user's own credentials or none at all: the cloud this may run in has no say."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return aws_environment


@pytest.fixture
def store(rgw: RgwServer) -> S3Store:
    return rgw_store(rgw)


@pytest.fixture
def line(rgw: RgwServer) -> Iterator[CutLine]:
    line = CutLine(rgw.port)
    yield line
    line.close()


def refusals(store: S3Store) -> set[str]:
    """The error messages of all calls, without the name of the key."""
    messages = set()
    for name, call in CALLS.items():
        with pytest.raises(StoreError) as complaint:
            call(store)
        assert "\n" not in complaint.value.remedy, name
        assert store.place.bucket in complaint.value.remedy, name
        messages.add(complaint.value.remedy.split(": ", 2)[2])
    return messages


def test_an_address_is_opened(rgw: RgwServer) -> None:
    bucket = rgw.new_bucket()
    store = open_store(f"s3://{bucket}/a/b/", rgw.endpoint)
    store.put("c/d", b"1")
    assert rgw.client().get_object(Bucket=bucket, Key="a/b/c/d")["Body"].read() == b"1"
    assert list(open_store(f"s3://{bucket}", rgw.endpoint).list("a/")) == ["a/b/c/d"]
    assert list(open_store(f"s3://{bucket}/a/b/c", rgw.endpoint).list("")) == ["d"]
    assert list(open_store(f"s3://{bucket}/a/b/c/d", rgw.endpoint).list("")) == []


def test_addresses() -> None:
    assert bucket_place("s3://bucket", "inbox") == bucket_place("s3://bucket/", "inbox") == BucketPlace("bucket", "")
    assert (
        bucket_place("s3://bucket/a/b", "inbox")
        == bucket_place("s3://bucket/a/b/", "inbox")
        == BucketPlace("bucket", "a/b/")
    )
    for bad in (
        "",
        "bucket",
        "s3://",
        "s3:///a",
        "s3:bucket",
        "http://bucket/a",
        "s3://b/a//b",
        "s3://b/../a",
        "s3://b\n",
    ):
        with pytest.raises(StoreError, match=r"inbox: .* is no place in S3: give"):
            bucket_place(bad, "inbox")
    for bad in ("127.0.0.1:80", "ftp://127.0.0.1", "http://", "nonsense"):
        with pytest.raises(StoreError, match="endpoint_url"):
            open_store("s3://bucket", bad)


def test_keys_of_many_pages_are_listed(rgw: RgwServer, store: S3Store) -> None:
    store.page_keys = 7
    keys = [f"results/{n:04d}.json" for n in range(30)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda key: store.put_if_absent(key, b"1"), keys))  # one client for all
    rgw.client().put_object(Bucket=store.place.bucket, Key=f"{store.place.prefix}results/", Body=b"")  # of a console
    beside = store.place.prefix.removesuffix("of two/")
    rgw.client().put_object(Bucket=store.place.bucket, Key=f"{beside}results/0000.json", Body=b"")
    assert list(store.list("results/")) == keys
    assert [stamped.key for stamped in store.stamped("results/002")] == keys[20:]


def test_damage_is_found_when_it_is_read(rgw: RgwServer, store: S3Store) -> None:
    store.put("a/b", b"what was written")
    where = {"Bucket": store.place.bucket, "Key": f"{store.place.prefix}a/b"}
    stated = rgw.client().head_object(**where)["Metadata"]
    rgw.client().put_object(**where, Body=b"what is there now", Metadata=stated)
    with pytest.raises(StoreError, match=r"a/b is damaged .*: restore it, or delete it"):
        store.get("a/b")
    assert not store.put_if_absent("a/b", b"what was written")
    rgw.client().put_object(**where, Body=b"by another tool")
    assert store.get("a/b") == b"by another tool"


def test_a_missing_bucket(rgw: RgwServer) -> None:
    messages = refusals(S3Store.at("s3://nobody-made-this/a", rgw.endpoint))
    assert messages == {"there is no such bucket: make it, or correct its name"}


def test_credentials_that_nobody_knows(rgw: RgwServer, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"s3://{rgw.new_bucket()}"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "A" * 20)
    (message,) = refusals(S3Store.at(url, rgw.endpoint))
    assert "check AWS_ACCESS_KEY_ID" in message
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", rgw.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    (message,) = refusals(S3Store.at(url, rgw.endpoint))
    assert "check AWS_SECRET_ACCESS_KEY" in message
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    (message,) = refusals(S3Store.at(url, rgw.endpoint))
    assert message == "no AWS credentials here: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"


def test_credentials_without_the_right(rgw: RgwServer, monkeypatch: pytest.MonkeyPatch) -> None:
    access_key, secret_key = rgw.new_user()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret_key)
    (message,) = refusals(S3Store.at(f"s3://{rgw.new_bucket()}", rgw.endpoint))
    assert "these credentials may not do it" in message


def test_a_service_that_does_not_answer(rgw: RgwServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    endpoint = f"http://127.0.0.1:{free_port()}"
    (message,) = refusals(S3Store.at("s3://bucket", endpoint))
    assert message == f"nobody answers at {endpoint}: check endpoint_url, and whether the service runs"


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_clock_that_is_off(store: S3Store, monkeypatch: pytest.MonkeyPatch, hours: float) -> None:
    true_time = botocore.auth.get_current_datetime
    monkeypatch.setattr(
        botocore.auth, "get_current_datetime", lambda *how, **too: true_time(*how, **too) + timedelta(hours=hours)
    )
    for message in refusals(store):
        assert re.fullmatch(r"this machine's clock is off by \d+ s \((ahead|behind) of the service\): set it", message)


def test_by_how_much_a_clock_is_off_is_read_off_the_answer() -> None:
    for off, how in ((timedelta(hours=2), "behind"), (timedelta(hours=-2), "ahead")):
        date = format_datetime(datetime.now(UTC) + off, usegmt=True)
        answer: Any = {"Error": {"Code": "RequestTimeTooSkewed"}, "ResponseMetadata": {"HTTPHeaders": {"date": date}}}
        with pytest.raises(StoreError, match=rf"clock is off by (7199|720[0-9]) s \({how} of the service\): set it"):
            raise_as_ours(ClientError(answer, "GetObject"))


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("ExpiredToken", "fetch new ones"),
        ("PermanentRedirect", "AWS_DEFAULT_REGION"),
        ("QuotaExceeded", "free some space"),
        ("SlowDown", "run it again later"),
        ("Something\nElse\x1b[2J", "Something.*Else.*check the bucket"),
    ],
)
def test_other_refusals(code: str, remedy: str) -> None:
    with pytest.raises(StoreError, match=remedy) as complaint:
        raise_as_ours(ClientError({"Error": {"Code": code, "Message": "no\n\x1b"}}, "GetObject"))
    assert complaint.value.remedy.isprintable()


def test_an_answer_that_breaks_off_is_asked_for_again(rgw: RgwServer, line: CutLine) -> None:
    store = rgw_store(rgw, line.url)
    store.put("a", LARGE)
    line.cuts.extend([1 * MIB, 0, 2 * MIB])
    fresh = S3Store(connect(line.url), store.place)  # without a connection of before
    assert fresh.get("a") == LARGE
    assert line.n_cut == 3


def test_a_write_whose_answer_is_lost_has_won(rgw: RgwServer, line: CutLine) -> None:
    """The request is sent again, finds its own bytes, and must not take them for those of another writer."""
    store = rgw_store(rgw, line.url)
    line.cuts.append(0)
    assert store.put_if_absent("a", b"1")
    assert line.n_cut == 1
    assert store.get("a") == b"1"


def raise_as_ours(error: ClientError) -> None:
    with s3_errors("s3"):
        raise error


def test_no_command_that_stays_on_this_machine_pays_for_boto3() -> None:
    code = "import sys, submissions.store.open_store; print('boto3' in sys.modules, 'botocore.config' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
