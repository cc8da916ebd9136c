"""Whether inbox, mail and site are as they must be: asked of the service itself, once as the judge and once as anybody.

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
from submissions.store.s3_client import Place, S3Client, place_of, s3_errors

WAIT_S = 20.0
_REFUSED = (401, 403, 404)
_POLICY = "take it out of the bucket's policy and its access lists"


def require_mail_settings(settings: JudgeSettings) -> None:
    """Lets pass settings with which authors can be invited.

    Raises:
        ConfigError: one is missing, or two places are not apart; one line that names it.
    """
    examples = {"inbox": "s3://BUCKET/PREFIX", "mail": "s3://BUCKET/PREFIX", "mail_url": "https://HOST/BUCKET/PREFIX"}
    for name, example in examples.items():
        if not getattr(settings, name):
            raise ConfigError(f'{SETTINGS_FILE} or LAMBENCH_{name.upper()}: {name}: is not set: {name} = "{example}"')
    if not settings.mail_url.startswith(("https://", "http://")):
        raise ConfigError(f"mail_url: {settings.mail_url!r} is no web address: give https://…")
    require_apart(settings)


def check_inbox(workspace: Workspace) -> str:
    """What was found, in words, of an inbox that keeps every version and lets nobody but the judge read, list or write.

    Raises:
        StoreError: it is not so; one line with the remedy.
    """
    settings, client = workspace.settings, workspace.s3
    place = place_of(settings.inbox, "inbox")
    require_versions(workspace, place)
    name = f"doctor-{secrets.token_hex(16)}"
    with _probe(client, place, name, "inbox") as address:
        if _ask(address, "inbox").status_code not in _REFUSED:
            raise StoreError(f"inbox: anybody may read what authors send: {_POLICY} (s3:GetObject)")
        _refuse_strangers(client, place, address, "inbox")
    return f"{settings.inbox}: versioned; nobody else reads, lists or writes it"


def check_mail(workspace: Workspace) -> str:
    """What was found, in words, of a mail bucket of which anybody reads what he can name, and nobody lists or writes.

    Raises:
        StoreError: it is not so; one line with the remedy.
    """
    settings, client = workspace.settings, workspace.s3
    place = place_of(settings.mail, "mail")
    name = secrets.token_hex(32)
    with _probe(client, place, name, "mail") as address:
        public = f"{settings.mail_url.rstrip('/')}/{name}"
        answer = _ask(public, "mail_url")
        if answer.status_code != 200:
            remedy = "let anybody read (s3:GetObject) in mail, or correct mail_url"
            raise StoreError(f"mail_url: what was put into mail is not read there ({answer.status_code}): {remedy}")
        if answer.content != name.encode():
            raise StoreError("mail_url: something else is read there than what was put into mail: correct mail_url")
        if _ask(public[:-1] + "_", "mail_url").status_code not in _REFUSED:
            raise StoreError("mail_url: a page is shown for a name that does not exist: let it be an error")
        _refuse_strangers(client, place, address, "mail")
        _refuse_listing(settings.mail_url.rstrip("/") + "/", place, "mail_url")
    return f"{settings.mail}: read at mail_url, and by nobody listed or written"


def check_site(workspace: Workspace, name: str, published: bytes | None) -> str:
    """What was found, in words, of a site's bucket that nobody else lists or writes, and of what is read at `site_url`.

    Args:
        published: what lies in the bucket under `name`; None where nothing is published yet.

    Raises:
        StoreError: it is not so; one line with the remedy.
    """
    settings, client = workspace.settings, workspace.s3
    place = place_of(settings.publish_to, "publish_to")
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
    """What works, and is not as good as it should be; a sentence each."""
    found, settings = [], workspace.settings
    host = urlsplit(settings.mail_url).hostname or ""
    if settings.mail_url.startswith("http://") and host not in ("localhost", "127.0.0.1", "::1"):
        found.append("mail_url is http, so that whoever is on the way reads the forms: use https")
    if are_temporary(workspace.s3):
        found.append("forms end with the temporary credentials that they are signed with: use lasting ones")
    return found


@contextmanager
def _probe(client: S3Client, place: Place, name: str, setting: str) -> Iterator[str]:
    """The bare address of an object that is there meanwhile, with its own name in it; no version of it is left."""
    key = place.prefix + name
    with s3_errors(setting):
        made = client.put_object(Bucket=place.bucket, Key=key, Body=name.encode(), CacheControl="no-store")
    try:
        yield _bare(client.generate_presigned_url("get_object", Params={"Bucket": place.bucket, "Key": key}))
    finally:
        version = {"VersionId": made["VersionId"]} if made.get("VersionId") else {}
        with s3_errors(setting):
            client.delete_object(Bucket=place.bucket, Key=key, **version)


def _bare(url: str) -> str:
    return url.partition("?")[0]


def _refuse_strangers(client: S3Client, place: Place, address: str, setting: str) -> None:
    """Passes if a stranger can neither list the bucket nor write into it.

    Raises:
        StoreError: he can.
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


def _refuse_listing(bucket: str, place: Place, setting: str) -> None:
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
