"""Who may submit without an account: invitations, their slots, and how much of each is used.

`invitations/<name>/invitation.json` is written once, `revoked.json` beside it once, `letters/<slot>.json` once for each
letter that was taken or refused, and `spent/<slot>.json` once for each part that none of them named. What is used and
which slots are open follows from these alone.

A slot is named by the invitation's secret and a number, so that none has to be remembered, and none of an invitation
can be guessed by somebody who does not have it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import Literal

from pydantic import AwareDatetime, Field

from judge.config import UsageError
from judge.intake.expired_slots import spent_among
from judge.records.results import read_record
from sandbox.events import Event, emit, plain
from submissions.records import Record, utc_now
from submissions.requests import SLOT, Digest, Fate, Quota, Slot
from submissions.store.interface import Store, StoreError

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
MAX_OPEN_LETTERS = 10
MAX_SUBMISSIONS, MAX_PARTS = 10_000, 1000
_SECRET_BYTES = 32
_SECRET = r"^[0-9a-f]{64}$"


class Invitation(Record):
    """`invitations/<name>/invitation.json`.

    Args:
        secret: 256 bits; whoever has it reads the forms and the status, and may submit.
        max_judged: submissions that are taken.
        max_refused: letters that are refused, before no more are looked at.
        n_parts: slots for parts of images that are open at a time.
    """

    schema_version: Literal[1] = 1
    name: str = Field(pattern=f"^{NAME.pattern}$")
    secret: str = Field(pattern=_SECRET)
    created: AwareDatetime
    max_judged: int = Field(ge=1, le=MAX_SUBMISSIONS)
    max_refused: int = Field(ge=1, le=MAX_SUBMISSIONS)
    n_parts: int = Field(ge=0, le=MAX_PARTS)


class Revocation(Record):
    """`invitations/<name>/revoked.json`."""

    schema_version: Literal[1] = 1
    name: str
    time: AwareDatetime
    reason: str = Field(min_length=1)


class StoredFate(Record):
    """`invitations/<name>/letters/<slot>.json`: what became of a letter for good. A delayed one has none.

    Args:
        parts: slots of parts that the letter named, which are never opened again.
        image_id: where it came to be known.
        layers: diff IDs of the image, once all were verified: its author need not send them again.
    """

    schema_version: Literal[1] = 1
    fate: Fate
    parts: tuple[Slot, ...] = ()
    image_id: str = ""
    layers: tuple[Digest, ...] = ()


@dataclass(frozen=True)
class Invited:
    """An invitation, and what came of it.

    Args:
        fates: by the slots of their letters.
        spent: slots of parts that were removed, since no letter named them.
        halted: why nothing is looked at for now, though the invitation holds; for its author to read.
    """

    invitation: Invitation
    revocation: Revocation | None = None
    fates: Mapping[str, StoredFate] = field(default_factory=dict)
    spent: frozenset[str] = frozenset()
    halted: str = ""

    @property
    def quota(self) -> Quota:
        """What is used: duplicates count nowhere, and a letter that was delayed has no fate yet."""
        came = [stored.fate.came for stored in self.fates.values()]
        return Quota(
            max_judged=self.invitation.max_judged,
            judged=came.count("submitted"),
            max_refused=self.invitation.max_refused,
            refused=came.count("refused"),
        )

    @property
    def is_open(self) -> bool:
        """Whether letters are still looked at."""
        quota = self.quota
        held_up = self.revocation or self.halted
        return not held_up and quota.judged < quota.max_judged and not self.is_exhausted

    @property
    def is_exhausted(self) -> bool:
        """Whether so much came to nothing that no letter is looked at any more.

        Duplicates use up nothing of the quota. But each takes a slot and the judge's time, so they have a bound too.
        """
        quota = self.quota
        duplicates = sum(stored.fate.came == "duplicate" for stored in self.fates.values())
        return quota.refused >= quota.max_refused or duplicates >= quota.max_judged + quota.max_refused

    @property
    def slots(self) -> tuple[str, ...]:
        """The letter slots that are open now: as many as the quota leaves, but few at a time."""
        return self.open_slots(())

    @property
    def part_slots(self) -> tuple[str, ...]:
        """The slots for parts that are open now."""
        return self.open_part_slots(())

    def open_slots(self, filled: Collection[str]) -> tuple[str, ...]:
        """The letter slots that are open, without those that hold a letter already: it would be the one that counts."""
        if not self.is_open:
            return ()
        left = self.quota.max_judged - self.quota.judged
        free = (slot for slot in _numbered(self.invitation, "letter") if slot not in self.fates)
        return tuple(slot for slot in islice(free, left) if slot not in filled)[:MAX_OPEN_LETTERS]

    def open_part_slots(self, filled: Collection[str]) -> tuple[str, ...]:
        """The slots for parts that are open, without those that hold a part already."""
        if not self.is_open:
            return ()
        used = self.used_parts
        free = (slot for slot in _numbered(self.invitation, "part") if slot not in used)
        return tuple(slot for slot in islice(free, self.invitation.n_parts) if slot not in filled)

    @property
    def used_parts(self) -> frozenset[str]:
        """The slots of parts that a letter named whose fate is settled, and those that are spent."""
        return self.spent.union(slot for stored in self.fates.values() for slot in stored.parts)


def letter_slot(invitation: Invitation, n: int) -> str:
    """The slot of the `n`-th letter, from 0."""
    return _slot(invitation, "letter", n)


def part_slot(invitation: Invitation, n: int) -> str:
    """The slot of the `n`-th part, from 0."""
    return _slot(invitation, "part", n)


def inbox_key(invitation: Invitation, slot: str) -> str:
    """Where what fills a slot lies, below the prefix of the inbox."""
    return f"{invitation.name}/{slot}"


def fate_key(invitation: Invitation, slot: str) -> str:
    """Where the fate of a letter lies in the store."""
    return f"invitations/{invitation.name}/letters/{slot}.json"


def checked_name(name: str) -> str:
    """`name`, if an invitation can be called so.

    Raises:
        UsageError: it has other than lower-case letters, digits and dashes, or is too long.
    """
    if not NAME.fullmatch(name):
        rule = "lower-case letters, digits and dashes, at most 40, a letter or digit first"
        raise UsageError(f"{plain(name)!r} cannot name an invitation: {rule}")
    return name


def create_invitation(store: Store, name: str, max_judged: int, max_refused: int, n_parts: int) -> Invitation:
    """The invitation of that name, with a secret of its own, stored.

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
    )
    if not store.put_if_absent(_invitation_key(name), invitation.model_dump_json(indent=1).encode()):
        if read_invitation(store, name).revocation:
            raise UsageError(f"{name} was revoked, and an address that was given away stays so: choose another name")
        raise UsageError(f"{name} is invited already: to have the file again, judge invite {name} --again")
    emit(Event.INVITED, key=_invitation_key(name))
    return invitation


def revoke_invitation(store: Store, name: str, reason: str) -> Revocation:
    """The revocation of the invitation of that name, stored.

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


def read_invitation(store: Store, name: str) -> Invited:
    """The invitation of that name.

    Raises:
        UsageError: there is none.
        StoreError: a record of it cannot be read; one line that names it.
    """
    keys = set(store.list(f"invitations/{checked_name(name)}/"))
    if _invitation_key(name) not in keys:
        raise UsageError(f"nobody is invited as {name}: see judge invitations")
    return _read_invited(store, name, keys)


def read_again(store: Store, invited: Invited) -> Invited:
    """The same invitation as it is now; of its fates those are read that came since.

    Raises:
        StoreError: a record of it cannot be read; one line that names it.
    """
    name = invited.invitation.name
    now = _read_invited(store, name, set(store.list(f"invitations/{name}/")), invited)
    return replace(now, halted=invited.halted)


def read_invitations(store: Store) -> list[Invited]:
    """All invitations, by name.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    keys_of: dict[str, set[str]] = {}
    for key in store.list("invitations/"):
        keys_of.setdefault(key.split("/")[1], set()).add(key)
    return [_read_invited(store, name, keys) for name, keys in sorted(keys_of.items()) if _invitation_key(name) in keys]


def _read_invited(store: Store, name: str, keys: Collection[str], known: Invited | None = None) -> Invited:
    invitation = known.invitation if known else read_record(store, _invitation_key(name), Invitation)
    if invitation.name != name:  # one that was copied would have the slots of another, and a quota of its own
        raise StoreError(f"store: {_invitation_key(name)} is of {invitation.name}: restore it")
    revocation = read_record(store, _revocation_key(name), Revocation) if _revocation_key(name) in keys else None
    fates = dict(known.fates) if known else {}
    for key in sorted(keys):
        slot = key.rpartition("/")[2].removesuffix(".json")
        if slot not in fates and re.match(SLOT, slot) and key == fate_key(invitation, slot):
            fates[slot] = read_record(store, key, StoredFate)
    return Invited(invitation, revocation, fates, spent_among(name, keys))


def _invitation_key(name: str) -> str:
    return f"invitations/{name}/invitation.json"


def _revocation_key(name: str) -> str:
    return f"invitations/{name}/revoked.json"


def _numbered(invitation: Invitation, kind: Literal["letter", "part"]) -> Iterator[str]:
    return (_slot(invitation, kind, n) for n in count())


def _slot(invitation: Invitation, kind: Literal["letter", "part"], n: int) -> str:
    message = f"{kind} {n}".encode()
    return hmac.new(bytes.fromhex(invitation.secret), message, hashlib.sha256).hexdigest()[:32]
