"""The servers of the tests answer their users and refuse others."""

from __future__ import annotations

import botocore.exceptions
import pytest
import requests

from tests.servers.registry import RegistryServer
from tests.servers.rgw import RgwServer


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
