"""A submission with an invitation: first the image, in a registry or in parts, then the request that names it."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from sandbox.driver import Image
from sandbox.events import plain
from submissions.card.file import first_complaint
from submissions.client.http import FileRefusedError
from submissions.client.image_archive import read_layout, save_image
from submissions.client.sent_record import SentRecordFile, SentRequest, open_sent_record, work_folder
from submissions.client.status_bucket import InviteError, StatusBucket, read_invite
from submissions.client.upload import ImageUpload
from submissions.progress import Report
from submissions.records import ModelCard, utc_now
from submissions.requests import (
    MAX_REQUEST_BYTES,
    InvitationStatus,
    InviteFile,
    ReferredImage,
    SubmissionRequest,
    UploadedImage,
    UploadForm,
    UploadForms,
)

_BY_DIGEST = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")
_HUB = "docker.io"


@dataclass(frozen=True)
class SubmissionSession:
    """One run of `lambench-submit` with an invitation, while no other process uses it on this machine.

    Args:
        forms: that can be used now.
        record_file: what this machine has sent.
    """

    invite: InviteFile
    status_bucket: StatusBucket
    forms: UploadForms
    status: InvitationStatus
    record_file: SentRecordFile

    def already_sent(self, image_id: str) -> str:
        """Why this image need not be sent, in words; empty if it does.

        An image that was refused may be sent again, since the model card may have been the reason.
        """
        for submission in self.status.submissions:
            if submission.image_id == image_id:
                return f"is submitted already as {plain(submission.submission)}"
        decisions = {decision.slot: decision for decision in self.status.decisions}
        open_slots = {form.slot for form in self.forms.requests}
        for request in self.record_file.record.requests:
            if request.image_id != image_id or not (request.arrived or request.slot not in open_slots):
                continue
            decision = decisions.get(request.slot)
            if decision is None or decision.outcome == "delayed":
                return "is sent already, and waits for the judge's next intake"
            if decision.outcome != "refused":
                return f"is submitted already as {plain(decision.submission)}"
        return ""

    def require_slot(self) -> None:
        """Returns if a request can be sent.

        Raises:
            InviteError: all slots are used.
        """
        if not self._free_forms():
            quota = self.status.quota
            used_up = quota.judged >= quota.max_judged or quota.refused >= quota.max_refused
            remedy = "ask for another invitation" if used_up else "others wait for the judge's next intake"
            raise InviteError(
                f"no submission request can be sent now: {quota.judged} of {quota.max_judged} submissions are taken, "
                f"{quota.refused} of {quota.max_refused} requests refused: {remedy}; see lambench-submit list"
            )

    def send(self, request: SubmissionRequest, image_id: str) -> SentRequest:
        """The request as it was sent.

        Raises:
            InviteError: it is too large, or no slot is left.
            WebError: the server refuses it, or does not answer.
        """
        data = request_bytes(request)
        sha256 = hashlib.sha256(data).hexdigest()
        earlier_form = self._form_of_earlier_run(sha256)
        form = earlier_form or self._free_form()
        planned = SentRequest(
            slot=form.slot,
            sent=utc_now(),
            name=request.card.name,
            by=request.image.by,
            reference=request.image.reference,
            image_id=image_id,
            sha256=sha256,
        )
        self.record_file.set_request(planned)
        path = work_folder(self.invite) / "request"
        path.write_bytes(data)
        try:
            self.status_bucket.web.post(form, path)
        except FileRefusedError:
            if earlier_form is None:  # else an earlier run may have filled the slot
                self.record_file.drop_request(form.slot)
            raise
        path.unlink()
        arrived = planned.model_copy(update={"arrived": True})
        self.record_file.set_request(arrived)
        return arrived

    def _form_of_earlier_run(self, sha256: str) -> UploadForm | None:
        """The form that an earlier run chose for these very bytes, and may have used before it died."""
        slots = {each.slot for each in self.record_file.record.requests if each.sha256 == sha256 and not each.arrived}
        return next((form for form in self.forms.requests if form.slot in slots), None)

    def _free_form(self) -> UploadForm:
        """A form chosen at random: two machines would otherwise choose the same one, and one request would be lost."""
        self.require_slot()
        return secrets.choice(self._free_forms())

    def _free_forms(self) -> list[UploadForm]:
        used = self.record_file.record.used_request_slots
        return [form for form in self.forms.requests if form.slot not in used]


@contextmanager
def open_session(path: Path) -> Iterator[SubmissionSession]:
    """A session with the invitation in the file `path`, which no other process of this machine uses meanwhile.

    Raises:
        InviteError: the file is no invitation, or another process uses it.
        WebError: the status bucket cannot be read, the invitation is revoked, or its forms have expired.
    """
    invite = read_invite(path)
    with open_sent_record(invite) as record_file:
        status_bucket = StatusBucket(invite)
        forms = status_bucket.forms()
        record_file.forget_empty(forms)
        yield SubmissionSession(invite, status_bucket, forms, status_bucket.status(), record_file)


@dataclass(frozen=True)
class SubmissionOptions:
    """The author's options for one submission."""

    image: str
    card: ModelCard
    author: str
    upload: bool

    @property
    def needs_no_engine(self) -> bool:
        """True if the image is named by its digest, so that nothing has to be looked up on this machine."""
        return not self.upload and bool(_BY_DIGEST.fullmatch(self.image))

    def request(self, image: ReferredImage | UploadedImage) -> SubmissionRequest:
        """The request to submit `image`."""
        return SubmissionRequest(author=self.author, card=self.card, image=image)


def send_submission(
    session: SubmissionSession, options: SubmissionOptions, image: Image | None, report: Report
) -> SentRequest:
    """Sends the image, if it is to be uploaded, and then the request; the request as it was sent.

    Args:
        image: on this machine; None if it was not looked up.
        report: called with the progress of an upload.

    Raises:
        InviteError: an option cannot be put into a request, or the request is too large.
        WebError: the server refuses something, or does not answer.
        SubmissionFault: the engine cannot save the image.
    """
    try:
        if not options.upload or image is None:
            reference = registry_reference(options.image, image.digests if image else ())
            return session.send(options.request(ReferredImage(reference=reference)), image.id if image else "")
        return _upload(session, options, image.id, report)
    except ValidationError as error:
        raise InviteError(
            f"{plain(options.image)}: no submission request can contain this ({plain(first_complaint(error))})"
        ) from error


def _upload(session: SubmissionSession, options: SubmissionOptions, image_id: str, report: Report) -> SentRequest:
    layout = read_layout(save_image(image_id))
    upload = ImageUpload(
        web=session.status_bucket.web,
        forms=session.forms,
        record_file=session.record_file,
        layout=layout,
        archive=partial(save_image, image_id),
        folder=work_folder(session.invite),
        report=report,
    )
    image_with = partial(UploadedImage, reference=options.image, config=layout.config.decode())
    request_bytes(options.request(image_with(layers=upload.largest_layers())))  # before gigabytes are sent in vain
    return session.send(options.request(image_with(layers=upload.send())), layout.image_id)


def request_bytes(request: SubmissionRequest) -> bytes:
    """The bytes of a request.

    Raises:
        InviteError: they are too many.
    """
    data = request.model_dump_json().encode()
    if len(data) <= MAX_REQUEST_BYTES:
        return data
    config = request.image.config if isinstance(request.image, UploadedImage) else ""
    remedy = "shorten the model card"
    if 2 * len(config) > MAX_REQUEST_BYTES:
        remedy = "give the image fewer labels, variables and steps, or push it and submit it by reference"
    raise InviteError(
        f"the submission request would have {len(data)} bytes, {MAX_REQUEST_BYTES} at most; the image's configuration "
        f"alone has {len(config)}, the model card {len(request.card.model_dump_json())}: {remedy}"
    )


def registry_reference(image: str, digests: tuple[str, ...]) -> str:
    """`HOST/NAME@sha256:…` of an image in the registry that its name states.

    Args:
        digests: the image's names by digest in this machine's engine.

    Raises:
        InviteError: it was not pushed there.
    """
    if _BY_DIGEST.fullmatch(image):
        repository, _, digest = image.partition("@")
        return f"{_with_host(repository)}@{digest}"
    head, slash, last = image.rpartition("/")
    repository = _with_host(f"{head}{slash}{last.partition(':')[0]}")
    for digest in digests:
        name, _, value = digest.partition("@")
        if _with_host(name) == repository:
            return f"{repository}@{value}"
    name = plain(image)
    push = f"docker push {name}" if slash else f"docker tag {name} HOST/{name}; docker push HOST/{name}"
    raise InviteError(
        f"{name} is in no registry, as far as this machine knows: push it first ({push}), or send it with --upload"
    )


def _with_host(repository: str) -> str:
    """A repository with its host: engines leave out that of Docker Hub, and its folder `library`."""
    first, slash, rest = repository.partition("/")
    if slash and (first == "localhost" or "." in first or ":" in first):
        return f"{_HUB}/{rest}" if first == f"index.{_HUB}" else repository
    return f"{_HUB}/{repository}" if slash else f"{_HUB}/library/{repository}"
