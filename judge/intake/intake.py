"""Intake: decides every submission request in the upload bucket, then writes every author's status and upload forms.

The oldest request of all senders is examined first, unless its invitation has used much time, it was delayed before, or
its registry is slow (`request_queue`). Three steps follow in this order: the submission is stored, the decision is
stored, the request and its parts are removed from the bucket. If an intake dies in between, the next one finds the
request again, and recognises the submission that is stored already.

If this machine is at fault there is no decision: the request stays, and the next intake examines it again; a few times
only, if no other request has the fault (`delays`). On one host only one intake runs at a time; a second one does
nothing. Two hosts with one store may do the same work, but there is only one submission and one decision, since each is
put if absent.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from judge.config import UsageError
from judge.images.mirror import open_mirror
from judge.images.transfer import Transfer
from judge.intake.bucket_listing import (
    FLOODED,
    list_bucket,
    part_slots,
    pending_in_order,
    remove_decided,
    remove_expired,
)
from judge.intake.decision import decide
from judge.intake.delays import delay
from judge.intake.examiner import Examiner, PendingRequest
from judge.intake.form_renewal import renew_forms
from judge.intake.invitations import InvitationState, StoredDecision, decision_key, read_invitations, refreshed
from judge.intake.request_queue import RequestQueue
from judge.intake.retry_queue import delayed_requests, forget_delayed
from judge.intake.reusable_layers import public_layers
from judge.intake.status import write_statuses
from judge.intake.summary import IntakeDecision, IntakeSummary
from judge.intake.upload_bucket import Uploads, open_upload_bucket
from judge.workspace import Workspace
from sandbox.events import Event, emit, plain
from sandbox.rundir import is_something_left, make_run_dir, run_dir_fault
from sandbox.verdict import JudgeFault
from submissions.progress import Reporter
from submissions.requests import RequestDecision
from submissions.settings import SETTINGS_FILE
from submissions.store.read_record import read_record

LOCK = "intake.lock"


def intake(workspace: Workspace, reporter: Reporter, gpus: Sequence[str] = ()) -> IntakeSummary:
    """Decides all pending requests; then every author gets a new status and new upload forms.

    Args:
        gpus: UUIDs; the preflights run on the first. Empty: as the setting `intake_gpu` says.

    Raises:
        UsageError: no upload bucket is set.
        ConfigError: no mirror is set, or the credentials for registries cannot be read.
        JudgeFault: the upload bucket or the store does not answer, or the run directory cannot be written. Earlier
            decisions are kept.
    """
    settings = workspace.settings
    if not settings.upload_bucket:
        raise UsageError(f'there is no upload bucket: set upload_bucket = "s3://BUCKET/PREFIX" in {SETTINGS_FILE}')
    open_mirror(workspace)  # first: without a mirror no request can be decided
    with _alone(settings.run_dir) as alone:
        if not alone:
            return IntakeSummary(elsewhere=True)
        return _intake(workspace, reporter, gpus)


def _intake(workspace: Workspace, reporter: Reporter, gpus: Sequence[str]) -> IntakeSummary:
    store, bucket = workspace.store, open_upload_bucket(workspace)
    examiner = Examiner(workspace, bucket, reporter, gpus, public_layers(store))
    _remove_orphans(examiner)
    states = {state.name: state for state in read_invitations(store)}
    uploads_of, flooded, notes = list_bucket(bucket, states)
    examiner.repositories = {
        name: state.invitation.repositories
        for name, state in states.items()
        if state.invitation.repositories and not state.revocation
    }
    for name in flooded:
        states[name] = replace(states[name], suspended=FLOODED)
    order = pending_in_order(states, uploads_of)
    if order:  # the decisions may take hours
        _write_to_authors(examiner, states)
    settings = workspace.settings
    queue = RequestQueue(order, delayed_requests(store), settings.intake_seconds, settings.intake_bytes)
    decisions = _decide_all(examiner, states, uploads_of, queue)
    for name, uploads in uploads_of.items():
        remove_decided(bucket, states[name], uploads)
        states[name] = remove_expired(workspace, bucket, states[name], uploads)
    _forget_delayed(examiner, states, uploads_of)
    written = _write_to_authors(examiner, states)
    return IntakeSummary(
        invitations=len(states),
        decisions=tuple(decisions),
        notes=(*notes, *queue.notes),
        flooded=flooded,
        status_written=written,
    )


def _remove_orphans(examiner: Examiner) -> None:
    """Removes containers of intakes that were killed. If the engine does not answer, the requests will say so."""
    if is_something_left(examiner.settings.run_dir):
        with suppress(JudgeFault):
            emit(Event.REAPED, count=examiner.driver.reap())


def _decide_all(
    examiner: Examiner,
    states: dict[str, InvitationState],
    uploads_of: Mapping[str, Uploads],
    queue: RequestQueue,
) -> list[IntakeDecision]:
    """The decisions; updates `states` and removes decided uploads."""
    decisions = []
    for place in queue:
        name, slot = place
        # Read again before each decision, which may take an hour: another host may have decided, or revoked it.
        state, uploads = refreshed(examiner.store, states[name]), uploads_of[name]
        states[name] = state
        if slot in state.decisions or state.is_exhausted:
            continue
        pending = _pending(examiner, state, slot, uploads, is_first_look=queue.is_first_look(place))
        transfer = pending.transfer
        stored = _decide_or_delay(examiner, pending)
        is_decided = isinstance(stored, StoredDecision)
        queue.used(name, time.monotonic() - transfer.start, transfer, is_delayed=not is_decided)
        if stored is None:
            queue.set_aside(place)
            continue
        if isinstance(stored, IntakeDecision):
            decisions.append(stored)
            continue
        states[name] = replace(state, decisions={**state.decisions, slot: stored})
        remove_decided(examiner.bucket, states[name], uploads)
        decisions.append(_of_invitation(name, stored.decision))
    return decisions


def _pending(
    examiner: Examiner, state: InvitationState, slot: str, uploads: Uploads, *, is_first_look: bool
) -> PendingRequest:
    transfer = Transfer(
        examiner.settings.intake_seconds,
        examiner.silent_hosts,
        examiner.slow_hosts,
        repositories=state.invitation.repositories,
        is_first_look=is_first_look,
    )
    return PendingRequest(state, slot, uploads[slot], part_slots(state) - state.used_part_slots, uploads, transfer)


def _decide_or_delay(examiner: Examiner, pending: PendingRequest) -> StoredDecision | IntakeDecision | None:
    """The decision about a request, stored; or that it is delayed, since this machine is at fault.

    None if its registry needs more time than a first look has.

    Raises:
        StoreError: the store does not answer.
    """
    try:
        return _store(examiner, pending, decide(examiner, pending))
    except JudgeFault as fault:
        if pending.transfer.is_too_slow:
            examiner.reporter.say(f"{pending.key}: its registry needs more time: examined after all others.")
            return None
        return _decided_elsewhere(examiner, pending) or _delay(examiner, pending, fault)


def _store(examiner: Examiner, pending: PendingRequest, stored: StoredDecision) -> StoredDecision:
    """The decision about a request, after it was stored; that of another host, if it was first.

    Raises:
        StoreError: the store does not answer.
    """
    key = decision_key(pending.invitation.invitation, pending.slot)
    if not examiner.store.put_if_absent(key, stored.model_dump_json(indent=1).encode()):
        stored = read_record(examiner.store, key, StoredDecision)  # another host's intake was first
    if stored.decision.outcome == "refused":
        # After the decision, before the request is removed: a listener may kill us here.
        emit(Event.REQUEST_REFUSED, key=pending.key, verdict=str(stored.decision.verdict))
    return stored


def _decided_elsewhere(examiner: Examiner, pending: PendingRequest) -> StoredDecision | None:
    """The decision of another host's intake, if there is one: its intake then also removed what is missing here.

    Raises:
        StoreError: the store does not answer.
    """
    key = decision_key(pending.invitation.invitation, pending.slot)
    return read_record(examiner.store, key, StoredDecision) if examiner.store.exists(key) else None


def _delay(examiner: Examiner, pending: PendingRequest, fault: JudgeFault) -> StoredDecision | IntakeDecision:
    """Delays a request that this machine could not examine, for the maintainer; its refusal after the last delay.

    Raises:
        StoreError: the store does not answer.
    """
    decision = delay(examiner, pending, fault)
    if isinstance(decision, StoredDecision):
        return _store(examiner, pending, decision)
    emit(Event.REQUEST_DELAYED, key=pending.key, fault=str(fault.cause))
    return _of_invitation(pending.invitation.name, decision).model_copy(
        update={"sentence": f"{fault.cause}: {fault.remedy}"}
    )


def _of_invitation(name: str, decision: RequestDecision) -> IntakeDecision:
    return IntakeDecision(invitation=name, **vars(decision))


def _forget_delayed(
    examiner: Examiner, states: Mapping[str, InvitationState], uploads_of: Mapping[str, Uploads]
) -> None:
    """Removes the records of delayed requests that are decided, or that are gone from the bucket."""
    for name, slot in delayed_requests(examiner.store):
        if name in uploads_of and (slot in states[name].decisions or slot not in uploads_of[name]):
            forget_delayed(examiner.store, name, slot)


def _write_to_authors(examiner: Examiner, states: dict[str, InvitationState]) -> bool:
    """True if every author has new upload forms and the present status. A line says what prevented it."""
    written = _write_forms(examiner, states)
    return write_statuses(examiner.workspace, say=examiner.reporter.say, states=list(states.values())) and written


def _write_forms(examiner: Examiner, states: dict[str, InvitationState]) -> bool:
    """True if every author has new upload forms; updates `states`. A line says what prevented it."""
    if not examiner.settings.status_bucket:
        return True
    try:
        for name, state in states.items():
            states[name], _ = renew_forms(examiner.workspace, examiner.bucket, state, examiner.public)
    except JudgeFault as fault:
        examiner.reporter.say(f"! Upload forms were not renewed: {plain(fault.remedy, 500)}")
        return False
    return True


@contextmanager
def _alone(run_dir: Path) -> Iterator[bool]:
    """True if no other intake of this host is running; none starts meanwhile.

    Raises:
        JudgeFault: the run directory cannot be written, or belongs to another user.
    """
    try:
        make_run_dir(run_dir)
        handle = os.open(run_dir / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise run_dir_fault(run_dir, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)
