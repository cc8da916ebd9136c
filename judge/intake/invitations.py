"""Who may submit without an account on this machine: invitations, their upload slots, and how much of each is used.

The records of an invitation are in `invitations/<name>/`. Each is written once:

- `invitation.json`, and `revoked.json` if the invitation was revoked;
- `letters/<slot>.json`: the decision about a submission request;
- `spent/<slot>.json`: an expired part slot.

These records alone tell which slots are open and how much of the quota is used.

The ID of a slot is a keyed hash of a number, and the key is the invitation's secret. So no slot has to be stored, and
nobody who does not hold the invitation can guess one.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import ClassVar, Literal

from pydantic import AwareDatetime, Field

from judge.config import UsageError
from judge.intake.expired_slots import expired_among
from sandbox.events import Event, emit, plain
from submissions.records import Fields, Record, utc_now
from submissions.requests import SLOT, Digest, Quota, RequestDecision, SlotId
from submissions.store.interface import Store, StoreError
from submissions.store.read_record import read_record

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
MAX_OPEN_REQUESTS = 10
MAX_SUBMISSIONS, MAX_PARTS = 10_000, 1000
MAX_JUDGED, MAX_REFUSED, N_PARTS = 20, 20, 64  # of `judge invite`
_SECRET_BYTES = 32
_SECRET = r"^[0-9a-f]{64}$"
_SlotKind = Literal["letter", "part"]  # is hashed into the slot's ID: "letter" is for submission requests


def _invitation_2(fields: Fields) -> Fields:
    """In version 1 the judge's credential read any repository for anybody."""
    return {**fields, "schema_version": 2, "repositories": None}


class Invitation(Record):
    """`invitations/<name>/invitation.json`.

    Args:
        secret: 256 bits. Anyone who has it can read the forms and the status, and can submit.
        max_judged: how many submissions are taken.
        max_refused: after how many refused requests no more are read.
        n_parts: how many part slots are open at a time.
        repositories: `HOST` or `HOST/PATH`, see `judge.intake.ownership`; None: any, of an invitation of version 1.
    """

    upgrades: ClassVar[Mapping[int, Callable[[Fields], Fields]]] = {1: _invitation_2}
    schema_version: Literal[2] = 2
    name: str = Field(pattern=f"^{NAME.pattern}$")
    secret: str = Field(pattern=_SECRET)
    created: AwareDatetime
    max_judged: int = Field(ge=1, le=MAX_SUBMISSIONS)
    max_refused: int = Field(ge=1, le=MAX_SUBMISSIONS)
    n_parts: int = Field(ge=0, le=MAX_PARTS)
    repositories: tuple[str, ...] | None = ()


class Revocation(Record):
    """`invitations/<name>/revoked.json`."""

    schema_version: Literal[1] = 1
    name: str
    time: AwareDatetime
    reason: str = Field(min_length=1)


class StoredDecision(Record):
    """`invitations/<name>/letters/<slot>.json`: a final decision. A delayed request has none.

    Args:
        parts: part slots that the request named; they are never opened again.
        image_id: empty if it is not known.
        layers: diff IDs of the image's layers, once all were verified: its author need not send them again.
    """

    schema_version: Literal[1] = 1
    decision: RequestDecision = Field(alias="fate")
    parts: tuple[SlotId, ...] = ()
    image_id: str = ""
    layers: tuple[Digest, ...] = ()


@dataclass(frozen=True)
class InvitationState:
    """An invitation with everything that was recorded about it.

    Args:
        decisions: by the slots of their requests.
        expired_slots: part slots whose part was removed, since no request named it.
        suspended: why no request is read for now, though the invitation is valid; for its author to read.
    """

    invitation: Invitation
    revocation: Revocation | None = None
    decisions: Mapping[str, StoredDecision] = field(default_factory=dict)
    expired_slots: frozenset[str] = frozenset()
    suspended: str = ""

    @property
    def name(self) -> str:
        return self.invitation.name

    @property
    def quota(self) -> Quota:
        """How much is used. Duplicates do not count, and a delayed request has no decision yet."""
        outcomes = [stored.decision.outcome for stored in self.decisions.values()]
        return Quota(
            max_judged=self.invitation.max_judged,
            judged=outcomes.count("submitted"),
            max_refused=self.invitation.max_refused,
            refused=outcomes.count("refused"),
        )

    @property
    def is_open(self) -> bool:
        """True if requests are still read."""
        quota = self.quota
        blocked = self.revocation or self.suspended
        return not blocked and quota.judged < quota.max_judged and not self.is_exhausted

    @property
    def is_exhausted(self) -> bool:
        """True if so many requests were refused, or were duplicates, that no more are read.

        Duplicates are not part of the quota. But each takes a slot and the judge's time, so they have a limit too.
        """
        quota = self.quota
        duplicates = sum(stored.decision.outcome == "duplicate" for stored in self.decisions.values())
        return quota.refused >= quota.max_refused or duplicates >= quota.max_judged + quota.max_refused

    def open_request_slots(self, filled: Collection[str] = ()) -> tuple[str, ...]:
        """The request slots that are open: as many as the quota leaves, but few at a time.

        Args:
            filled: slots that hold a request already, which is the one that counts. They are left out.
        """
        if not self.is_open:
            return ()
        left = self.quota.max_judged - self.quota.judged
        free = (slot for slot in _slots(self.invitation, "letter") if slot not in self.decisions)
        return tuple(slot for slot in islice(free, left) if slot not in filled)[:MAX_OPEN_REQUESTS]

    def open_part_slots(self, filled: Collection[str] = ()) -> tuple[str, ...]:
        """The part slots that are open, but for those that are `filled` already."""
        if not self.is_open:
            return ()
        used = self.used_part_slots
        free = (slot for slot in _slots(self.invitation, "part") if slot not in used)
        return tuple(slot for slot in islice(free, self.invitation.n_parts) if slot not in filled)

    @property
    def used_part_slots(self) -> frozenset[str]:
        """The part slots that a decided request named, and those that have expired."""
        return self.expired_slots.union(slot for stored in self.decisions.values() for slot in stored.parts)


def request_slot(invitation: Invitation, n: int) -> str:
    """The `n`-th request slot, from 0."""
    return _slot(invitation, "letter", n)


def part_slot(invitation: Invitation, n: int) -> str:
    """The `n`-th part slot, from 0."""
    return _slot(invitation, "part", n)


def upload_key(invitation: Invitation, slot: str) -> str:
    """The key of a slot's content in the upload bucket, below the bucket's prefix."""
    return f"{invitation.name}/{slot}"


def decision_key(invitation: Invitation, slot: str) -> str:
    """The key of a decision in the store."""
    return f"invitations/{invitation.name}/letters/{slot}.json"


def checked_name(name: str) -> str:
    """`name`, if it can be the name of an invitation.

    Raises:
        UsageError: it has other characters than lower-case letters, digits and dashes, or is too long.
    """
    if not NAME.fullmatch(name):
        rule = "lower-case letters, digits and dashes, at most 40, a letter or digit first"
        raise UsageError(f"{plain(name)!r} cannot name an invitation: {rule}")
    return name


def create_invitation(
    store: Store, name: str, max_judged: int, max_refused: int, n_parts: int, repositories: tuple[str, ...] = ()
) -> Invitation:
    """A new invitation with a secret of its own, stored.

    Raises:
        UsageError: there is one of that name.
        StoreError: it cannot be written.
    """
    invitation = Invitation(
        name=checked_name(name),
        secret=secrets.token_hex(_SECRET_BYTES),
        created=utc_now(),
        max_judged=max_judged,
        max_refused=max_refused,
        n_parts=n_parts,
        repositories=repositories,
    )
    if not store.put_if_absent(_invitation_key(name), invitation.model_dump_json(indent=1).encode()):
        if read_invitation(store, name).revocation:
            raise UsageError(f"{name} was revoked, and its address stays revoked: choose another name")
        raise UsageError(f"{name} is invited already: to have the file again, judge invite {name} --again")
    emit(Event.INVITED, key=_invitation_key(name))
    return invitation


def revoke_invitation(store: Store, name: str, reason: str) -> Revocation:
    """The revocation of an invitation, stored.

    Raises:
        UsageError: there is no such invitation, or it was revoked before.
        StoreError: it cannot be written.
    """
    if earlier := read_invitation(store, name).revocation:
        raise UsageError(f"{name} was revoked on {earlier.time:%Y-%m-%d}: {earlier.reason}")
    revocation = Revocation(name=name, time=utc_now(), reason=reason)
    if not store.put_if_absent(_revocation_key(name), revocation.model_dump_json(indent=1).encode()):
        raise UsageError(f"{name} was revoked at this moment by somebody else: see judge invitations")
    emit(Event.REVOKED, key=_revocation_key(name))
    return revocation


def read_invitation(store: Store, name: str) -> InvitationState:
    """The invitation of that name.

    Raises:
        UsageError: there is none.
        StoreError: one of its records cannot be read; one line that names it.
    """
    keys = set(store.list(f"invitations/{checked_name(name)}/"))
    if _invitation_key(name) not in keys:
        raise UsageError(f"nobody is invited as {name}: see judge invitations")
    return _read_state(store, name, keys)


def refreshed(store: Store, state: InvitationState) -> InvitationState:
    """The same invitation as it is now; only new decisions are read.

    Raises:
        StoreError: one of its records cannot be read; one line that names it.
    """
    now = _read_state(store, state.name, set(store.list(f"invitations/{state.name}/")), state)
    return replace(now, suspended=state.suspended)


def read_invitations(store: Store) -> list[InvitationState]:
    """All invitations, by name.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    keys_of: dict[str, set[str]] = {}
    for key in store.list("invitations/"):
        keys_of.setdefault(key.split("/")[1], set()).add(key)
    return [_read_state(store, name, keys) for name, keys in sorted(keys_of.items()) if _invitation_key(name) in keys]


def _read_state(
    store: Store, name: str, keys: Collection[str], known: InvitationState | None = None
) -> InvitationState:
    invitation = known.invitation if known else read_record(store, _invitation_key(name), Invitation)
    if invitation.name != name:  # a copied record would have another invitation's slots, and a quota of its own
        raise StoreError(f"store: {_invitation_key(name)} is of {invitation.name}: restore it")
    revocation = read_record(store, _revocation_key(name), Revocation) if _revocation_key(name) in keys else None
    decisions = dict(known.decisions) if known else {}
    for key in sorted(keys):
        slot = key.rpartition("/")[2].removesuffix(".json")
        if slot not in decisions and re.match(SLOT, slot) and key == decision_key(invitation, slot):
            decisions[slot] = read_record(store, key, StoredDecision)
    return InvitationState(invitation, revocation, decisions, expired_among(name, keys))


def _invitation_key(name: str) -> str:
    return f"invitations/{name}/invitation.json"


def _revocation_key(name: str) -> str:
    return f"invitations/{name}/revoked.json"


def _slots(invitation: Invitation, kind: _SlotKind) -> Iterator[str]:
    return (_slot(invitation, kind, n) for n in count())


def _slot(invitation: Invitation, kind: _SlotKind, n: int) -> str:
    message = f"{kind} {n}".encode()
    return hmac.new(bytes.fromhex(invitation.secret), message, hashlib.sha256).hexdigest()[:32]
