"""What becomes of a request that the judge could not examine: it is delayed, and after its last delay refused."""

from __future__ import annotations

from collections.abc import Mapping

from judge.images.transfer import RequestFault
from judge.intake.examiner import Examiner, PendingRequest
from judge.intake.invitations import StoredDecision
from judge.intake.retry_queue import delayed_before, write_delayed
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.records import utc_now
from submissions.requests import RequestDecision

_TRIED_AGAIN = "The judge will try again: you need do nothing."
_SENTENCES: Mapping[FaultCause, str] = {
    FaultCause.REGISTRY: "The judge could not fetch or store the image.",
    FaultCause.DISK: "The judge has no disk space for the image.",
    FaultCause.GPU: "The judge's GPU is in use, or missing.",
}
_ENDED: Mapping[FaultCause, str] = {
    FaultCause.REGISTRY: "The image's registry does not answer as it should: push the image to another, or upload it.",
    FaultCause.DISK: "The image is too large for the judge's disks: make it smaller.",
    FaultCause.DOCKER: "The judge's engine starts other images, and not this one: build it from a Dockerfile again.",
}


def delay(examiner: Examiner, pending: PendingRequest, fault: JudgeFault) -> StoredDecision | RequestDecision:
    """The decision that the author reads: the request is delayed, which is stored, or refused, which is not yet.

    Its sentence is general: the fault itself names folders, hosts and the judge's accounts.

    Raises:
        StoreError: the record cannot be read or written.
    """
    reason = _SENTENCES.get(fault.cause, "Something of the judge's own is broken.")
    name = pending.details.name
    decision = pending.decision("delayed", name=name, sentence=f"{reason} {_TRIED_AGAIN}")
    request = delayed_before(examiner.store, pending.invitation.name, decision)
    if _is_of_request(examiner, fault):
        request = request.delayed_again(pending.transfer.n_bytes, utc_now())
    settings = examiner.settings
    if request.n_delays >= settings.intake_delays or request.n_bytes > settings.intake_bytes:
        sentence = f"{_ENDED.get(fault.cause, reason)} The judge has tried it often enough."
        refusal = pending.decision("refused", name=name, verdict=Verdict.IMAGE_INVALID, sentence=sentence)
        return pending.details.stored(refusal, pending)
    write_delayed(examiner.store, pending.invitation.name, request)
    return decision


def _is_of_request(examiner: Examiner, fault: JudgeFault) -> bool:
    """Whether only this request has the fault: by its kind, or since the engine works for other images."""
    if isinstance(fault, RequestFault):
        return fault.counts
    return fault.cause is FaultCause.DOCKER and examiner.engine_works()
