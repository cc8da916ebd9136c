"""An invitation as a judge gives it, on a real S3 server, and the author who has it: for tests of the author's way."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from submissions.cli.main import main
from submissions.client.sent_files import Sent, read_sent
from submissions.requests import (
    FORMS,
    MAX_LETTER,
    MAX_PART,
    STATUS,
    Fate,
    Form,
    Forms,
    InviteFile,
    Letter,
    Progress,
    Quota,
    Status,
    log_name,
)
from tests.servers.rgw import RgwServer

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def status_of(fates: Sequence[Fate] = (), submissions: Sequence[Progress] = (), revoked: str = "") -> Status:
    """A status with these in it."""
    quota = Quota(max_judged=20, judged=len(submissions), max_refused=10, refused=0)
    return Status(
        written=NOW,
        invitation="alice",
        revoked=revoked,
        quota=quota,
        fates=tuple(fates),
        submissions=tuple(submissions),
    )


def progress_of(id: str = "emt-0123456789ab", **fields: object) -> Progress:
    """How far a submission is."""
    stated = {"name": "EMT", "image_id": f"sha256:{'0' * 64}", "submitted": NOW, "state": "waiting", **fields}
    return Progress.model_validate({"submission": id, **stated})


def slot() -> str:
    """A slot that is no other."""
    return secrets.token_hex(16)


class Buckets(NamedTuple):
    """What all desks of a test run share; each has folders of its own there."""

    client: Any
    inbox: str
    mail: str


@cache
def buckets_of(rgw: RgwServer) -> Buckets:
    """The buckets of a server: making them takes a second."""
    return Buckets(rgw.client(), rgw.new_bucket(versioned=True), rgw.new_bucket(public=True))


@dataclass
class AuthorDesk:
    """What lies between an author and a judge: a mail bucket that anybody may read, a versioned inbox that nobody may.

    Args:
        endpoint: that the forms name, where it is not the server's own.
    """

    rgw: RgwServer
    root: Path
    endpoint: str = ""
    secret: str = field(default_factory=lambda: secrets.token_hex(32))

    def __post_init__(self) -> None:
        self.client, self.inbox, self.mail = buckets_of(self.rgw)
        self.folder = f"{self.secret[:16]}/alice/"
        self.invite = InviteFile(name="alice", mail=f"{self.rgw.endpoint}/{self.mail}/mail/{self.secret}/")
        self.file = self.root / "alice.invite.json"
        self.file.write_text(self.invite.model_dump_json())
        self.put_status()

    def form(self, name: str = "", max_bytes: int = MAX_PART, seconds: int = 3600) -> Form:
        """A form for one slot."""
        made = self.client.generate_presigned_post(
            self.inbox,
            f"{self.folder}{name or slot()}",
            Conditions=[["content-length-range", 1, max_bytes]],
            ExpiresIn=seconds,
        )
        url = made["url"].replace(self.rgw.endpoint, self.endpoint) if self.endpoint else made["url"]
        key = made["fields"]["key"].rpartition("/")[2]
        return Form(slot=key, url=url, fields=made["fields"], max_bytes=max_bytes)

    def put_forms(
        self, n_letters: int = 3, n_parts: int = 40, max_part: int = MAX_PART, layers: Sequence[str] = ()
    ) -> Forms:
        """The forms that are in the mailbox from now on."""
        forms = Forms(
            renewed=datetime.now(UTC),
            expires=datetime.now(UTC) + timedelta(hours=1),
            letters=tuple(self.form(max_bytes=MAX_LETTER) for _ in range(n_letters)),
            parts=tuple(self.form(max_bytes=max_part) for _ in range(n_parts)),
            layers=tuple(layers),
        )
        self.put_mail(FORMS, forms.model_dump_json())
        return forms

    def put_status(self, status: Status | None = None) -> None:
        """The status that is in the mailbox from now on."""
        self.put_mail(STATUS, (status or status_of()).model_dump_json())

    def put_log(self, submission: str, text: str) -> None:
        """The log that is in the mailbox from now on."""
        self.put_mail(log_name(submission), text)

    def put_mail(self, name: str, text: str) -> None:
        """A file in the mailbox, whatever it holds."""
        self.client.put_object(Bucket=self.mail, Key=f"mail/{self.secret}/{name}", Body=text.encode())

    def arrived(self) -> dict[str, list[bytes]]:
        """What lies in the inbox: of each slot all versions."""
        found: dict[str, list[bytes]] = {}
        for version in self.client.list_object_versions(Bucket=self.inbox, Prefix=self.folder).get("Versions", ()):
            named = {"Key": version["Key"], "VersionId": version["VersionId"]}
            data = self.client.get_object(Bucket=self.inbox, **named)["Body"].read()
            found.setdefault(version["Key"].removeprefix(self.folder), []).append(data)
        return found

    def clear(self) -> None:
        """Deletes all that lies in the inbox, as a judge does with what nobody comes back to."""
        for version in self.client.list_object_versions(Bucket=self.inbox, Prefix=self.folder).get("Versions", ()):
            named = {"Key": version["Key"], "VersionId": version["VersionId"]}
            self.client.delete_object(Bucket=self.inbox, **named)

    def letters(self) -> list[Letter]:
        """The letters in the inbox, in the order in which they were sent."""
        arrived = self.arrived()
        return [Letter.read(arrived[each.slot][-1]) for each in self.sent().letters if each.slot in arrived]

    def sent(self) -> Sent:
        """The author's own record."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(self.root / "state"))
            return read_sent(self.invite)

    @property
    def environment(self) -> dict[str, str]:
        """Of whoever sits at this desk: no credential of any cloud."""
        return {
            "XDG_STATE_HOME": str(self.root / "state"),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "LAMBENCH_INVITE": str(self.file),
            "LAMBENCH_RUN_DIR": str(self.root / "run"),
        }

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit status, standard output and standard error of `lambench-submit`, in this process."""
        return run_here(self.root, self.environment, *arguments)

    def run_json(self, *arguments: str) -> tuple[int, object]:
        """Exit status of `lambench-submit … --json`, and what its standard output parses to."""
        status, out, err = self.run(*arguments, "--json")
        assert out, err
        return status, json.loads(out)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """`lambench-submit`, as a process of its own."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return subprocess.Popen(
            [sys.executable, "-m", "submissions.cli.main", *arguments],
            cwd=self.root,
            env={**variables, "PYTHONPATH": str(ROOT), **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def run_here(root: Path, environment: dict[str, str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of `lambench-submit` in the folder `root`, in this process."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.chdir(root)
        patch.setattr(sys, "argv", ["lambench-submit", *arguments])
        for name, value in environment.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
    assert "Traceback" not in err.getvalue()
    return int(ended.value.code or 0), out.getvalue(), err.getvalue()
