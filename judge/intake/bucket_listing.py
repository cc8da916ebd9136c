"""The content of the upload bucket by invitation: which requests are pending, and which uploads are to be removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from judge.intake.expired_slots import record_expired
from judge.intake.invitations import InvitationState, part_slot, request_slot
from judge.intake.upload_bucket import MAX_VERSIONS, UploadBucket, Uploads
from judge.workspace import Workspace
from sandbox.events import plain
from submissions.records import utc_now

MAX_NAMED = 20
FLOODED = (
    "There are too many uploads with this invitation. The judge reads none and gives no upload forms until it has "
    "removed them. Anyone who has the invitation file can cause this: tell the maintainer."
)


class BucketListing(NamedTuple):
    """The content of the upload bucket.

    Args:
        uploads: by invitation, of those that are not flooded.
        flooded: names of the flooded invitations.
        notes: a line each about other content.
    """

    uploads: dict[str, Uploads]
    flooded: tuple[str, ...]
    notes: tuple[str, ...]


def list_bucket(bucket: UploadBucket, states: Mapping[str, InvitationState]) -> BucketListing:
    """The content of the upload bucket. Removes versions that do not count from flooded invitations.

    Args:
        states: all invitations, by name.

    Raises:
        StoreError: the bucket does not answer.
    """
    uploads_of: dict[str, Uploads] = {}
    flooded, notes = [], []
    unknown = [name for name in bucket.names() if name not in states]
    for name, state in states.items():
        uploads, slots = bucket.uploads(name), request_slots(state) | part_slots(state)
        if uploads is None:
            n_removed = bucket.thin_out(name, slots)
            flooded.append(name)
            notes.append(
                f"{name}: more than {MAX_VERSIONS} versions of objects: not read; {n_removed} that do not count were "
                f"removed; to end it: judge revoke {name} --reason WHY"
            )
            continue
        unknown += [f"{name}/{slot}" for slot in uploads if slot not in slots]
        uploads_of[name] = {slot: upload for slot, upload in uploads.items() if slot in slots}
    if unknown:
        more = f" and {len(unknown) - MAX_NAMED} more" if len(unknown) > MAX_NAMED else ""
        named = ", ".join(plain(key) for key in sorted(unknown)[:MAX_NAMED])
        notes.append(f"left in the upload bucket, since they are in no upload slot: {named}{more}")
    return BucketListing(uploads_of, tuple(flooded), tuple(notes))


def request_slots(state: InvitationState) -> frozenset[str]:
    """Every request slot that may ever have been open, also of an invitation that is used up or revoked."""
    n = len(state.decisions) + state.invitation.max_judged
    return frozenset(request_slot(state.invitation, i) for i in range(n))


def part_slots(state: InvitationState) -> frozenset[str]:
    """Every part slot that may ever have been open."""
    n = len(state.used_part_slots) + state.invitation.n_parts
    return frozenset(part_slot(state.invitation, i) for i in range(n))


def pending_in_order(states: Mapping[str, InvitationState], uploads_of: Mapping[str, Uploads]) -> list[tuple[str, str]]:
    """Invitation and slot of every request without a decision, the oldest first, for all senders together."""
    pending = [
        (uploads[slot].received, name, slot)
        for name, uploads in uploads_of.items()
        for slot in request_slots(states[name]) & uploads.keys()
        if slot not in states[name].decisions
    ]
    return [(name, slot) for _, name, slot in sorted(pending)]


def remove_decided(bucket: UploadBucket, state: InvitationState, uploads: Uploads) -> None:
    """Removes decided requests, their parts, and later uploads into the same slots.

    Raises:
        StoreError: the bucket does not answer.
    """
    decided = [slot for slot in uploads if slot in state.decisions or slot in state.used_part_slots]
    bucket.remove(uploads.pop(slot) for slot in decided)


def remove_expired(
    workspace: Workspace, bucket: UploadBucket, state: InvitationState, uploads: Uploads
) -> InvitationState:
    """Removes uploads that are older than two lifetimes of a form and will not be read; the invitation after that.

    These are parts that no request named: their slots expire. Of an invitation that takes no more requests, these are
    all uploads.

    Raises:
        StoreError: the bucket or the store does not answer.
    """
    oldest = utc_now() - 2 * timedelta(days=workspace.settings.form_days)
    old = [slot for slot, upload in uploads.items() if upload.received < oldest]
    if state.is_open:
        if request_slots(state) & uploads.keys():  # a delayed request may still name them
            return state
        for slot in old:
            record_expired(workspace.store, state.name, slot)
        state = replace(state, expired_slots=state.expired_slots.union(old))
    bucket.remove(uploads.pop(slot) for slot in old)
    return state
