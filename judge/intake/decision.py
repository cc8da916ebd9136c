"""The fate of one letter: a submission, an earlier one of the same image, or a refusal with its reason.

Nothing that the letter says is believed: its image is fetched, verified and mirrored, and the preflight is repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from judge.config import ConfigError
from judge.images.fetch import Arrived, arrive, resolve_id
from judge.images.pull import pull_image
from judge.intake.examiner import Case, Desk
from judge.intake.invitations import Invited, StoredFate
from judge.intake.request_check import MAX_WORDS, check_parts, named_parts, read_letter
from judge.intake.reusable_layers import may_be_left_out
from judge.intake.upload_bucket import Flood
from sandbox.driver import Driver
from sandbox.events import Event, emit, plain
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from submissions.preflight.acceptance import (
    arrived_submission,
    earlier_submission,
    make_submission,
    questions,
    store_submission,
    submission_path,
)
from submissions.preflight.log import printable_end
from submissions.preflight.preflight import run_preflight
from submissions.records import Arrival, Submission, submission_id
from submissions.requests import MAX_LETTER, Fate, Letter, SentPart, UploadedImage

MAX_SAID = 8 * 1024

_STAYS = "Your letter stays in the inbox, and is looked at again."
_WORDS: Mapping[FaultCause, str] = {
    FaultCause.REGISTRY: "The judge could not fetch the image, or could not keep it.",
    FaultCause.DISK: "The judge has no room for the image.",
    FaultCause.GPU: "The judge's GPU is not free, or not there.",
}


@dataclass
class _Seen:
    """What is known of a letter so far: enough for its fate where it is refused.

    Args:
        layers: diff IDs, once all of them were verified and are in the mirror.
    """

    name: str = ""
    parts: tuple[SentPart, ...] = ()
    image_id: str = ""
    layers: tuple[str, ...] = ()


def fate_of(desk: Desk, case: Case) -> StoredFate:
    """What becomes of a letter. Where it becomes a submission, that is stored already.

    Raises:
        JudgeFault: this machine is at fault, and the letter has no fate yet.
    """
    seen = _Seen()
    try:
        letter = _open(desk, case)
        seen.parts, seen.name = tuple(named_parts(letter)), letter.card.name
        # First of all: an intake that died before it could say so stored it, and nothing since takes it back.
        if own := arrived_submission(desk.store, letter.card.name, _arrival(case, letter)):
            return _submitted(case, letter, own, seen.parts, _own_layers(desk, letter, own))
        _require_open(case.invited)
        return _take(desk, case, letter, seen)
    except SubmissionFault as fault:
        fate = Fate(
            slot=case.slot,
            received=case.sent.received,
            came="refused",
            name=seen.name,
            verdict=fault.verdict,
            sentence=plain(fault.sentence, MAX_WORDS),
            said=printable_end(fault.private, MAX_SAID),
        )
        return StoredFate(fate=fate, parts=_slots(seen.parts, case), image_id=seen.image_id, layers=seen.layers)
    except ConfigError as error:  # of the mirror or the credentials, which were right when the intake began
        raise JudgeFault(FaultCause.REGISTRY, str(error)) from error


def _open(desk: Desk, case: Case) -> Letter:
    try:
        return read_letter(desk.inbox.read(case.sent, MAX_LETTER))
    except SubmissionFault:
        _require_open(case.invited)  # of one that takes nothing more that is the better reason
        raise


def delayed_fate(case: Case, fault: JudgeFault) -> Fate:
    """What the author of a letter is told that the judge could not look at.

    In words of ours alone: those of the fault name folders, hosts and the judge's own accounts.
    """
    why = _WORDS.get(fault.cause, "Something of the judge's own is broken.")
    return Fate(slot=case.slot, received=case.sent.received, came="delayed", sentence=f"{why} {_STAYS}")


def _require_open(invited: Invited) -> None:
    if invited.revocation:
        raise SubmissionFault(Verdict.POLICY_VIOLATION, "The invitation was revoked: nothing more is taken with it.")
    quota = invited.quota
    if quota.judged >= quota.max_judged:
        raise SubmissionFault(
            Verdict.POLICY_VIOLATION,
            f"All {quota.max_judged} submissions of the invitation are used: ask the maintainer for another one.",
        )


def _take(desk: Desk, case: Case, letter: Letter, seen: _Seen) -> StoredFate:
    """The fate of a letter that could be read; where it is a submission, that is stored.

    Raises:
        SubmissionFault: it is refused.
        JudgeFault: this machine is at fault.
    """
    case = _with_late_parts(desk, case, seen.parts)
    check_parts(seen.parts, case.slots, {slot: sent.n_bytes for slot, sent in case.objects.items()})
    seen.image_id = image_id = resolve_id(desk.settings, letter.image)
    if known := earlier_submission(desk.store, image_id):
        if known.arrival == _arrival(case, letter):  # another host's intake stored it at this moment
            return _submitted(case, letter, known, seen.parts, _own_layers(desk, letter, known))
        return _duplicate(case, letter, known, seen.parts)
    driver = desk.driver  # before anything travels, which without an engine would be in vain
    arrived = _fetch(desk, case, letter)
    if arrived.image_id != image_id:
        raise SubmissionFault(Verdict.IMAGE_INVALID, "The image is another one than a moment before: submit it again.")
    seen.layers = arrived.layers
    submission = _examine(desk, driver, letter, arrived, _arrival(case, letter))
    return _submitted(case, letter, submission, seen.parts, arrived.layers)


def _with_late_parts(desk: Desk, case: Case, parts: Sequence[SentPart]) -> Case:
    """The letter with all that is there now: a part may have come after the inbox was listed, but before its letter."""
    if {part.slot for part in parts} & case.slots <= case.objects.keys():
        return case
    objects = desk.inbox.objects(case.name)
    return case if isinstance(objects, Flood) else replace(case, objects=objects)


def _own_layers(desk: Desk, letter: Letter, own: Submission) -> tuple[str, ...]:
    """Diff IDs of the layers of a submission that is stored, as far as its letter alone tells them."""
    image = letter.image
    if not isinstance(image, UploadedImage) or resolve_id(desk.settings, image) != own.image.id:
        return ()
    return tuple(layer.diff_id for layer in image.layers)


def _fetch(desk: Desk, case: Case, letter: Letter) -> Arrived:
    """The image of a letter, verified, and kept in the judge's registry."""

    def part(wanted: SentPart) -> Iterator[bytes]:
        return desk.inbox.chunks(case.objects[wanted.slot])

    held = may_be_left_out(case.invited, desk.public)
    return arrive(desk.workspace, letter.image, held, part, desk.reporter.say, desk.driver.disks)


def _examine(desk: Desk, driver: Driver, letter: Letter, arrived: Arrived, arrival: Arrival) -> Submission:
    """The submission, which passed the preflight and is stored."""
    id = submission_id(letter.card.name, arrived.image_id)
    if desk.store.exists(submission_path(id)):  # of another image, whose ID begins with the same digits
        raise SubmissionFault(
            Verdict.IMAGE_INVALID, f"Another image is submitted as {id}: change anything in yours, and build it again."
        )
    image = pull_image(
        driver,
        arrived.mirror,
        arrived.image_id,
        arrived.size_bytes,
        desk.settings.min_free_bytes,
        desk.settings.registry_config,
    )
    asked = questions(letter.card, desk.gpu.uuid if desk.gpu else None)
    with desk.alone_on_gpu(), desk.reporter.unit(f"preflight of {plain(letter.card.name)}") as progress:
        outcome = run_preflight(driver, image, desk.settings.limits, asked, progress).outcome
    if outcome.value is None:
        tried = f" It was tried on {f'a GPU, {desk.gpu.name}' if desk.gpu else 'the CPU'}."
        raise SubmissionFault(outcome.verdict, outcome.sentence + tried, outcome.private)
    called = arrived.reference or letter.image.reference
    submission = make_submission(letter.author, letter.card, image, outcome.value, arrival, arrived.mirror)
    submission = submission.model_copy(update={"image": submission.image.model_copy(update={"reference": called})})
    if not store_submission(desk.store, submission, outcome.private):
        raise JudgeFault(FaultCause.CLAIM_LOST, f"{submission.id} was stored meanwhile by another intake")
    return submission


def _submitted(
    case: Case, letter: Letter, submission: Submission, parts: Sequence[SentPart], layers: tuple[str, ...]
) -> StoredFate:
    # Between the submission and its fate: whoever listens may kill us here, and must find both at the next intake.
    emit(Event.LETTER_TAKEN, submission=submission.id, key=f"{case.name}/{case.slot}")
    fate = _fate(case, letter, "submitted", submission.id)
    return StoredFate(fate=fate, parts=_slots(parts, case), image_id=submission.image.id, layers=layers)


def _duplicate(case: Case, letter: Letter, known: Submission, parts: Sequence[SentPart]) -> StoredFate:
    sentence = f"This image is submitted already, as {known.id}."
    if letter.card != known.card:
        sentence += " Its card is fixed: what the letter states otherwise was not taken. Build a new image for that."
    fate = _fate(case, letter, "duplicate", known.id, sentence)
    return StoredFate(fate=fate, parts=_slots(parts, case), image_id=known.image.id)


def _fate(case: Case, letter: Letter, came: str, submission: str, sentence: str = "") -> Fate:
    return Fate.model_validate(
        {
            "slot": case.slot,
            "received": case.sent.received,
            "came": came,
            "submission": submission,
            "name": letter.card.name,
            "sentence": sentence,
        }
    )


def _arrival(case: Case, letter: Letter) -> Arrival:
    return Arrival(by=letter.image.by, invitation=case.name, slot=case.slot)


def _slots(parts: Sequence[SentPart], case: Case) -> tuple[str, ...]:
    """The slots of `parts` that are of this invitation: a letter may name any, and is to use up none of another's."""
    return tuple(dict.fromkeys(part.slot for part in parts if part.slot in case.slots))
