"""Decides one submission request: it becomes a submission, is a duplicate of an earlier one, or is refused.

Nothing in the request is believed: the image is fetched, verified and mirrored, and the preflight is run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from judge.config import ConfigError
from judge.images.fetch import MirroredImage, mirror_image, resolve_id
from judge.images.pull import pull_image
from judge.intake.examiner import Examiner, PendingRequest, slots_of_invitation
from judge.intake.invitations import InvitationState, StoredDecision, refreshed
from judge.intake.ownership import earlier_that_counts, require_not_of_others
from judge.intake.request_check import MAX_SENTENCE, check_parts, named_parts, read_request
from judge.intake.reusable_layers import omittable_layers
from sandbox.driver import Driver
from sandbox.events import Event, emit, plain
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from submissions.preflight.acceptance import (
    arrived_submission,
    make_submission,
    questions,
    store_submission,
    submission_path,
)
from submissions.preflight.log import printable_end
from submissions.preflight.preflight import run_preflight
from submissions.records import Arrival, Submission, submission_id
from submissions.requests import MAX_REQUEST_BYTES, SentPart, SubmissionRequest, UploadedImage

MAX_LOG_BYTES = 8 * 1024


def decide(examiner: Examiner, pending: PendingRequest) -> StoredDecision:
    """The decision about a request. If it becomes a submission, the submission is stored when this returns.

    Raises:
        JudgeFault: this machine is at fault, and there is no decision yet.
    """
    details = pending.details
    try:
        request = _read(examiner, pending)
        details.parts, details.name = tuple(named_parts(request)), request.card.name
        # First, since an earlier intake may have died after it stored the submission, and nothing revokes that.
        stored = arrived_submission(examiner.store, request.card.name, _arrival(pending, request))
        if stored:
            return _submitted(pending, request, stored, _layers_of_request(examiner, request, stored))
        _require_open(pending.invitation)
        return _examine(examiner, pending, request)
    except SubmissionFault as fault:
        decision = pending.decision(
            "refused",
            name=details.name,
            verdict=fault.verdict,
            sentence=plain(fault.sentence, MAX_SENTENCE),
            container_log=printable_end(fault.private, MAX_LOG_BYTES),
        )
        return details.stored(decision, pending)
    except ConfigError as error:  # of the mirror or the credentials, which were right when the intake began
        raise JudgeFault(FaultCause.REGISTRY, str(error)) from error


def _read(examiner: Examiner, pending: PendingRequest) -> SubmissionRequest:
    try:
        return read_request(examiner.bucket.read(pending.upload, MAX_REQUEST_BYTES))
    except SubmissionFault:
        _require_open(pending.invitation)  # that the invitation is used up is the better reason
        raise


def _require_open(invitation: InvitationState) -> None:
    if invitation.revocation:
        raise SubmissionFault(Verdict.POLICY_VIOLATION, "The invitation was revoked: nothing more is taken with it.")
    quota = invitation.quota
    if quota.judged >= quota.max_judged:
        raise SubmissionFault(
            Verdict.POLICY_VIOLATION,
            f"All {quota.max_judged} submissions of the invitation are used: ask the maintainer for another one.",
        )


def _require_still_open(examiner: Examiner, invitation: InvitationState) -> None:
    """Returns if the invitation, read again, takes this submission."""
    _require_open(refreshed(examiner.store, invitation))


def _examine(examiner: Examiner, pending: PendingRequest, request: SubmissionRequest) -> StoredDecision:
    """The decision about a readable request. If it becomes a submission, that is stored.

    Raises:
        SubmissionFault: it is refused.
        JudgeFault: this machine is at fault.
    """
    details, pending = pending.details, _with_late_parts(examiner, pending, pending.details.parts)
    sizes = {slot: upload.n_bytes for slot, upload in pending.uploads.items()}
    check_parts(details.parts, pending.part_slots, sizes)
    require_not_of_others(examiner, pending, request.image)
    details.image_id = image_id = resolve_id(examiner.settings, request.image, pending.transfer)
    arrival = _arrival(pending, request)
    if earlier := earlier_that_counts(examiner, arrival, request.image, image_id):
        if earlier.arrival == arrival:  # another host's intake stored it a moment ago
            return _submitted(pending, request, earlier, _layers_of_request(examiner, request, earlier))
        return _duplicate(pending, request, earlier)
    driver = examiner.driver  # first: without an engine the image would be fetched in vain
    arrived = _fetch(examiner, pending, request)
    if arrived.image_id != image_id:
        raise SubmissionFault(Verdict.IMAGE_INVALID, "The image was replaced while it was fetched: submit it again.")
    details.layers = arrived.layers
    _require_still_open(examiner, pending.invitation)  # the transfer may have taken an hour
    submission = _try(examiner, driver, request, arrived, pending)
    return _submitted(pending, request, submission, arrived.layers)


def _with_late_parts(examiner: Examiner, pending: PendingRequest, parts: Sequence[SentPart]) -> PendingRequest:
    """The request with all parts that are there now: some may have arrived after the bucket was listed."""
    if {part.slot for part in parts} & pending.part_slots <= pending.uploads.keys():
        return pending
    uploads = examiner.bucket.uploads(pending.invitation.name)
    return pending if uploads is None else replace(pending, uploads=uploads)


def _layers_of_request(examiner: Examiner, request: SubmissionRequest, stored: Submission) -> tuple[str, ...]:
    """Diff IDs of the layers of a stored submission, if they follow from its request alone."""
    image = request.image
    if not isinstance(image, UploadedImage) or resolve_id(examiner.settings, image) != stored.image.id:
        return ()
    return tuple(layer.diff_id for layer in image.layers)


def _fetch(examiner: Examiner, pending: PendingRequest, request: SubmissionRequest) -> MirroredImage:
    """The image of a request, verified, and stored in the judge's registry."""

    def read_part(part: SentPart) -> Iterator[bytes]:
        return examiner.bucket.chunks(pending.uploads[part.slot])

    omittable = omittable_layers(pending.invitation, examiner.public)
    workspace, disks = examiner.workspace, examiner.driver.disks
    return mirror_image(workspace, request.image, omittable, read_part, examiner.reporter.say, disks, pending.transfer)


def _try(
    examiner: Examiner, driver: Driver, request: SubmissionRequest, arrived: MirroredImage, pending: PendingRequest
) -> Submission:
    """The submission, stored after its image has passed the preflight."""
    id = submission_id(request.card.name, arrived.image_id)
    # Of another image, whose ID begins with the same digits; or of this one, and withdrawn or somebody else's.
    if examiner.store.exists(submission_path(id)):
        raise SubmissionFault(
            Verdict.IMAGE_INVALID, f"Another submission is {id}: change anything in your image, and build it again."
        )
    image = pull_image(
        driver,
        arrived.mirror,
        arrived.image_id,
        arrived.size_bytes,
        examiner.settings.min_free_bytes,
        examiner.settings.registry_config,
    )
    gpu = examiner.gpu
    probes = questions(request.card, gpu.uuid if gpu else None)
    with examiner.alone_on_gpu(), examiner.reporter.unit(f"preflight of {plain(request.card.name)}") as progress:
        outcome = run_preflight(driver, image, examiner.settings.limits, probes, progress)
    examiner.n_preflights += 1
    if outcome.value is None:
        device = f"a GPU, {gpu.name}" if gpu else "the CPU"
        raise SubmissionFault(outcome.verdict, f"{outcome.sentence} It was tried on {device}.", outcome.private)
    reference = arrived.reference or request.image.reference
    arrival = _arrival(pending, request)
    submission = make_submission(request.author, request.card, image, outcome.value, arrival, arrived.mirror)
    submission = submission.model_copy(update={"image": submission.image.model_copy(update={"reference": reference})})
    _require_still_open(examiner, pending.invitation)
    if not store_submission(examiner.store, submission, outcome.private):
        raise JudgeFault(FaultCause.CLAIM_LOST, f"{submission.id} was stored meanwhile by another intake")
    return submission


def _submitted(
    pending: PendingRequest, request: SubmissionRequest, submission: Submission, layers: tuple[str, ...]
) -> StoredDecision:
    # After the submission, before the decision: a listener may kill us here, and the next intake must find both.
    emit(Event.REQUEST_TAKEN, submission=submission.id, key=pending.key)
    decision = pending.decision("submitted", submission=submission.id, name=request.card.name)
    slots = slots_of_invitation(named_parts(request), pending)
    return StoredDecision(decision=decision, parts=slots, image_id=submission.image.id, layers=layers)


def _duplicate(pending: PendingRequest, request: SubmissionRequest, earlier: Submission) -> StoredDecision:
    sentence = f"This image is submitted already, as {earlier.id}."
    if request.card != earlier.card:
        sentence += " A model card is fixed for an image: yours differs, and was not taken. Build a new image for that."
    decision = pending.decision("duplicate", submission=earlier.id, name=request.card.name, sentence=sentence)
    slots = slots_of_invitation(named_parts(request), pending)
    return StoredDecision(decision=decision, parts=slots, image_id=earlier.image.id)


def _arrival(pending: PendingRequest, request: SubmissionRequest) -> Arrival:
    return Arrival(by=request.image.by, invitation=pending.invitation.name, slot=pending.slot)
