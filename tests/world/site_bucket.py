"""A bucket with a site below a prefix of it, for tests that publish there."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
from botocore.config import Config

from judge.publishing.bucket import BucketSite
from judge.publishing.bucket_objects import BucketObjects
from judge.records.manifest import sha256
from submissions.store.s3_client import BucketPlace, connect
from tests.servers.rgw import RgwServer

DAY = timedelta(days=1)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


class Bucket:
    """A new bucket, and a site below a prefix of it."""

    def __init__(self, rgw: RgwServer, prefix: str = "site/") -> None:
        self.rgw, self.prefix, self.clock = rgw, prefix, Clock()
        self.s3, self.name = connect(rgw.endpoint), rgw.new_bucket(public=True)
        self.url = f"s3://{self.name}/{prefix}"

    def site(self, client: Any = None) -> BucketSite:
        objects = BucketObjects(client or self.s3, BucketPlace(self.name, self.prefix))
        return BucketSite(objects, DAY, self.clock)

    def publish(self, files: dict[str, bytes], client: Any = None) -> None:
        with self.site(client).staged(files) as staged:
            staged.add("manifest.json", manifest_of(files))
            staged.show()

    def raw(self, name: str) -> dict[str, Any]:
        answer = self.s3.get_object(Bucket=self.name, Key=self.prefix + name)
        return {**answer, "Body": answer["Body"].read()}

    def keys(self) -> set[str]:
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        return {entry["Key"] for page in pages for entry in page.get("Contents", ())}

    def names(self) -> set[str]:
        return {key.removeprefix(self.prefix) for key in self.keys()}

    def read(self, name: str) -> bytes | None:
        return dict(self.site().read([name]))[name]

    def policy(self, *statements: dict[str, object]) -> None:
        everything = [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": self.arn("*")}]
        policy = {"Version": "2012-10-17", "Statement": [*everything, *statements]}
        self.s3.put_bucket_policy(Bucket=self.name, Policy=json.dumps(policy))

    def arn(self, key: str) -> str:
        return f"arn:aws:s3:::{self.name}/{key}"


def files_of(version: int, n_pages: int = 3) -> dict[str, bytes]:
    """A site whose pages load the style of its version; page 0 is the same in all versions."""
    style = f"assets/style-{version}.css"
    page = f'<link href="../{style}">'
    pages = {f"submissions/p{i}.html": f"{page} page {i}".encode() for i in range(1, n_pages)}
    links = " ".join(f'<a href="{name}">' for name in pages)
    index = f'<link href="{style}"><a href="submissions/p0.html">{links} {version}'.encode()
    log = {"logs/p0.txt": b"ready\n" * 50}
    return {style: b"a { }" * 50, **log, "submissions/p0.html": b"always the same", **pages, "index.html": index}


def manifest_of(files: dict[str, bytes]) -> bytes:
    return json.dumps({name: sha256(content) for name, content in sorted(files.items())}).encode()


def assert_whole(bucket: Bucket) -> bytes:
    """The index. Every page that it links exists, and so do the assets of those pages."""
    index = bucket.read("index.html")
    assert index is not None
    for link in re.findall(rb'href="([^"]+)"', index):
        page = bucket.read(link.decode())
        assert page is not None, link
        for asset in re.findall(rb'href="\.\./([^"]+)"', page):
            assert bucket.read(asset.decode()) is not None, asset
    return index


class Requests(Counter[str]):
    """The number of requests of a client, by operation; `puts` has the keys written, in order."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        self.puts: list[str] = []
        client.meta.events.register("before-send.s3", self._count)

    def _count(self, request: Any, event_name: str, **_: object) -> None:
        operation = event_name.split(".")[-1]
        self[operation] += 1
        if operation == "PutObject":
            self.puts.append(request.url.partition("/site/")[2])

    @property
    def beyond_listing(self) -> int:
        return self.total() - self["ListObjectsV2"]


def impatient(endpoint: str) -> Any:
    """A client that gives up at the first error."""
    config = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
    # A new session: the default session keeps the credentials of the test that used it first.
    return boto3.session.Session().client("s3", endpoint_url=endpoint, config=config)
