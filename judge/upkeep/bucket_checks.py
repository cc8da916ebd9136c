"""Checks the buckets for uploads, status and pages: asks the service itself, once as the judge and once as anybody.

As anybody means without credentials, over plain HTTP, at the addresses that an author or a stranger would use.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote, urlsplit

import requests

from judge.config import ConfigError, JudgeSettings
from judge.intake.upload_bucket import require_versions
from judge.intake.upload_forms import are_temporary
from judge.publishing.overlap_check import require_apart
from judge.workspace import Workspace
from sandbox.events import plain
from submissions.settings import SETTINGS_FILE
from submissions.store.interface import StoreError
from submissions.store.s3_client import BucketPlace, S3Client, bucket_place, s3_errors

WAIT_S = 20.0
_REFUSED = (401, 403, 404)
_POLICY = "take it out of the bucket's policy and its access lists"


def require_bucket_settings(settings: JudgeSettings) -> None:
    """Returns if the settings allow to invite authors.

    Raises:
        ConfigError: a setting is missing, or two places overlap; one line that names it.
    """
    examples = {
        "upload_bucket": "s3://BUCKET/PREFIX",
        "status_bucket": "s3://BUCKET/PREFIX",
        "status_url": "https://HOST/BUCKET/PREFIX",
    }
    for name, example in examples.items():
        if not getattr(settings, name):
            variable = f"LAMBENCH_{name.upper()}"
            raise ConfigError(f'{name}: is not set: write {name} = "{example}" into {SETTINGS_FILE}, or set {variable}')
    if not settings.status_url.startswith(("https://", "http://")):
        raise ConfigError(f"status_url: {settings.status_url!r} is no web address: give https://…")
    require_apart(settings)


def check_upload_bucket(workspace: Workspace) -> str:
    """A sentence about the upload bucket: it keeps every version, and only the judge reads, lists and writes it.

    Raises:
        StoreError: it is not so; one line with the remedy.
    """
    settings, client = workspace.settings, workspace.s3
    place = bucket_place(settings.upload_bucket, "upload_bucket")
    require_versions(workspace, place)
    name = f"doctor-{secrets.token_hex(16)}"
    with _probe(client, place, name, "upload_bucket") as address:
        if _ask(address, "upload_bucket").status_code not in _REFUSED:
            raise StoreError(f"upload_bucket: anybody may read what authors send: {_POLICY} (s3:GetObject)")
        _refuse_strangers(client, place, address, "upload_bucket")
    return f"{settings.upload_bucket}: versioned; nobody else reads, lists or writes it"


def check_status_bucket(workspace: Workspace) -> str:
    """A sentence about the status bucket: anybody may read an object by its name; only the judge lists and writes.

    Raises:
        StoreError: it is not so; one line with the remedy.
    """
    settings, client = workspace.settings, workspace.s3
    place = bucket_place(settings.status_bucket, "status_bucket")
    name = secrets.token_hex(32)
    with _probe(client, place, name, "status_bucket") as address:
        public = f"{settings.status_url.rstrip('/')}/{name}"
        answer = _ask(public, "status_url")
        if answer.status_code != 200:
            remedy = "let anybody read (s3:GetObject) in status_bucket, or correct status_url"
            raise StoreError(
                f"status_url: what was put into status_bucket cannot be read there ({answer.status_code}): {remedy}"
            )
        if answer.content != name.encode():
            raise StoreError(
                "status_url: something else is read there than what was put into status_bucket: correct status_url"
            )
        if _ask(public[:-1] + "_", "status_url").status_code not in _REFUSED:
            raise StoreError("status_url: a page is shown for a name that does not exist: let it be an error")
        _refuse_strangers(client, place, address, "status_bucket")
        _refuse_listing(settings.status_url.rstrip("/") + "/", place, "status_url")
    return f"{settings.status_bucket}: read at status_url; nobody else lists or writes it"


def check_site(workspace: Workspace, name: str, published: bytes | None) -> str:
    """A sentence about the site's bucket: only the judge may list and write it, and `site_url` serves its files.

    Args:
        published: content of the object `name` in the bucket; None if nothing is published yet.

    Raises:
        StoreError: this does not hold; one line with the remedy.
    """
    settings, client = workspace.settings, workspace.s3
    place = bucket_place(settings.publish_to, "publish_to")
    with _probe(client, place, f"doctor-{secrets.token_hex(16)}", "publish_to") as address:
        _refuse_strangers(client, place, address, "publish_to")
    if not settings.site_url or published is None:
        return "nobody else lists or writes it"
    answer = _ask(f"{settings.site_url.rstrip('/')}/{name}", "site_url")
    if answer.status_code != 200:
        remedy = "let anybody read (s3:GetObject) what is published, or correct site_url"
        raise StoreError(f"site_url: {name} is not read there ({answer.status_code}): {remedy}")
    if answer.content != published:
        raise StoreError(
            f"site_url: {name} is another there than in publish_to: correct site_url, or what lies between"
        )
    return "read at site_url; nobody else lists or writes it"


def weak_points(workspace: Workspace) -> list[str]:
    """The weak points of settings that work; a sentence each."""
    points, settings = [], workspace.settings
    host = urlsplit(settings.status_url).hostname or ""
    if settings.status_url.startswith("http://") and host not in ("localhost", "127.0.0.1", "::1"):
        points.append("status_url is http, so that anybody on the way can read the upload forms: use https")
    if are_temporary(workspace.s3):
        points.append("forms end with the temporary credentials that they are signed with: use lasting ones")
    return points


@contextmanager
def _probe(client: S3Client, place: BucketPlace, name: str, setting: str) -> Iterator[str]:
    """The unsigned address of an object that exists in this context and contains its own name. No version is left."""
    key = place.prefix + name
    with s3_errors(setting):
        stored = client.put_object(Bucket=place.bucket, Key=key, Body=name.encode(), CacheControl="no-store")
    try:
        yield _bare(client.generate_presigned_url("get_object", Params={"Bucket": place.bucket, "Key": key}))
    finally:
        version = {"VersionId": stored["VersionId"]} if stored.get("VersionId") else {}
        with s3_errors(setting):
            client.delete_object(Bucket=place.bucket, Key=key, **version)


def _bare(url: str) -> str:
    return url.partition("?")[0]


def _refuse_strangers(client: S3Client, place: BucketPlace, address: str, setting: str) -> None:
    """Returns if a stranger can neither list the bucket nor write into it.

    Raises:
        StoreError: a stranger can.
    """
    bucket = _bare(client.generate_presigned_url("list_objects_v2", Params={"Bucket": place.bucket}))
    _refuse_listing(bucket, place, setting)
    answer = _ask(address, setting, method="PUT", data=b"")  # onto the probe itself, which is removed
    if answer.status_code not in _REFUSED:
        if version := answer.headers.get("x-amz-version-id"):
            key = place.prefix + address.rpartition("/")[2]
            with s3_errors(setting):
                client.delete_object(Bucket=place.bucket, Key=key, VersionId=version)
        raise StoreError(f"{setting}: anybody may write into it: {_POLICY} (s3:PutObject)")


def _refuse_listing(bucket: str, place: BucketPlace, setting: str) -> None:
    for query, listing in (("list-type=2", b"<ListBucketResult"), ("versions=", b"<ListVersionsResult")):
        answer = _ask(f"{bucket}?{query}&prefix={quote(place.prefix)}", setting)
        if answer.status_code == 200 and listing in answer.content:
            raise StoreError(f"{setting}: anybody may list what is in it: {_POLICY} (s3:ListBucket)")


def _ask(url: str, setting: str, method: str = "GET", data: bytes | None = None) -> requests.Response:
    try:
        # An `auth` that does nothing, or a password of ~/.netrc would be sent along.
        return requests.request(method, url, data=data, auth=lambda request: request, timeout=WAIT_S)
    except requests.RequestException as error:
        words = plain(" ".join(str(error).split()), 120)
        raise StoreError(f"{setting}: {plain(_bare(url))} does not answer as anybody would ask: {words}") from error
