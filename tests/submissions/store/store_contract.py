"""The places on which every kind of store is tested: a folder, moto, and a real S3 server."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import boto3
import pytest
from moto.server import ThreadedMotoServer

from submissions.store.s3 import S3Store
from submissions.store.s3_client import bucket_place, connect
from tests.servers.rgw import RgwServer

MIB = 1024**2
PART_BYTES = 5 * MIB  # the least that S3 takes
LARGE = hashlib.shake_256(b"a large value").digest(16 * MIB)  # three parts and a piece
LARGE_KEY = f"observations/{hashlib.sha256(LARGE).hexdigest()}.safetensors"


@contextmanager
def moto_server() -> Iterator[str]:
    """The address of an S3 server that starts at once, but lets everybody in."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def use_any_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that moto accepts, in place of those of the user who runs the tests."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")


def moto_store(endpoint: str) -> S3Store:
    """A store in a new bucket of moto, below a prefix."""
    bucket = f"b-{secrets.token_hex(6)}"
    boto3.session.Session().client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket=bucket)
    return S3Store(connect(endpoint), bucket_place(f"s3://{bucket}/a prefix/of two", "store"), PART_BYTES)


def rgw_store(rgw: RgwServer, endpoint: str = "") -> S3Store:
    """A store in the real server, below a prefix of its own; the environment holds the credentials.

    Args:
        endpoint: another address of the same server.
    """
    place = bucket_place(f"s3://{_bucket(rgw)}/{secrets.token_hex(6)}/a prefix/of two", "store")
    return S3Store(connect(endpoint or rgw.endpoint), place, PART_BYTES)


@cache
def _bucket(rgw: RgwServer) -> str:
    """One for all: making a bucket takes a second."""
    return rgw.new_bucket()
