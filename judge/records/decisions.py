"""Where a submission stands: taken out of the ranking or not, and which round of judging a task anew counts.

Nothing of it is a state that could be set: it follows from the events in the store, each signed, in the order of their
times. Whoever can write to the store but has no trusted key can make no event. Nothing in the events themselves tells
that one was deleted; every manifest names those there are, so that from the next publication on `judge verify` tells,
and `judge site publish` refuses. One that was deleted before is lost unseen.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple

from pydantic import AwareDatetime, Field, ValidationError

from judge.records.records import Signature
from judge.records.signing import FIELD, BadSignature, SigningKey, check_signature
from sandbox.events import Event, emit
from submissions.records import Record, Submission, utc_now
from submissions.store.interface import Store, StoreError

MAX_REASON = 500


class EventKind(StrEnum):
    """What a maintainer may decide about a submission."""

    WITHDRAWN = "withdrawn"
    DISQUALIFIED = "disqualified"
    REINSTATED = "reinstated"
    APPLIED = "applied"  # of some tasks, what was judged anew counts from now on


class RoundRecord(Record):
    """The round of one task that counts. The data set tells two suites apart that have tasks of one name."""

    task: str
    dataset: str
    round: int = Field(ge=1)


class StandingEvent(Record):
    """`submissions/<id>/events/<time>-<kind>-<token>.json`: who decided what, when and why.

    Args:
        submission: that it is about; signed with the rest, so that no event can be moved to another submission.
        who: the public part of the key that signed it.
        rounds: of an `applied` one.
    """

    schema_version: Literal[1] = 1
    kind: EventKind
    submission: str
    time: AwareDatetime
    who: str
    reason: str = Field(min_length=1, max_length=MAX_REASON)
    rounds: tuple[RoundRecord, ...] = ()
    signature: Signature | None = None


class TaskOf(NamedTuple):
    """One submission at one task of one data set."""

    submission: str
    task: str
    dataset: str


Rounds = Mapping[TaskOf, int]
"""The round that counts, where it is not the first."""
FIRST_ROUNDS: Rounds = MappingProxyType({})


@dataclass(frozen=True)
class Standing:
    """Where a submission stands.

    Args:
        out: the event that took it out of the ranking; None while it is in.
        rounds: that count, of its own tasks.
        last: when the last event was; None where there was none.
    """

    out: StandingEvent | None = None
    rounds: Rounds = field(default_factory=dict)
    last: datetime | None = None

    @property
    def in_words(self) -> str:
        """`withdrawn on 2026-01-02: why`; empty while it is in the ranking."""
        return f"{self.out.kind} on {self.out.time.astimezone(UTC):%Y-%m-%d}: {self.out.reason}" if self.out else ""


def standing_of(events: Mapping[str, StandingEvent]) -> Standing:
    """What follows from the events of one submission.

    Who was disqualified does not become merely withdrawn: only a reinstatement ends it.

    Args:
        events: by their keys in the store, which order those of equal time.
    """
    out: StandingEvent | None = None
    rounds: dict[TaskOf, int] = {}
    last: datetime | None = None
    for _, event in sorted(events.items(), key=lambda pair: (pair[1].time, pair[0])):
        last = event.time
        match event.kind:
            case EventKind.WITHDRAWN:
                out = out or event
            case EventKind.DISQUALIFIED:
                out = out if out and out.kind is EventKind.DISQUALIFIED else event
            case EventKind.REINSTATED:
                out = None
            case EventKind.APPLIED:
                rounds |= {TaskOf(event.submission, r.task, r.dataset): r.round for r in event.rounds}
    return Standing(out, rounds, last)


def read_standing(store: Store, submission: str, trusted: Collection[str] | None = None) -> Standing:
    """Where `submission` stands.

    Args:
        trusted: public keys, of which one must have signed each event; None: whoever did.

    Raises:
        StoreError: an event cannot be read, or nobody trusted signed it as it is; one line that names it.
    """
    prefix = _events_prefix(submission)
    return standing_of({key: _read(store, key, submission, trusted) for key in store.list(prefix)})


def read_standings(
    store: Store, submissions: Iterable[str], trusted: Collection[str] | None = None
) -> dict[str, Standing]:
    """Where each of `submissions` stands; as `read_standing`."""
    wanted = dict.fromkeys(submissions)
    if len(wanted) <= 1:
        return {submission: read_standing(store, submission, trusted) for submission in wanted}
    keys: dict[str, list[str]] = {}
    for key in store.list("submissions/"):  # once, and not for each: nearly none has any event
        _, submission, *rest = key.split("/")
        if rest[:1] == ["events"] and submission in wanted:
            keys.setdefault(submission, []).append(key)
    return {
        submission: standing_of({key: _read(store, key, submission, trusted) for key in keys.get(submission, ())})
        for submission in wanted
    }


def rounds_that_count(standings: Mapping[str, Standing]) -> Rounds:
    """The rounds that count, of all submissions."""
    return {task: number for standing in standings.values() for task, number in standing.rounds.items()}


def taken_out(submissions: Iterable[Submission], standings: Mapping[str, Standing]) -> list[str]:
    """A line for each of `submissions` that is not judged any more."""
    return [
        f"{s.id} was {standings[s.id].in_words} (judge reinstate {s.id})" for s in submissions if standings[s.id].out
    ]


def record_event(
    store: Store,
    key: SigningKey,
    kind: EventKind,
    submission: str,
    reason: str,
    *,
    rounds: Iterable[RoundRecord] = (),
    after: datetime | None = None,
) -> StandingEvent:
    """The event, signed and stored.

    Args:
        after: when the last event was: this one is later, whatever the two machines' clocks say.

    Raises:
        StoreError: it cannot be written.
    """
    time = utc_now() if after is None else max(utc_now(), after + timedelta(microseconds=1))
    event = key.sign(
        StandingEvent(kind=kind, submission=submission, time=time, who=key.public, reason=reason, rounds=tuple(rounds))
    )
    name = f"{time.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}-{kind}-{secrets.token_hex(4)}.json"
    path = _events_prefix(submission) + name
    if not store.put_if_absent(path, event.model_dump_json(indent=1).encode()):
        raise StoreError(f"store: {path} is there already: try again")
    emit(Event.EVENT_RECORDED, submission=submission, key=path, sentence=str(kind))
    return event


def _events_prefix(submission: str) -> str:
    return f"submissions/{submission}/events/"


def _read(store: Store, key: str, submission: str, trusted: Collection[str] | None) -> StandingEvent:
    try:
        data = store.get(key)
        event = StandingEvent.read(data)
        signer = check_signature(data, _stated_key(data) if trusted is None else trusted)
    except KeyError:
        raise StoreError(f"store: {key} is gone: restore it") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "content"
        raise StoreError(f"store: {key}: {where}: {first['msg']}: restore it") from None
    except BadSignature as error:
        raise StoreError(f"store: {key}: {error}; or restore it") from None
    if (event.submission, event.who) != (submission, signer):
        raise StoreError(f"store: {key} is not about {submission}, or {event.who[:16]}… did not sign it: restore it")
    return event


def _stated_key(data: bytes) -> list[str]:
    """The key that the signature itself names: asks only that nothing was changed since."""
    try:
        return [json.loads(data)[FIELD]["key"]]
    except (ValueError, KeyError, TypeError):
        return []
