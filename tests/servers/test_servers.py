"""The servers of the tests answer their users and refuse others."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import botocore.exceptions
import pytest
import requests

from tests.servers.registry import RegistryServer
from tests.servers.rgw import RgwServer
from tests.servers.server_process import wait_until
from tests.servers.slurm import SlurmServer


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


@pytest.mark.slow
@pytest.mark.parametrize("answers", [True, False])
def test_nothing_of_slurm_is_left_when_it_stops(tmp_path: Path, answers: bool) -> None:
    """Also of a job that ignores SIGTERM, and where its controller is gone."""
    server = SlurmServer(tmp_path)
    server.start()
    mark = f"{tmp_path}/out"
    server.run("sbatch", "--mem=10M", f"--output={mark}", f"--wrap=trap '' TERM; echo; sleep 600; : {mark}")
    wait_until(Path(mark).exists, "the job runs", 60)
    if not answers:
        server.kill_controller()
    server.stop()
    wait_until(lambda: not processes_with(str(tmp_path)), f"they end: {processes_with(str(tmp_path))}", 5)


def processes_with(word: str) -> list[str]:
    """The command lines, and names of open files, of all processes but this one that contain `word`."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            files = [os.readlink(file) for file in (path / "fd").iterdir()]
            words = [(path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"), *files]
            found += [each for each in words if word in each and int(path.name) != os.getpid()]
    return found
