"""A judge with an inbox and a mail bucket on a real S3 server, and what an author or a stranger sends there."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import requests

from judge.config import JudgeSettings
from judge.intake.invitations import Invited, StoredFate, create_invitation, fate_key, read_invitation
from judge.workspace import Workspace
from submissions.records import Submission, utc_now
from submissions.requests import Fate, Form
from submissions.store.interface import Store
from submissions.store.open_store import open_store
from submissions.store.s3_client import S3Client
from tests.judge.small_world import World
from tests.servers.rgw import RgwServer


class Buckets(NamedTuple):
    """An inbox, which is versioned, and a mail bucket, of which anybody may read; for several tests one after another.

    Args:
        client: of the judge, made once: that takes longer than most requests.
    """

    inbox: str
    mail: str
    client: S3Client


def new_buckets(rgw: RgwServer) -> Buckets:
    """Empty ones."""
    return Buckets(rgw.new_bucket(versioned=True), rgw.new_bucket(public=True), rgw.client())


@dataclass
class MailWorld(World):
    """Where a test invites authors.

    Args:
        root: folder of the judge, whose store is a local one.
        rgw: whose credentials the environment has.
        prefix: in both buckets, of this test alone.
        more: settings that are others.
    """

    rgw: RgwServer
    buckets: Buckets
    prefix: str = field(default_factory=lambda: secrets.token_hex(4))
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def inbox(self) -> str:
        return self.buckets.inbox

    @property
    def mail(self) -> str:
        return self.buckets.mail

    @property
    def client(self) -> S3Client:
        return self.buckets.client

    @property
    def settings(self) -> JudgeSettings:
        stated = {
            "store": str(self.root / "store"),
            "data": self.root / "data",
            "run_dir": self.root / "run",
            "site_dir": self.root / "site",
            "key_file": self.root / "signing.key",
            "publish_to": str(self.root / "public"),
            "endpoint_url": self.rgw.endpoint,
            "inbox": f"s3://{self.inbox}/{self.prefix}",
            "mail": f"s3://{self.mail}/{self.prefix}",
            "mail_url": f"{self.rgw.endpoint}/{self.mail}/{self.prefix}",
            "log": self.root / "judge.jsonl",
        }
        return JudgeSettings(**{**stated, **self.more})

    @property
    def workspace(self) -> Workspace:
        workspace = Workspace(self.settings)
        vars(workspace)["s3"] = self.client  # as if it was used before: to make a client takes longer than its use
        return workspace

    def write_settings(self, driver: str = "process") -> None:
        of = self.settings
        ours = ("store", "data", "run_dir", "site_dir", "key_file", "publish_to", "log")
        names = (*ours, "endpoint_url", "inbox", "mail", "mail_url")
        lines = [f'{name} = "{getattr(of, name)}"' for name in names if getattr(of, name)]
        (self.root / "judge.toml").write_text("\n".join([*lines, f'driver = "{driver}"', ""]))

    def invited(self, name: str = "curie", max_judged: int = 3, max_refused: int = 2, n_parts: int = 4) -> Invited:
        """An invitation that was just made."""
        store = open_store(self.settings.store)
        return Invited(create_invitation(store, name, max_judged, max_refused, n_parts))

    def versions(self, key: str = "") -> list[dict[str, Any]]:
        """Of everything in the inbox, or of one key of the bucket, as the server lists them."""
        listed = self.client.list_object_versions(Bucket=self.inbox, Prefix=key or f"{self.prefix}/")
        found: list[dict[str, Any]] = listed.get("Versions", [])
        return found

    def content(self, version: dict[str, Any]) -> bytes:
        got = self.client.get_object(Bucket=self.inbox, Key=version["Key"], VersionId=version["VersionId"])
        data: bytes = got["Body"].read()
        return data


def post(form: Form, data: bytes, url: str = "", **fields: str) -> requests.Response:
    """What the server answers to `data` that is sent with `form`, in which these fields are others."""
    sent = {**form.fields, **fields}
    return requests.post(url or form.url, data=sent, files={"file": ("letter", data)}, timeout=20)


def invite(store: Store, *taken: Submission, name: str = "alice") -> Invited:
    """An invitation with which these submissions came."""
    invitation = create_invitation(store, name, 9, 3, 4)
    for n, submission in enumerate(taken):
        fate = Fate(slot=f"{n:032x}", received=utc_now(), came="submitted", submission=submission.id, name="m")
        stored = StoredFate(fate=fate).model_dump_json().encode()
        assert store.put_if_absent(fate_key(invitation, fate.slot), stored)
    return read_invitation(store, name)


def with_mail(settings: JudgeSettings, rgw: RgwServer) -> JudgeSettings:
    """The same settings, with a mail bucket."""
    bucket = rgw.new_bucket(public=True)
    update = {"mail": f"s3://{bucket}", "mail_url": f"{rgw.endpoint}/{bucket}", "endpoint_url": rgw.endpoint}
    return settings.model_copy(update=update)
