"""A site in a real bucket: written in order, with the right headers, and only what has changed."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from judge.config import ConfigError, JudgeSettings
from judge.publishing import served_file
from judge.publishing.destination import open_site
from judge.publishing.object_list import ListedObject, SiteList
from judge.publishing.served_file import site_object as served_object
from judge.records.signing import safe_key_file
from submissions.store.interface import StoreError
from submissions.store.s3_client import connect
from tests.servers.rgw import RgwServer
from tests.world.site_bucket import DAY, Bucket, Requests, assert_whole, files_of, impatient, manifest_of


@pytest.fixture
def bucket(aws_environment: RgwServer) -> Bucket:
    return Bucket(aws_environment)


def test_assets_come_first_and_the_index_last(bucket: Bucket) -> None:
    client = connect(bucket.rgw.endpoint)
    requests = Requests(client)
    bucket.publish(files_of(1), client)
    first, asset, log, *pages, manifest, index, last = requests.puts
    assert (first, asset, log) == ("site.json", "assets/style-1.css", "logs/p0.txt")
    assert sorted(pages) == ["submissions/p0.html", "submissions/p1.html", "submissions/p2.html"]
    assert (manifest, index, last) == ("manifest.json", "index.html", "site.json")


def test_every_file_is_handed_out_as_what_it_is(bucket: Bucket) -> None:
    files = {**files_of(1), "assets/icon-1.svg": b"<svg>" * 40, "assets/a-1.bin": b"\x00\x01", "404.html": b"?"}
    bucket.publish(files)
    for name, kind, encoding, cache in (
        ("index.html", "text/html; charset=utf-8", "gzip", "no-cache"),
        ("404.html", "text/html; charset=utf-8", None, "no-cache"),
        ("logs/p0.txt", "text/plain; charset=utf-8", "gzip", "no-cache"),
        ("site.json", "application/json; charset=utf-8", "gzip", "no-cache"),
        ("assets/style-1.css", "text/css; charset=utf-8", "gzip", "public, max-age=31536000, immutable"),
        ("assets/icon-1.svg", "image/svg+xml; charset=utf-8", "gzip", "public, max-age=31536000, immutable"),
        ("assets/a-1.bin", "application/octet-stream", None, "public, max-age=31536000, immutable"),
    ):
        raw = bucket.raw(name)
        served = raw["ContentType"], raw.get("ContentEncoding"), raw["CacheControl"]
        assert served == (kind, encoding, cache), name
        if name in files:
            assert (gzip.decompress(raw["Body"]) if encoding else raw["Body"]) == files[name]
            assert bucket.read(name) == files[name]


def test_only_what_changed_is_put(bucket: Bucket) -> None:
    bucket.publish(files_of(1))
    client = connect(bucket.rgw.endpoint)
    requests = Requests(client)
    bucket.publish(files_of(1), client)
    assert requests.puts == ["site.json"] * 2
    assert requests.beyond_listing == 3
    changed = files_of(1) | {"submissions/p2.html": b"new"}
    bucket.publish(changed, client)
    assert requests.puts[2:] == ["site.json", "submissions/p2.html", "manifest.json", "site.json"]
    assert bucket.read("submissions/p2.html") == b"new"


def test_what_is_to_be_handed_out_otherwise_is_put_again(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    files = files_of(1)
    bucket.publish(files)
    monkeypatch.setattr(served_file, "ASK_AGAIN", "max-age=60, must-revalidate")
    assert bucket.site().difference(files)["changed"] == tuple(sorted(files.keys() - {"assets/style-1.css"}))
    bucket.publish(files)
    assert bucket.raw("index.html")["CacheControl"] == "max-age=60, must-revalidate"
    assert bucket.site().difference(files)["changed"] == ()


def test_what_was_changed_by_others_is_put_again(bucket: Bucket) -> None:
    files = files_of(1)
    bucket.publish(files)
    bucket.s3.put_object(Bucket=bucket.name, Key="site/index.html", Body=b"defaced")
    assert bucket.site().difference(files)["changed"] == ("index.html",)
    bucket.publish(files)
    assert bucket.read("index.html") == files["index.html"]


def test_what_no_page_asks_for_goes_after_the_grace_time(bucket: Bucket) -> None:
    bucket.publish(files_of(1))
    bucket.clock.time += 10 * DAY
    fewer = files_of(2)
    del fewer["logs/p0.txt"]
    bucket.publish(fewer)
    old = {"assets/style-1.css", "logs/p0.txt"}
    assert old <= bucket.names()
    bucket.clock.time += DAY - timedelta(seconds=1)
    assert bucket.site().difference(fewer)["removed"] == ()
    bucket.publish(fewer)
    assert old <= bucket.names()
    bucket.clock.time += timedelta(seconds=1)
    assert set(bucket.site().difference(fewer)["removed"]) == old
    bucket.publish(fewer)
    assert bucket.names() == {*fewer, "manifest.json", "site.json"}


def test_what_is_asked_for_again_stays(bucket: Bucket) -> None:
    for version in (1, 2, 1):
        bucket.publish(files_of(version))
        bucket.clock.time += DAY / 2
    bucket.clock.time += 10 * DAY
    bucket.publish(files_of(1))
    assert "assets/style-1.css" in bucket.names()
    assert "assets/style-2.css" not in bucket.names()


def test_what_is_not_the_sites_own_is_never_touched(aws_environment: RgwServer) -> None:
    bucket = Bucket(aws_environment, prefix="")
    foreign = {"mail/secret/status.json", "assets/mine.css", "about.html", "submissions/mine.html", "logs.txt"}
    for key in foreign:
        bucket.s3.put_object(Bucket=bucket.name, Key=key, Body=b"mine")
    for version in (1, 2, 3):
        bucket.publish(files_of(version))
        bucket.clock.time += 2 * DAY
    assert bucket.names() == foreign | {*files_of(3), "assets/style-2.css", "manifest.json", "site.json"}
    assert all(bucket.raw(key)["Body"] == b"mine" for key in foreign)


@pytest.mark.parametrize("name", ["index.html", "submissions/p1.html", "assets/style-1.css"])
def test_a_file_of_somebody_else_in_the_way_is_refused(bucket: Bucket, name: str) -> None:
    bucket.s3.put_object(Bucket=bucket.name, Key=f"site/{name}", Body=b"mine")
    for act in (bucket.site().difference, bucket.publish):
        with pytest.raises(
            StoreError, match=rf"^STORE: {bucket.url}{name} is not the site's own: remove it, set publish_to, or, "
        ):
            act(files_of(1))
    assert bucket.names() == {name}


def test_a_list_that_cannot_be_read_is_refused(bucket: Bucket) -> None:
    bucket.publish(files_of(1))
    bucket.s3.put_object(Bucket=bucket.name, Key="site/site.json", Body=b'{"of": "another judge"}')
    with pytest.raises(StoreError, match=r"site\.json cannot be read: publish with a newer judge"):
        bucket.publish(files_of(2))
    assert assert_whole(bucket) == files_of(1)["index.html"]


def test_a_site_that_was_copied_from_a_folder_is_taken_over(bucket: Bucket) -> None:
    files = files_of(1)
    listed = {"files": dict.fromkeys(files, "0"), "retired": ["assets/style-0.css"]}
    for name, content in {**files, "assets/style-0.css": b"", "site.json": json.dumps(listed).encode()}.items():
        bucket.s3.put_object(Bucket=bucket.name, Key=f"site/{name}", Body=content)
    bucket.publish(files)
    assert bucket.raw("index.html")["ContentType"] == "text/html; charset=utf-8"
    assert "assets/style-0.css" in bucket.names()
    bucket.clock.time += DAY
    bucket.publish(files)
    assert bucket.names() == {*files, "manifest.json", "site.json"}


def test_where_the_index_may_not_be_put_the_old_site_is_whole(bucket: Bucket) -> None:
    bucket.publish(files_of(1))
    bucket.policy(
        {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": bucket.arn("site/index.html")}
    )
    with pytest.raises(StoreError, match=rf"^STORE: {bucket.url}index.html: these credentials may not do it"):
        bucket.publish(files_of(2))
    assert assert_whole(bucket) == files_of(1)["index.html"]
    bucket.policy()
    bucket.clock.time += 5 * DAY  # in which the old index was the one that was read
    bucket.publish(files_of(2))
    assert assert_whole(bucket) == files_of(2)["index.html"]
    assert "assets/style-1.css" in bucket.names()
    bucket.clock.time += DAY
    bucket.publish(files_of(2))
    assert bucket.names() == {*files_of(2), "manifest.json", "site.json"}


def fill(bucket: Bucket, files: dict[str, bytes]) -> None:
    """Puts a site there as a publication would, without signatures: signing 2,000 requests takes half a minute."""
    bucket.policy({"Effect": "Allow", "Principal": "*", "Action": "s3:PutObject", "Resource": bucket.arn("*")})
    wanted = {name: served_object(name, content) for name, content in files.items()}
    local = threading.local()

    def put(name: str) -> None:
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection("127.0.0.1", bucket.rgw.port, timeout=60)
        local.connection.request("PUT", f"/{bucket.name}/site/{name}", wanted[name].body)
        answer = local.connection.getresponse()
        assert (answer.read(), answer.status) == (b"", 200)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, files))
    bucket.policy()
    listed = {n: ListedObject(sha256=w.sha256, etag=w.md5.hex(), served=str(w.served)) for n, w in wanted.items()}
    data = SiteList(objects=listed).model_dump_json().encode()
    bucket.s3.put_object(Bucket=bucket.name, Key="site/site.json", Body=data)


@pytest.mark.slow
def test_ten_changes_in_a_site_of_2000_objects_take_at_most_15_requests(bucket: Bucket) -> None:
    """Nine pages and the index; with them come the manifest, the list of before, its two new ones, and a removal."""
    files = files_of(1, n_pages=1994)
    fill(bucket, files | {"assets/old-1.css": b"old", "manifest.json": manifest_of(files)})
    bucket.publish(files)
    bucket.clock.time += DAY
    assert len(bucket.keys()) == 2000
    changed = files | {f"submissions/p{i}.html": b"changed" for i in range(9)} | {"index.html": b"changed"}
    client = connect(bucket.rgw.endpoint)
    requests = Requests(client)
    bucket.publish(changed, client)
    del requests["ListObjectsV2"]
    assert requests == {"GetObject": 1, "PutObject": 10 + 1 + 2, "DeleteObjects": 1}
    assert requests.beyond_listing <= 15
    assert bucket.read("submissions/p8.html") == b"changed"


def test_a_page_that_is_no_longer_what_the_bucket_says_is_never_taken_for_it(bucket: Bucket) -> None:
    """A file that is served as compressed and is not, or that never ends, is no page."""
    bucket.publish(files_of(1))
    for body in (b"not compressed", gzip.compress(b"cut off" * 99)[:-9], gzip.compress(b"") + b"more"):
        bucket.s3.put_object(Bucket=bucket.name, Key="site/index.html", Body=body, ContentEncoding="gzip")
        assert bucket.read("index.html") is None


@pytest.mark.parametrize(
    ("site", "setting", "url"),
    [
        ("s3://one", "store", "s3://one/records"),
        ("s3://one/site", "store", "s3://one"),
        ("s3://one/site", "upload_bucket", "s3://one/site/inbox/"),
        ("s3://one/site/", "upload_bucket", "s3://one/site"),
        ("s3://one", "status_bucket", "s3://one/mail"),
    ],
)
def test_private_records_are_not_published(site: str, setting: str, url: str) -> None:
    settings = JudgeSettings(publish_to=site).model_copy(update={setting: url})
    with pytest.raises(ConfigError, match=f"^{setting} and publish_to: one lies within the other: give each a bucket"):
        open_site(settings)


def test_another_kind_of_address_is_refused() -> None:
    with pytest.raises(ConfigError, match="publish_to: 'ftp://one' is not known here"):
        open_site(JudgeSettings(publish_to="ftp://one"))
    open_site(JudgeSettings(publish_to="s3://one/site", store="s3://one/records", upload_bucket="s3://one/inbox"))


def test_a_key_does_not_lie_within_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    key = tmp_path / "s3:" / "one" / "site" / "signing.key"
    assert safe_key_file(JudgeSettings(publish_to="s3://one/site", key_file=key)) == key
    with pytest.raises(ConfigError, match="lies within the published pages"):
        safe_key_file(JudgeSettings(publish_to=f"file://{tmp_path}", key_file=key))


def test_a_service_that_is_not_there_is_named(bucket: Bucket) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(StoreError, match="check endpoint_url"):
        bucket.publish(files_of(1), impatient(f"http://127.0.0.1:{port}"))
