"""Publishing to a bucket: a site of 2,000 objects, of which ten have changed, on an S3 server on loopback."""

from __future__ import annotations

import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.report import Figure
from judge.publishing.bucket import BucketSite
from judge.publishing.bucket_objects import BucketObjects
from judge.records.manifest import FILE
from submissions.store.s3_client import BucketPlace, S3Client
from tests.servers.rgw import RgwServer
from tests.session_guard import begin_session

N_OBJECTS, N_CHANGED = 2_000, 10
MAX_REQUESTS = 15


def pages(version: int) -> dict[str, bytes]:
    """The files of a site that has `N_OBJECTS` with its manifest and its list; ten of them depend on the version."""
    names = [f"submissions/model-{i:04d}.html" for i in range(N_OBJECTS - 3)] + ["index.html"]
    n_same = len(names) - N_CHANGED
    return {
        name: f"<p>{name}, version {0 if i < n_same else version}</p>\n".encode() * 100 for i, name in enumerate(names)
    }


def publish(client: S3Client, bucket: str, files: dict[str, bytes]) -> float:
    """The time of publishing [s]."""
    begin = time.perf_counter()
    site = BucketSite(BucketObjects(client, BucketPlace(bucket, "")), timedelta(days=1))
    with site.staged(files) as staged:
        staged.add(FILE, repr(sorted(files.items())).encode())
        staged.show()
    return time.perf_counter() - begin


def measure_publishing() -> list[Figure]:
    """The time of the first publication and of one with ten changes, and the requests of the second."""
    begin_session()  # the server ends with this process
    with tempfile.TemporaryDirectory() as folder:
        rgw = RgwServer(Path(folder))
        try:
            rgw.start()
            return _measure(rgw)
        finally:
            rgw.stop()


def _measure(rgw: RgwServer) -> list[Figure]:
    client, bucket = rgw.client(), rgw.new_bucket()
    first_s = publish(client, bucket, pages(1))
    operations: list[str] = []

    def note(event_name: str, **_: Any) -> None:
        operations.append(event_name.rpartition(".")[2])

    client.meta.events.register("before-send.s3", note)
    again_s = publish(client, bucket, pages(2))
    n_requests = sum(operation != "ListObjectsV2" for operation in operations)
    return [
        Figure("publishing 2,000 objects in an empty bucket", first_s, "s"),
        Figure("publishing them when 10 changed", again_s, "s"),
        Figure("requests for that, beyond listing", n_requests, "", MAX_REQUESTS),
    ]
