"""The status bucket as the author sees it: the upload forms and the status that the judge wrote for an invitation."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from sandbox.events import plain
from submissions.card.file import first_complaint
from submissions.client.http import NotFoundError, WebClient, WebError
from submissions.preflight.log import MAX_BYTES, printable_end
from submissions.records import Record, utc_now
from submissions.requests import (
    FORMS_FILE,
    MAX_FORMS_BYTES,
    MAX_STATUS_BYTES,
    STATUS_FILE,
    InvitationStatus,
    InviteFile,
    UploadForms,
    log_name,
)

MAX_LOG_BYTES = 4 * MAX_BYTES  # a character that cannot be printed may take more bytes than its escape
MAX_INVITE_BYTES = 16 * 1024

R = TypeVar("R", bound=Record)


class InviteError(ValueError):
    """The invitation cannot be used, or something cannot be sent with it; one line with the remedy."""


def read_invite(path: Path) -> InviteFile:
    """The invitation in `path`.

    Raises:
        InviteError: there is no such file, it is no JSON, or a field is missing, unknown or of the wrong type.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_INVITE_BYTES + 1)
    except FileNotFoundError:
        raise InviteError(f"{path}: there is no such file: give the invitation that you received") from None
    except OSError as error:
        raise InviteError(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > MAX_INVITE_BYTES:
        raise InviteError(f"{path}: is too large for an invitation: give the file that you received")
    try:
        return InviteFile.read(data)
    except ValidationError as error:
        raise InviteError(f"{path}: is no invitation ({plain(first_complaint(error))})") from error


class RevokedError(WebError):
    """The invitation was revoked: an answer of the judge, and no fault of a machine."""


class StatusBucket:
    """What the judge wrote for the author of an invitation.

    Raises (all methods):
        WebError: the server does not answer, or the file is missing, or is another kind of file.
    """

    def __init__(self, invite: InviteFile, web: WebClient | None = None) -> None:
        self.invite = invite
        self.web = web or WebClient()

    def forms(self, now: datetime | None = None) -> UploadForms:
        """The forms that can be used now.

        Raises:
            RevokedError: the invitation is revoked.
            WebError: also if its forms have expired.
        """
        forms = self._read(FORMS_FILE, UploadForms, MAX_FORMS_BYTES)
        if forms.revoked:
            raise RevokedError(f"the invitation {plain(self.invite.name)} was revoked: {plain(forms.revoked, 500)}")
        if forms.expires <= (now or utc_now()):
            since = f"{forms.renewed:%Y-%m-%d %H:%M} UTC"
            raise WebError(f"the judge has not renewed its forms since {since}: wait for its next intake")
        if self.invite.status_url.startswith("https://"):
            _require_https(forms)
        return forms

    def status(self) -> InvitationStatus:
        """The decisions about the author's requests, and the progress of the submissions."""
        return self._read(STATUS_FILE, InvitationStatus, MAX_STATUS_BYTES)

    def log(self, submission: str) -> str:
        """What the container of a submission printed in the preflight, escaped; empty if nothing was stored."""
        return fetch_log(self.web, f"{self.invite.status_url}{log_name(submission)}")

    def _read(self, name: str, record: type[R], max_bytes: int) -> R:
        try:
            data = self.web.fetch(f"{self.invite.status_url}{name}", max_bytes)
        except NotFoundError:
            raise WebError(
                f"there is nothing at the address of the invitation {plain(self.invite.name)}: it may have been "
                "revoked; ask the maintainer who sent it"
            ) from None
        try:
            return record.read(data)
        except ValidationError as error:
            raise WebError(
                f"{name} of the judge cannot be read ({plain(first_complaint(error))}): install the newest "
                "lambench-judge, or tell the maintainer who sent the invitation"
            ) from error


def _require_https(forms: UploadForms) -> None:
    """Returns if every form uses https: an image must not be sent in the open."""
    for form in (*forms.requests, *forms.parts):
        if not form.url.startswith("https://"):
            raise WebError(
                f"an upload form of the judge leads to {plain(form.url, 100)}, which is not https: nothing is sent; "
                "tell the maintainer who sent the invitation"
            )


def fetch_log(web: WebClient, url: str) -> str:
    """The log at `url`, escaped; empty if there is none."""
    try:
        return printable_end(web.fetch(url, MAX_LOG_BYTES).decode("utf-8", "replace"))
    except NotFoundError:
        return ""
