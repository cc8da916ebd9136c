"""Inbox and mail as they must not be, on a real S3 server: each mistake of whoever set them up is told in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judge.config import ConfigError
from judge.upkeep.bucket_checks import check_inbox, check_mail, require_mail_settings, weak_points
from judge.workspace import Workspace
from submissions.store.interface import StoreError
from tests.judge.intake.status_world import Buckets, MailWorld, new_buckets
from tests.servers.rgw import RgwServer

Statement = tuple[str, str]
"""What anybody may do, with what of a bucket: `` for itself, `/*` for its objects."""


@pytest.fixture(scope="module")
def buckets(rgw: RgwServer) -> Buckets:
    return new_buckets(rgw)


@pytest.fixture
def world(tmp_path: Path, aws_environment: RgwServer, buckets: Buckets) -> MailWorld:
    return MailWorld(tmp_path, aws_environment, buckets)


@pytest.fixture(scope="module")
def other(rgw: RgwServer, buckets: Buckets) -> str:
    """A bucket with versions, whose policy a test may change."""
    return rgw.new_bucket(versioned=True)


def open_up(world: MailWorld, bucket: str, *allowed: Statement) -> None:
    """Lets anybody do these things in `bucket`, and nothing else."""
    if not allowed:
        world.client.delete_bucket_policy(Bucket=bucket)
        return
    everybody = {"Effect": "Allow", "Principal": "*"}
    stated = [{**everybody, "Action": action, "Resource": f"arn:aws:s3:::{bucket}{of}"} for action, of in allowed]
    world.client.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": stated}))


def left_in(world: MailWorld, bucket: str) -> list[str]:
    """The keys of all versions and of all marks of deletion below the prefix of the test."""
    listed = world.client.list_object_versions(Bucket=bucket, Prefix=world.prefix)
    return [each["Key"] for kind in ("Versions", "DeleteMarkers") for each in listed.get(kind, ())]


def test_what_is_as_it_must_be_passes_and_nothing_is_left_behind(world: MailWorld) -> None:
    require_mail_settings(world.settings)
    assert "versioned" in check_inbox(world.workspace)
    assert "read at mail_url" in check_mail(world.workspace)
    assert left_in(world, world.inbox) == left_in(world, world.mail) == []
    assert weak_points(world.workspace) == []


@pytest.mark.parametrize("name", ["inbox", "mail", "mail_url"])
def test_each_setting_is_asked_for(name: str, world: MailWorld) -> None:
    world.more[name] = ""
    with pytest.raises(ConfigError, match=f"LAMBENCH_{name.upper()}: {name}: is not set: {name} = "):
        require_mail_settings(world.settings)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"mail": "s3://{inbox}/{prefix}"}, "inbox and mail: one lies within the other"),
        ({"mail": "s3://{inbox}"}, "inbox and mail: one lies within the other"),
        ({"inbox": "s3://{mail}/{prefix}/in"}, "inbox and mail: one lies within the other"),
        ({"store": "s3://{inbox}/{prefix}/store"}, "inbox and store: one lies within the other"),
        ({"publish_to": "s3://{mail}"}, "mail and publish_to: one lies within the other"),
        ({"mail_url": "ftp://mail"}, "mail_url: 'ftp://mail' is no web address"),
    ],
)
def test_places_that_are_not_apart_are_refused(changed: dict[str, str], words: str, world: MailWorld) -> None:
    names = {"inbox": world.inbox, "mail": world.mail, "prefix": world.prefix}
    world.more = {name: value.format(**names) for name, value in changed.items()}
    with pytest.raises(ConfigError, match=words):
        require_mail_settings(world.settings)


def test_an_inbox_that_is_no_place_in_s3_is_refused(world: MailWorld) -> None:
    world.more["inbox"] = "/var/inbox"
    with pytest.raises(StoreError, match="inbox: '/var/inbox' is no place in S3"):
        check_inbox(world.workspace)


def test_prefixes_of_one_bucket_are_apart(world: MailWorld, other: str) -> None:
    world.more = {
        "inbox": f"s3://{other}/mail-in",
        "mail": f"s3://{other}/mail",
        "mail_url": f"{world.rgw.endpoint}/{other}/mail/",
    }
    open_up(world, other, ("s3:GetObject", "/mail/*"))
    require_mail_settings(world.settings)
    check_inbox(world.workspace)
    check_mail(world.workspace)


def test_an_inbox_without_versions_is_refused_with_the_mend(world: MailWorld) -> None:
    world.more["inbox"] = f"s3://{world.mail}/in"
    with pytest.raises(StoreError) as raised:
        check_inbox(world.workspace)
    command = f"s3api put-bucket-versioning --bucket {world.mail} --versioning-configuration Status=Enabled"
    assert raised.value.remedy.endswith(f"enable versioning: aws --endpoint-url {world.rgw.endpoint} {command}")
    assert left_in(world, world.mail) == []


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        (("s3:GetObject", "/*"), "inbox: anybody may read what authors send"),
        (("s3:ListBucket", ""), "inbox: anybody may list what is in it"),
        (("s3:ListBucketVersions", ""), "inbox: anybody may list what is in it"),
        (("s3:PutObject", "/*"), "inbox: anybody may write into it"),
    ],
)
def test_an_inbox_that_is_open_to_anybody_is_refused(
    allowed: Statement, words: str, world: MailWorld, other: str
) -> None:
    world.more["inbox"] = f"s3://{other}/{world.prefix}"
    open_up(world, other)
    check_inbox(world.workspace)
    open_up(world, other, allowed)
    with pytest.raises(StoreError, match=words):
        check_inbox(world.workspace)
    assert left_in(world, other) == []


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        ((), r"mail_url: what was put into mail is not read there \(403\)"),
        ((("s3:GetObject", "/*"), ("s3:ListBucket", "")), "mail: anybody may list what is in it"),
        ((("s3:GetObject", "/*"), ("s3:PutObject", "/*")), "mail: anybody may write into it"),
    ],
)
def test_a_mail_bucket_that_is_closed_or_too_open_is_refused(
    allowed: tuple[Statement, ...], words: str, world: MailWorld, other: str
) -> None:
    world.more = {"mail": f"s3://{other}/{world.prefix}", "mail_url": f"{world.rgw.endpoint}/{other}/{world.prefix}"}
    open_up(world, other, *allowed)
    with pytest.raises(StoreError, match=words):
        check_mail(world.workspace)
    assert left_in(world, other) == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("{endpoint}/{mail}/elsewhere", r"mail_url: what was put into mail is not read there \(403\)"),
        ("http://127.0.0.1:9/mail", r"mail_url: http://127\.0\.0\.1:9/mail/[0-9a-f]{64} does not answer"),
    ],
)
def test_an_address_that_is_not_that_of_the_mail_is_refused(url: str, words: str, world: MailWorld) -> None:
    world.more["mail_url"] = url.format(endpoint=world.rgw.endpoint, mail=world.mail)
    with pytest.raises(StoreError, match=words):
        check_mail(world.workspace)
    assert left_in(world, world.mail) == []


def test_missing_buckets_are_named(world: MailWorld) -> None:
    for name, check in (("inbox", check_inbox), ("mail", check_mail)):
        world.more = {name: "s3://b-that-is-not-there/x"}
        with pytest.raises(StoreError, match=f"{name}: there is no such bucket"):
            check(world.workspace)


def test_what_ends_early_or_is_read_on_the_way_is_a_weak_point(
    world: MailWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.more["mail_url"] = "http://mail.example.org"
    assert ["https" in sentence for sentence in weak_points(world.workspace)] == [True]
    world.more["mail_url"] = "https://mail.example.org"
    assert weak_points(world.workspace) == []
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a token")
    (sentence,) = weak_points(Workspace(world.settings))
    assert "temporary credentials" in sentence
