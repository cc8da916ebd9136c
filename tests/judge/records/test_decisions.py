"""Decisions about a submission follow from signed events, in the order of their times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.records.decisions import (
    DecisionEvent,
    Decisions,
    EventKind,
    RoundRecord,
    SubmissionTask,
    decisions_from,
    read_decisions,
    record_event,
)
from judge.records.signing import SigningKey
from submissions.store.interface import StoreError, check_key
from submissions.store.local import LocalStore
from tests.judge.records.decision_events import KEY, MODEL, a_round
from tests.world.board_records import NOON


def event(kind: EventKind, minute: int = 0, reason: str = "why", rounds: tuple[RoundRecord, ...] = ()) -> DecisionEvent:
    time = NOON + timedelta(minutes=minute)
    return DecisionEvent(kind=kind, submission=MODEL, time=time, who=KEY.public, reason=reason, rounds=rounds)


def decisions(kinds: Sequence[EventKind]) -> Decisions:
    return decisions_from({f"e{n}": event(kind, n) for n, kind in enumerate(kinds)})


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


KINDS = st.lists(st.sampled_from(list(EventKind)), max_size=8)


@given(KINDS)
def test_who_is_reinstated_last_is_in_the_ranking_and_who_is_out_stays_out(kinds: list[EventKind]) -> None:
    assert decisions([*kinds, EventKind.REINSTATED]).removal is None
    out = decisions([*kinds, EventKind.DISQUALIFIED, EventKind.WITHDRAWN, EventKind.APPLIED]).removal
    assert out is not None
    assert out.kind is EventKind.DISQUALIFIED


@given(KINDS.flatmap(lambda kinds: st.permutations(list(enumerate(kinds)))))
def test_the_order_of_events_is_that_of_their_times_however_they_are_listed(kinds: list[tuple[int, EventKind]]) -> None:
    listed = {f"e{n}": event(kind, n, reason=f"{n}") for n, kind in kinds}
    assert decisions_from(listed) == decisions_from(dict(sorted(listed.items())))


def test_events_of_one_time_are_ordered_by_their_keys() -> None:
    out, back = event(EventKind.WITHDRAWN), event(EventKind.REINSTATED)
    assert decisions_from({"a": out, "b": back}).removal is None
    assert decisions_from({"b": out, "a": back}).removal == out


def test_the_round_applied_last_counts_for_each_task_on_its_own() -> None:
    first = event(EventKind.APPLIED, 1, rounds=(a_round(1), a_round(1, "nickel")))
    second = event(EventKind.APPLIED, 2, rounds=(a_round(2),))
    assert decisions_from({"b": second, "a": first}).rounds == {
        SubmissionTask(MODEL, "copper", "copper@1"): 2,
        SubmissionTask(MODEL, "nickel", "nickel@1"): 1,
    }


def test_an_event_is_stored_signed_under_a_key_that_every_store_takes(store: LocalStore) -> None:
    made = record_event(store, KEY, EventKind.APPLIED, MODEL, "a better GPU", rounds=(a_round(1),))
    (key,) = store.list("submissions/")
    assert check_key(key) == key
    assert key.startswith(f"submissions/{MODEL}/events/2")
    assert "-applied-" in key
    assert DecisionEvent.read(store.get(key)) == made
    assert made.who == KEY.public
    assert read_decisions(store, MODEL, {KEY.public}).rounds == {SubmissionTask(MODEL, "copper", "copper@1"): 1}


def test_an_event_is_later_than_the_one_before_whatever_the_clock_says(store: LocalStore) -> None:
    first = record_event(store, KEY, EventKind.WITHDRAWN, MODEL, "w")
    ahead = first.time + timedelta(days=1)
    second = record_event(store, KEY, EventKind.REINSTATED, MODEL, "r", after=ahead)
    assert second.time > ahead
    third = record_event(store, KEY, EventKind.WITHDRAWN, MODEL, "w", after=read_decisions(store, MODEL).last_time)
    assert read_decisions(store, MODEL).removal == third


def tampered(store: LocalStore, change: dict[str, object]) -> str:
    """The key of a withdrawal that was changed after it was signed."""
    record_event(store, KEY, EventKind.WITHDRAWN, MODEL, "why")
    (key,) = store.list("submissions/")
    store.put(key, json.dumps({**json.loads(store.get(key)), **change}).encode())
    return key


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"kind": "reinstated"}, "changed after it was signed"),
        ({"reason": "another"}, "changed after it was signed"),
        ({"signature": None}, "not signed"),
        ({"schema_version": 2}, "schema_version"),
        ({"kind": "forgiven"}, "kind"),
        ({"more": 1}, "more"),
    ],
)
def test_an_event_that_was_changed_is_named_in_one_line(
    store: LocalStore, change: dict[str, object], complaint: str
) -> None:
    key = tampered(store, change)
    for trusted in ({KEY.public}, None):
        with pytest.raises(StoreError, match=complaint) as raised:
            read_decisions(store, MODEL, trusted)
        assert key in raised.value.remedy
        assert "\n" not in raised.value.remedy


def test_an_event_counts_only_from_a_trusted_key_and_only_for_its_own_submission(store: LocalStore) -> None:
    record_event(store, SigningKey(b"s" * 32), EventKind.REINSTATED, MODEL, "by a stranger")
    with pytest.raises(StoreError, match="not trusted: judge keys trust"):
        read_decisions(store, MODEL, {KEY.public})
    (key,) = store.list("submissions/")
    store.put(key.replace(MODEL, "other-0123456789ab"), store.get(key))
    with pytest.raises(StoreError, match="is not about other-0123456789ab"):
        read_decisions(store, "other-0123456789ab")


def test_a_broken_event_is_named(store: LocalStore) -> None:
    key = f"submissions/{MODEL}/events/x.json"
    store.put(key, b"{")
    with pytest.raises(StoreError, match=key):
        read_decisions(store, MODEL)
