"""Upload and status buckets with wrong settings, on a real S3 server: each mistake is reported in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judge.config import ConfigError
from judge.upkeep.bucket_checks import check_status_bucket, check_upload_bucket, require_bucket_settings, weak_points
from judge.workspace import Workspace
from submissions.store.interface import StoreError
from tests.servers.rgw import Buckets, RgwServer
from tests.world.intake import IntakeWorld

Statement = tuple[str, str]
"""What anybody may do, with what of a bucket: `` for itself, `/*` for its objects."""


@pytest.fixture
def world(tmp_path: Path, aws_environment: RgwServer, buckets: Buckets) -> IntakeWorld:
    return IntakeWorld(tmp_path, aws_environment, buckets)


@pytest.fixture(scope="module")
def other(rgw: RgwServer, buckets: Buckets) -> str:
    """A bucket with versions, whose policy a test may change."""
    return rgw.new_bucket(versioned=True)


def open_up(world: IntakeWorld, bucket: str, *allowed: Statement) -> None:
    """Lets anybody do these things in `bucket`, and nothing else."""
    if not allowed:
        world.client.delete_bucket_policy(Bucket=bucket)
        return
    everybody = {"Effect": "Allow", "Principal": "*"}
    stated = [
        {**everybody, "Action": action, "Resource": f"arn:aws:s3:::{bucket}{resource}"} for action, resource in allowed
    ]
    world.client.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": stated}))


def left_in(world: IntakeWorld, bucket: str) -> list[str]:
    """The keys of all versions and of all marks of deletion below the prefix of the test."""
    listed = world.client.list_object_versions(Bucket=bucket, Prefix=world.prefix)
    return [each["Key"] for kind in ("Versions", "DeleteMarkers") for each in listed.get(kind, ())]


def test_what_is_as_it_must_be_passes_and_nothing_is_left_behind(world: IntakeWorld) -> None:
    require_bucket_settings(world.settings)
    assert "versioned" in check_upload_bucket(world.workspace)
    assert "read at status_url" in check_status_bucket(world.workspace)
    assert left_in(world, world.uploads) == left_in(world, world.statuses) == []
    assert weak_points(world.workspace) == []


@pytest.mark.parametrize("name", ["upload_bucket", "status_bucket", "status_url"])
def test_each_setting_is_asked_for(name: str, world: IntakeWorld) -> None:
    world.more[name] = ""
    with pytest.raises(ConfigError, match=f"{name}: is not set: write {name} = .*, or set LAMBENCH_{name.upper()}"):
        require_bucket_settings(world.settings)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"status_bucket": "s3://{uploads}/{prefix}"}, "upload_bucket and status_bucket: one lies within the other"),
        ({"status_bucket": "s3://{uploads}"}, "upload_bucket and status_bucket: one lies within the other"),
        (
            {"upload_bucket": "s3://{statuses}/{prefix}/in"},
            "upload_bucket and status_bucket: one lies within the other",
        ),
        ({"store": "s3://{uploads}/{prefix}/store"}, "upload_bucket and store: one lies within the other"),
        ({"publish_to": "s3://{statuses}"}, "status_bucket and publish_to: one lies within the other"),
        ({"status_url": "ftp://mail"}, "status_url: 'ftp://mail' is no web address"),
    ],
)
def test_places_that_are_not_apart_are_refused(changed: dict[str, str], words: str, world: IntakeWorld) -> None:
    names = {"uploads": world.uploads, "statuses": world.statuses, "prefix": world.prefix}
    world.more = {name: value.format(**names) for name, value in changed.items()}
    with pytest.raises(ConfigError, match=words):
        require_bucket_settings(world.settings)


def test_an_upload_bucket_that_is_no_place_in_s3_is_refused(world: IntakeWorld) -> None:
    world.more["upload_bucket"] = "/var/uploads"
    with pytest.raises(StoreError, match="upload_bucket: '/var/uploads' is no place in S3"):
        check_upload_bucket(world.workspace)


def test_prefixes_of_one_bucket_are_apart(world: IntakeWorld, other: str) -> None:
    world.more = {
        "upload_bucket": f"s3://{other}/mail-in",
        "status_bucket": f"s3://{other}/mail",
        "status_url": f"{world.rgw.endpoint}/{other}/mail/",
    }
    open_up(world, other, ("s3:GetObject", "/mail/*"))
    require_bucket_settings(world.settings)
    check_upload_bucket(world.workspace)
    check_status_bucket(world.workspace)


def test_an_upload_bucket_without_versions_is_refused_with_the_remedy(world: IntakeWorld) -> None:
    world.more["upload_bucket"] = f"s3://{world.statuses}/in"
    with pytest.raises(StoreError) as raised:
        check_upload_bucket(world.workspace)
    command = f"s3api put-bucket-versioning --bucket {world.statuses} --versioning-configuration Status=Enabled"
    assert raised.value.remedy.endswith(f"enable versioning: aws --endpoint-url {world.rgw.endpoint} {command}")
    assert left_in(world, world.statuses) == []


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        (("s3:GetObject", "/*"), "upload_bucket: anybody may read what authors send"),
        (("s3:ListBucket", ""), "upload_bucket: anybody may list what is in it"),
        (("s3:ListBucketVersions", ""), "upload_bucket: anybody may list what is in it"),
        (("s3:PutObject", "/*"), "upload_bucket: anybody may write into it"),
    ],
)
def test_an_upload_bucket_that_is_open_to_anybody_is_refused(
    allowed: Statement, words: str, world: IntakeWorld, other: str
) -> None:
    world.more["upload_bucket"] = f"s3://{other}/{world.prefix}"
    open_up(world, other)
    check_upload_bucket(world.workspace)
    open_up(world, other, allowed)
    with pytest.raises(StoreError, match=words):
        check_upload_bucket(world.workspace)
    assert left_in(world, other) == []


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        ((), r"status_url: what was put into status_bucket cannot be read there \(403\)"),
        ((("s3:GetObject", "/*"), ("s3:ListBucket", "")), "status_bucket: anybody may list what is in it"),
        ((("s3:GetObject", "/*"), ("s3:PutObject", "/*")), "status_bucket: anybody may write into it"),
    ],
)
def test_a_status_bucket_that_is_closed_or_too_open_is_refused(
    allowed: tuple[Statement, ...], words: str, world: IntakeWorld, other: str
) -> None:
    world.more = {
        "status_bucket": f"s3://{other}/{world.prefix}",
        "status_url": f"{world.rgw.endpoint}/{other}/{world.prefix}",
    }
    open_up(world, other, *allowed)
    with pytest.raises(StoreError, match=words):
        check_status_bucket(world.workspace)
    assert left_in(world, other) == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (
            "{endpoint}/{statuses}/elsewhere",
            r"status_url: what was put into status_bucket cannot be read there \(403\)",
        ),
        ("http://127.0.0.1:9/mail", r"status_url: http://127\.0\.0\.1:9/mail/[0-9a-f]{64} does not answer"),
    ],
)
def test_an_address_that_is_not_that_of_the_status_bucket_is_refused(url: str, words: str, world: IntakeWorld) -> None:
    world.more["status_url"] = url.format(endpoint=world.rgw.endpoint, statuses=world.statuses)
    with pytest.raises(StoreError, match=words):
        check_status_bucket(world.workspace)
    assert left_in(world, world.statuses) == []


def test_missing_buckets_are_named(world: IntakeWorld) -> None:
    for name, check in (("upload_bucket", check_upload_bucket), ("status_bucket", check_status_bucket)):
        world.more = {name: "s3://b-that-is-not-there/x"}
        with pytest.raises(StoreError, match=f"{name}: there is no such bucket"):
            check(world.workspace)


def test_what_ends_early_or_is_read_on_the_way_is_a_weak_point(
    world: IntakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.more["status_url"] = "http://mail.example.org"
    assert ["https" in sentence for sentence in weak_points(world.workspace)] == [True]
    world.more["status_url"] = "https://mail.example.org"
    assert weak_points(world.workspace) == []
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a token")
    (sentence,) = weak_points(Workspace(world.settings))
    assert "temporary credentials" in sentence
