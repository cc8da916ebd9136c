"""An invitation on a real S3 server and the machine of its author, for tests of the author's commands."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from submissions.cli.main import main
from submissions.client.sent_record import SentRecord, read_sent_record
from submissions.requests import (
    FORMS_FILE,
    MAX_PART_BYTES,
    MAX_REQUEST_BYTES,
    STATUS_FILE,
    InvitationStatus,
    InviteFile,
    Quota,
    RequestDecision,
    SubmissionProgress,
    SubmissionRequest,
    UploadForm,
    UploadForms,
    log_name,
)
from tests.servers.rgw import Buckets, RgwServer
from tests.world.commands import ROOT, run_in_process

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def status_of(
    decisions: Sequence[RequestDecision] = (), submissions: Sequence[SubmissionProgress] = (), revoked: str = ""
) -> InvitationStatus:
    """A status with these decisions and submissions."""
    quota = Quota(max_judged=20, judged=len(submissions), max_refused=10, refused=0)
    return InvitationStatus(
        written=NOW,
        invitation="alice",
        revoked=revoked,
        quota=quota,
        decisions=tuple(decisions),
        submissions=tuple(submissions),
    )


def progress_of(id: str = "emt-0123456789ab", **fields: object) -> SubmissionProgress:
    """The progress of a submission."""
    stated = {"name": "EMT", "image_id": f"sha256:{'0' * 64}", "submitted": NOW, "state": "waiting", **fields}
    return SubmissionProgress.model_validate({"submission": id, **stated})


def slot() -> str:
    """A new upload slot."""
    return secrets.token_hex(16)


@dataclass
class AuthorMachine:
    """An author's machine and the buckets between author and judge: a public status bucket, a private versioned inbox.

    Args:
        endpoint: the address in the upload forms, if it is not the server's own.
    """

    rgw: RgwServer
    buckets: Buckets
    root: Path
    endpoint: str = ""
    secret: str = field(default_factory=lambda: secrets.token_hex(32))

    def __post_init__(self) -> None:
        self.uploads, self.statuses, self.client = self.buckets
        self.folder = f"{self.secret[:16]}/alice/"
        self.invite = InviteFile(name="alice", status_url=f"{self.rgw.endpoint}/{self.statuses}/mail/{self.secret}/")
        self.file = self.root / "alice.invite.json"
        self.file.write_text(self.invite.model_dump_json())
        self.put_status()

    def form(self, name: str = "", max_bytes: int = MAX_PART_BYTES, seconds: int = 3600) -> UploadForm:
        """An upload form for one slot."""
        post = self.client.generate_presigned_post(
            self.uploads,
            f"{self.folder}{name or slot()}",
            Conditions=[["content-length-range", 1, max_bytes]],
            ExpiresIn=seconds,
        )
        url = post["url"].replace(self.rgw.endpoint, self.endpoint) if self.endpoint else post["url"]
        key = post["fields"]["key"].rpartition("/")[2]
        return UploadForm(slot=key, url=url, fields=post["fields"], max_bytes=max_bytes)

    def put_forms(
        self, n_requests: int = 3, n_parts: int = 40, max_part: int = MAX_PART_BYTES, layers: Sequence[str] = ()
    ) -> UploadForms:
        """Writes upload forms to the status bucket and returns them."""
        forms = UploadForms(
            renewed=datetime.now(UTC),
            expires=datetime.now(UTC) + timedelta(hours=1),
            requests=tuple(self.form(max_bytes=MAX_REQUEST_BYTES) for _ in range(n_requests)),
            parts=tuple(self.form(max_bytes=max_part) for _ in range(n_parts)),
            layers=tuple(layers),
        )
        self.put_file(FORMS_FILE, forms.model_dump_json())
        return forms

    def put_status(self, status: InvitationStatus | None = None) -> None:
        """Writes the status to the status bucket."""
        self.put_file(STATUS_FILE, (status or status_of()).model_dump_json())

    def put_log(self, submission: str, text: str) -> None:
        """Writes a log to the status bucket."""
        self.put_file(log_name(submission), text)

    def put_file(self, name: str, text: str) -> None:
        """Writes any text as a file of the status bucket."""
        self.client.put_object(Bucket=self.statuses, Key=f"mail/{self.secret}/{name}", Body=text.encode())

    def arrived(self) -> dict[str, list[bytes]]:
        """All versions of the objects in the inbox, by upload slot."""
        versions: dict[str, list[bytes]] = {}
        for version in self.client.list_object_versions(Bucket=self.uploads, Prefix=self.folder).get("Versions", ()):
            named = {"Key": version["Key"], "VersionId": version["VersionId"]}
            data = self.client.get_object(Bucket=self.uploads, **named)["Body"].read()
            versions.setdefault(version["Key"].removeprefix(self.folder), []).append(data)
        return versions

    def clear(self) -> None:
        """Deletes all objects in the inbox, as a judge does with abandoned uploads."""
        for version in self.client.list_object_versions(Bucket=self.uploads, Prefix=self.folder).get("Versions", ()):
            named = {"Key": version["Key"], "VersionId": version["VersionId"]}
            self.client.delete_object(Bucket=self.uploads, **named)

    def requests(self) -> list[SubmissionRequest]:
        """The submission requests in the inbox, in the order in which they were sent."""
        arrived = self.arrived()
        return [SubmissionRequest.read(arrived[each.slot][-1]) for each in self.sent().requests if each.slot in arrived]

    def sent(self) -> SentRecord:
        """The author's record of what was sent."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(self.root / "state"))
            return read_sent_record(self.invite)

    @property
    def environment(self) -> dict[str, str]:
        """The author's environment variables; they contain no cloud credential."""
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
        """A new process of `lambench-submit`."""
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
    status, out, err = run_in_process(main, "lambench-submit", arguments, root, environment)
    assert "Traceback" not in err
    return status, out, err
