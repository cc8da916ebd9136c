"""The servers of the tests answer, refuse strangers, and end with whoever started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import botocore.exceptions
import pytest
import requests

from tests.judge.evaluation.kills import wait_until
from tests.servers.registry import RegistryServer
from tests.servers.rgw import RgwServer

ROOT = Path(__file__).parents[2]


def test_a_public_bucket_is_read_but_not_listed(rgw: RgwServer) -> None:
    public, private = rgw.new_bucket(public=True), rgw.new_bucket()
    for bucket in (public, private):
        rgw.client().put_object(Bucket=bucket, Key="a/b", Body=b"1")
    assert requests.get(f"{rgw.endpoint}/{public}/a/b", timeout=10).content == b"1"
    assert requests.get(f"{rgw.endpoint}/{public}", timeout=10).status_code == 403
    assert requests.put(f"{rgw.endpoint}/{public}/a/b", b"2", timeout=10).status_code == 403
    assert requests.get(f"{rgw.endpoint}/{private}/a/b", timeout=10).status_code == 403
    stranger = rgw.client(*rgw.new_user())
    with pytest.raises(botocore.exceptions.ClientError, match="AccessDenied"):
        stranger.get_object(Bucket=private, Key="a/b")


def test_a_versioned_bucket_keeps_both(rgw: RgwServer) -> None:
    bucket, client = rgw.new_bucket(versioned=True), rgw.client()
    for body in (b"1", b"2"):
        client.put_object(Bucket=bucket, Key="a", Body=body)
    versions = client.list_object_versions(Bucket=bucket)["Versions"]
    assert [client.get_object(Bucket=bucket, Key="a", VersionId=v["VersionId"])["Body"].read() for v in versions] == [
        b"2",
        b"1",
    ]


def test_the_website_endpoint_serves_index_pages(rgw: RgwServer) -> None:
    bucket, client = rgw.new_bucket(public=True), rgw.client()
    client.put_bucket_website(Bucket=bucket, WebsiteConfiguration={"IndexDocument": {"Suffix": "index.html"}})
    for key in ("index.html", "about/index.html"):
        client.put_object(Bucket=bucket, Key=key, Body=key.encode(), ContentType="text/html")
    answer = requests.get(f"{rgw.website_endpoint}/{bucket}/", timeout=10)
    assert (answer.content, answer.headers["Content-Type"]) == (b"index.html", "text/html")
    assert requests.get(f"{rgw.website_endpoint}/{bucket}/about/", timeout=10).content == b"about/index.html"
    host = rgw.website_of(bucket).removeprefix("http://")
    assert requests.get(rgw.endpoint, headers={"Host": host}, timeout=10).content == b"index.html"


def test_the_private_registry_asks_for_its_password(registry: RegistryServer, private_registry: RegistryServer) -> None:
    assert requests.get(f"{registry.url}/v2/", timeout=10).status_code == 200
    address, user = f"{private_registry.url}/v2/", private_registry.user
    assert requests.get(address, timeout=10).status_code == 401
    assert requests.get(address, auth=(user, "a guess"), timeout=10).status_code == 401
    assert requests.get(address, auth=(user, private_registry.password), timeout=10).status_code == 200


KILLED = """
import sys, time
from pathlib import Path
from tests.servers.server_process import ServerProcess
servers = [ServerProcess(["sleep", "60"], Path(sys.argv[1]) / "log") for _ in range(3)]
print(*(server.pid for server in servers), flush=True)
time.sleep(60)
"""


def test_nothing_outlives_a_test_run_that_is_killed(tmp_path: Path) -> None:
    run = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert run.stdout is not None
    pids = [int(pid) for pid in run.stdout.readline().split()]
    assert len(pids) == 3
    assert all(_runs(pid) for pid in pids)
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()
    wait_until(lambda: not any(_runs(pid) for pid in pids), "the servers end with the run", 10)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z" and os.path.exists(f"/proc/{pid}")
