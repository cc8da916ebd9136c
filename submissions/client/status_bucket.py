"""An invitation's mailbox, as its author sees it: the forms and the status that the judge left there."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from sandbox.events import plain
from submissions.card.file import first_complaint
from submissions.client.http import MailError, UnknownError, Web
from submissions.preflight.log import MAX_BYTES, printable_end
from submissions.records import Record, utc_now
from submissions.requests import FORMS, MAX_FORMS, MAX_STATUS, STATUS, Forms, InviteFile, Status, log_name

MAX_LOG = 4 * MAX_BYTES  # a character that does not print may take more bytes than it was escaped to
INVITE = "LAMBENCH_INVITE"  # may name the file
MAX_INVITE = 16 * 1024

R = TypeVar("R", bound=Record)


class InviteError(ValueError):
    """An invitation that cannot be used, or something that cannot be sent through it; one line with the remedy."""


def read_invite(path: Path) -> InviteFile:
    """The invitation in `path`.

    Raises:
        InviteError: no such file, no JSON, a field that is missing, unknown or of the wrong type.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_INVITE + 1)
    except FileNotFoundError:
        raise InviteError(f"{path}: there is no such file; give the invitation that you were sent") from None
    except OSError as error:
        raise InviteError(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > MAX_INVITE:
        raise InviteError(f"{path}: is too large for an invitation; give the file that you were sent")
    try:
        return InviteFile.read(data)
    except ValidationError as error:
        raise InviteError(f"{path}: is no invitation ({plain(first_complaint(error))})") from error


class Mailbox:
    """What an invitation gives its author.

    Raises (all methods):
        MailError: the server does not answer, or there is nothing there, or it is something else.
    """

    def __init__(self, invite: InviteFile, web: Web | None = None) -> None:
        self.invite = invite
        self.web = web or Web()

    def forms(self, now: datetime | None = None) -> Forms:
        """The forms that can be used now.

        Raises:
            MailError: also where the invitation is revoked, or its forms have expired.
        """
        forms = self._read(FORMS, Forms, MAX_FORMS)
        if forms.revoked:
            raise MailError(f"the invitation {plain(self.invite.name)} was revoked: {plain(forms.revoked, 500)}")
        if forms.expires <= (now or utc_now()):
            since = f"{forms.renewed:%Y-%m-%d %H:%M} UTC"
            raise MailError(f"the judge has not renewed its forms since {since}: wait for its next intake")
        if self.invite.mail.startswith("https://"):
            _require_https(forms)
        return forms

    def status(self) -> Status:
        """What became of this author's letters and submissions."""
        return self._read(STATUS, Status, MAX_STATUS)

    def log(self, submission: str) -> str:
        """What the container of a submission said in the preflight, escaped; empty where nothing is kept of it."""
        return fetch_log(self.web, f"{self.invite.mail}{log_name(submission)}")

    def _read(self, name: str, record: type[R], max_bytes: int) -> R:
        try:
            data = self.web.fetch(f"{self.invite.mail}{name}", max_bytes)
        except UnknownError:
            raise MailError(
                f"the address of the invitation {plain(self.invite.name)} is not known: it may have been revoked, "
                "ask whoever sent it"
            ) from None
        try:
            return record.read(data)
        except ValidationError as error:
            raise MailError(
                f"{name} of the judge cannot be read ({plain(first_complaint(error))}): install the newest "
                "lambench-judge, or tell whoever sent the invitation"
            ) from error


def _require_https(forms: Forms) -> None:
    """Returns where no form would send an image in the open, or to whoever listens at another kind of address."""
    for form in (*forms.letters, *forms.parts):
        if not form.url.startswith("https://"):
            raise MailError(
                f"a form of the judge leads to {plain(form.url, 100)}, which is not https: nothing is sent; tell "
                "whoever sent the invitation"
            )


def fetch_log(web: Web, url: str) -> str:
    """The log at `url`, escaped; empty where there is none."""
    try:
        return printable_end(web.fetch(url, MAX_LOG).decode("utf-8", "replace"))
    except UnknownError:
        return ""
