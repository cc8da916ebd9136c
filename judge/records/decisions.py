"""Decisions about a submission: whether it is in the ranking, and which round of judging a task counts.

No state is stored. The decisions follow from signed events in the store, in the order of their times. A person who can
write to the store but has no trusted key cannot make an event. Every manifest lists the events. If an event is deleted
after a publication, `judge verify` reports it and `judge site publish` refuses. If it is deleted before the first
publication, nobody can detect that.
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
    APPLIED = "applied"  # the new round of some tasks counts from now on


class RoundRecord(Record):
    """The round of one task that counts. The data set tells tasks of one name in two suites apart."""

    task: str
    dataset: str
    round: int = Field(ge=1)


class DecisionEvent(Record):
    """`submissions/<id>/events/<time>-<kind>-<token>.json`: who decided what, when and why.

    Args:
        submission: signed with the rest, so that an event cannot be moved to another submission.
        who: the public part of the key that signed the event.
        rounds: of an `applied` event.
    """

    schema_version: Literal[1] = 1
    kind: EventKind
    submission: str
    time: AwareDatetime
    who: str
    reason: str = Field(min_length=1, max_length=MAX_REASON)
    rounds: tuple[RoundRecord, ...] = ()
    signature: Signature | None = None


class SubmissionTask(NamedTuple):
    """One submission at one task of one data set."""

    submission: str
    task: str
    dataset: str


Rounds = Mapping[SubmissionTask, int]
"""The round that counts, where it is not the first."""
FIRST_ROUNDS: Rounds = MappingProxyType({})


@dataclass(frozen=True)
class Decisions:
    """What a maintainer decided about a submission.

    Args:
        removal: the event that took it out of the ranking; None while it is in.
        rounds: that count, of its own tasks.
        last_time: of the last event; None if there is none.
    """

    removal: DecisionEvent | None = None
    rounds: Rounds = field(default_factory=dict)
    last_time: datetime | None = None

    @property
    def in_words(self) -> str:
        """`withdrawn on 2026-01-02: why`; empty while it is in the ranking."""
        if self.removal is None:
            return ""
        return f"{self.removal.kind} on {self.removal.time.astimezone(UTC):%Y-%m-%d}: {self.removal.reason}"


def decisions_from(events: Mapping[str, DecisionEvent]) -> Decisions:
    """The decisions that follow from the events of one submission.

    A withdrawal does not replace a disqualification: only a reinstatement ends it.

    Args:
        events: by their keys in the store, which order events of equal time.
    """
    removal: DecisionEvent | None = None
    rounds: dict[SubmissionTask, int] = {}
    last_time: datetime | None = None
    for _, event in sorted(events.items(), key=lambda pair: (pair[1].time, pair[0])):
        last_time = event.time
        match event.kind:
            case EventKind.WITHDRAWN:
                removal = removal or event
            case EventKind.DISQUALIFIED:
                removal = removal if removal and removal.kind is EventKind.DISQUALIFIED else event
            case EventKind.REINSTATED:
                removal = None
            case EventKind.APPLIED:
                rounds |= {SubmissionTask(event.submission, r.task, r.dataset): r.round for r in event.rounds}
    return Decisions(removal, rounds, last_time)


def read_decisions(store: Store, submission: str, trusted: Collection[str] | None = None) -> Decisions:
    """The decisions about `submission`.

    Args:
        trusted: public keys; one of them must have signed each event; None: any key may have.

    Raises:
        StoreError: an event cannot be read, or nobody trusted signed it as it is; one line that names it.
    """
    return read_all_decisions(store, [submission], trusted)[submission]


def read_all_decisions(
    store: Store, submissions: Iterable[str], trusted: Collection[str] | None = None
) -> dict[str, Decisions]:
    """The decisions about each of `submissions`; as `read_decisions`."""
    keys: dict[str, list[str]] = {submission: [] for submission in submissions}
    # One listing for several submissions: nearly none has an event.
    folder = _events_prefix(next(iter(keys))) if len(keys) == 1 else "submissions/"
    for key in store.list(folder) if keys else ():
        _, submission, *rest = key.split("/")
        if rest[:1] == ["events"] and submission in keys:
            keys[submission].append(key)
    return {
        submission: decisions_from({key: _read(store, key, submission, trusted) for key in events})
        for submission, events in keys.items()
    }


def rounds_that_count(decisions_by_id: Mapping[str, Decisions]) -> Rounds:
    """The rounds that count, of all submissions."""
    return {task: number for decisions in decisions_by_id.values() for task, number in decisions.rounds.items()}


def removed_lines(submissions: Iterable[Submission], decisions_by_id: Mapping[str, Decisions]) -> list[str]:
    """A line for each of `submissions` that is no longer in the ranking."""
    removed = [(s.id, decisions_by_id[s.id]) for s in submissions if decisions_by_id[s.id].removal]
    return [f"{id} was {decisions.in_words} (judge reinstate {id})" for id, decisions in removed]


def record_event(
    store: Store,
    key: SigningKey,
    kind: EventKind,
    submission: str,
    reason: str,
    *,
    rounds: Iterable[RoundRecord] = (),
    after: datetime | None = None,
) -> DecisionEvent:
    """The event, signed and stored.

    Args:
        after: time of the last event. This event gets a later time, even if this machine's clock is behind.

    Raises:
        StoreError: it cannot be written.
    """
    time = utc_now() if after is None else max(utc_now(), after + timedelta(microseconds=1))
    event = key.sign(
        DecisionEvent(kind=kind, submission=submission, time=time, who=key.public, reason=reason, rounds=tuple(rounds))
    )
    name = f"{time.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}-{kind}-{secrets.token_hex(4)}.json"
    path = _events_prefix(submission) + name
    if not store.put_if_absent(path, event.model_dump_json(indent=1).encode()):
        raise StoreError(f"store: {path} is there already: try again")
    emit(Event.EVENT_RECORDED, submission=submission, key=path, sentence=str(kind))
    return event


def _events_prefix(submission: str) -> str:
    return f"submissions/{submission}/events/"


def _read(store: Store, key: str, submission: str, trusted: Collection[str] | None) -> DecisionEvent:
    try:
        data = store.get(key)
        event = DecisionEvent.read(data)
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
    """The key that the signature itself names: then only the content is checked."""
    try:
        return [json.loads(data)[FIELD]["key"]]
    except (ValueError, KeyError, TypeError):
        return []
