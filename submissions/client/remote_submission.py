"""A submission through an invitation: the image first, by reference or in parts, and then the letter that names it."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from sandbox.driver import Image
from sandbox.events import plain
from submissions.card.file import first_complaint
from submissions.client.http import RefusedError
from submissions.client.image_archive import read_layout, save_image
from submissions.client.sent_files import Ledger, SentLetter, open_ledger, work_folder
from submissions.client.status_bucket import InviteError, Mailbox, read_invite
from submissions.client.upload import Upload
from submissions.progress import Report
from submissions.records import ModelCard, utc_now
from submissions.requests import (
    MAX_LETTER,
    Form,
    Forms,
    InviteFile,
    Letter,
    ReferredImage,
    SentLayer,
    Status,
    UploadedImage,
)

_BY_DIGEST = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")
_HUB = "docker.io"


@dataclass(frozen=True)
class Desk:
    """An author's desk with an invitation on it.

    Args:
        forms: that can be used now.
        ledger: what was sent from here.
    """

    invite: InviteFile
    mailbox: Mailbox
    forms: Forms
    status: Status
    ledger: Ledger

    def earlier(self, image_id: str) -> str:
        """Why this image need not be sent, in words; empty where it does.

        One that was refused may be sent again: what was wrong may have been the card.
        """
        for submission in self.status.submissions:
            if submission.image_id == image_id:
                return f"is submitted already as {plain(submission.submission)}"
        fates = {fate.slot: fate for fate in self.status.fates}
        open_slots = {form.slot for form in self.forms.letters}
        for letter in self.ledger.sent.letters:
            if letter.image_id != image_id or not (letter.arrived or letter.slot not in open_slots):
                continue
            fate = fates.get(letter.slot)
            if fate is None or fate.came == "delayed":
                return "is sent already, and waits for the judge's next intake"
            if fate.came != "refused":
                return f"is submitted already as {plain(fate.submission)}"
        return ""

    def require_slot(self) -> None:
        """Returns where a letter can be sent.

        Raises:
            InviteError: all slots are used.
        """
        if not self._free():
            quota = self.status.quota
            used_up = quota.judged >= quota.max_judged or quota.refused >= quota.max_refused
            remedy = "ask for another invitation" if used_up else "others wait for the judge's next intake"
            raise InviteError(
                f"no letter can be sent now: {quota.judged} of {quota.max_judged} submissions are taken, "
                f"{quota.refused} of {quota.max_refused} letters refused: {remedy}; see lambench-submit list"
            )

    def send(self, letter: Letter, image_id: str) -> SentLetter:
        """The letter as it was sent.

        Raises:
            InviteError: it is too large, or no slot is left.
            MailError: the server refuses it, or does not answer.
        """
        data = _written(letter)
        sha256 = hashlib.sha256(data).hexdigest()
        meant = self._meant(sha256)
        form = meant or self._free_form()
        claimed = SentLetter(
            slot=form.slot,
            sent=utc_now(),
            name=letter.card.name,
            by=letter.image.by,
            reference=letter.image.reference,
            image_id=image_id,
            sha256=sha256,
        )
        self.ledger.set_letter(claimed)
        path = work_folder(self.invite) / "letter"
        path.write_bytes(data)
        try:
            self.mailbox.web.post(form, path)
        except RefusedError:
            if meant is None:  # else an earlier run may have filled it
                self.ledger.drop_letter(form.slot)
            raise
        path.unlink()
        arrived = claimed.model_copy(update={"arrived": True})
        self.ledger.set_letter(arrived)
        return arrived

    def _meant(self, sha256: str) -> Form | None:
        """The slot that these very bytes were meant for in a run that was cut off."""
        slots = {each.slot for each in self.ledger.sent.letters if each.sha256 == sha256 and not each.arrived}
        return next((form for form in self.forms.letters if form.slot in slots), None)

    def _free_form(self) -> Form:
        """Any of those that are free: two desks would always choose the same one otherwise, and lose a letter."""
        self.require_slot()
        return secrets.choice(self._free())

    def _free(self) -> list[Form]:
        used = self.ledger.sent.used_letters
        return [form for form in self.forms.letters if form.slot not in used]


@contextmanager
def open_desk(path: Path) -> Iterator[Desk]:
    """The desk of the invitation in the file `path`, held by this process alone.

    Raises:
        InviteError: the file is none, or another process sends through it.
        MailError: the mailbox cannot be read, the invitation is revoked, or its forms have expired.
    """
    invite = read_invite(path)
    with open_ledger(invite) as ledger:
        mailbox = Mailbox(invite)
        forms = mailbox.forms()
        ledger.forget_empty(forms)
        yield Desk(invite, mailbox, forms, mailbox.status(), ledger)


@dataclass(frozen=True)
class Asked:
    """What is to be submitted, as it was asked for."""

    image: str
    card: ModelCard
    author: str
    upload: bool

    @property
    def needs_no_engine(self) -> bool:
        """Whether the image is named so that nothing has to be looked up here."""
        return not self.upload and bool(_BY_DIGEST.fullmatch(self.image))


def send_submission(desk: Desk, asked: Asked, image: Image | None, report: Report) -> SentLetter:
    """The letter that was sent about an image.

    Args:
        image: on this machine; None where it is not looked for.
        report: how far an upload is.

    Raises:
        InviteError, MailError, SubmissionFault: see what is called.
    """
    if not asked.upload or image is None:
        reference = registry_reference(asked.image, image.digests if image else ())
        letter = _letter(asked, lambda: ReferredImage(reference=reference))
        return desk.send(letter, image.id if image else "")
    layout = read_layout(save_image(image.id))
    upload = Upload(
        web=desk.mailbox.web,
        forms=desk.forms,
        ledger=desk.ledger,
        layout=layout,
        archive=_archive_of(image.id),
        folder=work_folder(desk.invite),
        report=report,
    )

    def letter_with(layers: tuple[SentLayer, ...]) -> Letter:
        config = layout.config.decode()
        return _letter(asked, lambda: UploadedImage(reference=asked.image, config=config, layers=layers))

    _written(letter_with(upload.most()))  # before gigabytes are sent in vain
    return desk.send(letter_with(upload.send()), layout.image_id)


def _letter(asked: Asked, image: Callable[[], ReferredImage | UploadedImage]) -> Letter:
    """The letter about an image.

    Raises:
        InviteError: something that was asked for cannot stand in it.
    """
    try:
        return Letter(author=asked.author, card=asked.card, image=image())
    except ValidationError as error:
        raise InviteError(f"{plain(asked.image)}: no letter can say so ({plain(first_complaint(error))})") from error


def _written(letter: Letter) -> bytes:
    """The bytes of a letter.

    Raises:
        InviteError: they are too many.
    """
    data = letter.model_dump_json().encode()
    if len(data) <= MAX_LETTER:
        return data
    config = letter.image.config if isinstance(letter.image, UploadedImage) else ""
    remedy = "shorten the model card"
    if 2 * len(config) > MAX_LETTER:
        remedy = "give the image fewer labels, variables and steps, or push it and submit it by reference"
    raise InviteError(
        f"the letter would have {len(data)} bytes, {MAX_LETTER} at most; the image's configuration alone has "
        f"{len(config)}, the model card {len(letter.card.model_dump_json())}: {remedy}"
    )


def _archive_of(image_id: str) -> Callable[[], Iterator[bytes]]:
    return lambda: save_image(image_id)


def registry_reference(image: str, digests: tuple[str, ...]) -> str:
    """`HOST/NAME@sha256:…` of an image in the registry that its name is of.

    Args:
        digests: under which this machine's engine knows it.

    Raises:
        InviteError: it was not pushed there.
    """
    if _BY_DIGEST.fullmatch(image):
        repository, _, digest = image.partition("@")
        return f"{_full(repository)}@{digest}"
    head, slash, last = image.rpartition("/")
    repository = _full(f"{head}{slash}{last.partition(':')[0]}")
    for digest in digests:
        name, _, value = digest.partition("@")
        if _full(name) == repository:
            return f"{repository}@{value}"
    raise InviteError(
        f"{plain(image)} is in no registry, as far as this machine knows: push it first (docker push {plain(image)}), "
        "or send it with --upload"
    )


def _full(repository: str) -> str:
    """A repository with its host: engines leave out that of Docker Hub, and its folder `library`."""
    first, slash, rest = repository.partition("/")
    if slash and (first == "localhost" or "." in first or ":" in first):
        return f"{_HUB}/{rest}" if first == f"index.{_HUB}" else repository
    return f"{_HUB}/{repository}" if slash else f"{_HUB}/library/{repository}"
