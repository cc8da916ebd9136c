"""Invitations: made once, used up by decisions, with slots that follow from the secret alone."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.config import UsageError
from judge.intake.invitations import (
    MAX_OPEN_REQUESTS,
    Invitation,
    InvitationState,
    Revocation,
    StoredDecision,
    create_invitation,
    decision_key,
    part_slot,
    read_invitation,
    read_invitations,
    request_slot,
    revoke_invitation,
    upload_key,
)
from submissions.records import utc_now
from submissions.requests import SLOT, RequestDecision
from submissions.store.interface import Store, StoreError
from submissions.store.local import LocalStore

Outcome = Literal["submitted", "duplicate", "refused"]


def invitation(max_judged: int = 3, max_refused: int = 2, n_parts: int = 4, secret: str = "ab" * 32) -> Invitation:
    return Invitation(
        name="curie",
        secret=secret,
        created=utc_now(),
        max_judged=max_judged,
        max_refused=max_refused,
        n_parts=n_parts,
    )


def decide(slot: str, outcome: Outcome, parts: tuple[str, ...] = ()) -> StoredDecision:
    return StoredDecision(decision=RequestDecision(slot=slot, received=utc_now(), outcome=outcome), parts=parts)


def after(invited: Invitation, *outcome: Outcome) -> InvitationState:
    """The invitation after its first requests had these outcomes."""
    slots = [request_slot(invited, n) for n in range(len(outcome))]
    return InvitationState(
        invited, decisions={slot: decide(slot, each) for slot, each in zip(slots, outcome, strict=True)}
    )


def put(store: Store, invited: Invitation, stored: StoredDecision) -> None:
    assert store.put_if_absent(decision_key(invited, stored.decision.slot), stored.model_dump_json().encode())


def test_an_invitation_is_made_once_and_read_again(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    made = create_invitation(store, "curie", 3, 2, 4)
    assert read_invitations(store) == [InvitationState(made)]
    assert (made.max_judged, made.max_refused, made.n_parts) == (3, 2, 4)
    with pytest.raises(UsageError, match=r"judge invite curie --again"):
        create_invitation(store, "curie", 3, 2, 4)
    assert read_invitation(store, "curie").invitation == made


def test_of_many_who_invite_one_name_at_once_one_does(tmp_path: Path) -> None:
    def invite(n: int) -> Invitation | None:
        try:
            return create_invitation(LocalStore(tmp_path), "curie", n, 1, 0)
        except UsageError:
            return None

    with ThreadPoolExecutor(8) as pool:
        made = [each for each in pool.map(invite, range(1, 9)) if each]
    assert [each.invitation for each in read_invitations(LocalStore(tmp_path))] == made


def test_every_secret_is_256_bits_of_its_own(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    secrets = {create_invitation(store, f"author-{n}", 1, 1, 1).secret for n in range(20)}
    assert len(secrets) == 20
    assert all(len(bytes.fromhex(secret)) == 32 for secret in secrets)


@pytest.mark.parametrize("name", ["", "-a", "A", "a/b", "..", "a.b", "a b", "a\n", "ä", "a" * 41, "a_b", "a\x1b[31m"])
def test_other_names_are_refused_in_one_line_before_anything_is_written(name: str, tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    for act in (
        lambda: create_invitation(store, name, 1, 1, 1),
        lambda: read_invitation(store, name),
        lambda: revoke_invitation(store, name, "why"),
    ):
        with pytest.raises(UsageError) as raised:
            act()
        assert str(raised.value).isprintable()
    assert list(store.list("")) == []


def test_slots_follow_from_the_secret_and_a_number() -> None:
    first, second = invitation(), invitation(secret="cd" * 32)
    slots = [make(invited, n) for make in (request_slot, part_slot) for invited in (first, second) for n in range(50)]
    assert len(set(slots)) == 200
    assert all(re.match(SLOT, slot) for slot in slots)
    assert request_slot(first, 7) == request_slot(invitation(), 7)
    # Held against `printf 'request 0' | openssl dgst -sha256 -mac HMAC -macopt hexkey:abab…`.
    assert request_slot(first, 0) == "8753cc95e14d9ea0bda228159ee35e47"
    assert upload_key(first, slots[0]) == f"curie/{slots[0]}"


def test_only_what_was_taken_and_what_was_refused_counts() -> None:
    quota = after(invitation(9, 9), "submitted", "duplicate", "refused", "submitted").quota
    assert (quota.judged, quota.max_judged, quota.refused, quota.max_refused) == (2, 9, 1, 9)


@settings(max_examples=60, deadline=None)
@given(
    outcome=st.lists(st.sampled_from(["submitted", "duplicate", "refused"]), max_size=30),
    max_judged=st.integers(1, 25),
    max_refused=st.integers(1, 25),
    n_filled=st.integers(0, 30),
)
def test_there_are_as_many_open_slots_as_the_quota_leaves(
    outcome: list[Outcome], max_judged: int, max_refused: int, n_filled: int
) -> None:
    state = invitation(max_judged, max_refused)
    invited = after(state, *outcome)
    left = max_judged - outcome.count("submitted")
    if outcome.count("refused") >= max_refused or outcome.count("duplicate") >= max_judged + max_refused:
        left = 0
    assert len(invited.open_request_slots()) == max(0, min(left, MAX_OPEN_REQUESTS))
    assert not set(invited.open_request_slots()) & set(invited.decisions)
    assert bool(invited.open_part_slots()) == invited.is_open == (left > 0)
    filled = {request_slot(state, n) for n in range(n_filled)}
    offered = invited.open_request_slots(filled)
    assert not set(offered) & (filled | set(invited.decisions))
    waiting = len(filled - set(invited.decisions))  # each may still be taken, and so holds a place
    assert len(offered) == max(0, min(left - waiting, MAX_OPEN_REQUESTS))


def test_duplicates_have_a_bound_of_their_own() -> None:
    invited = invitation(max_judged=1, max_refused=2)
    assert after(invited, "duplicate", "duplicate").open_request_slots()
    done = after(invited, "duplicate", "duplicate", "duplicate")
    assert (done.is_exhausted, done.open_request_slots(), done.open_part_slots()) == (True, (), ())


def test_a_slot_for_a_part_that_a_request_named_is_never_opened_again() -> None:
    invited = invitation(n_parts=4)
    numbers = [part_slot(invited, n) for n in range(8)]
    assert InvitationState(invited).open_part_slots() == tuple(numbers[:4])
    slot = request_slot(invited, 0)
    used = InvitationState(invited, decisions={slot: decide(slot, "refused", parts=(numbers[0], numbers[2]))})
    assert used.open_part_slots() == (numbers[1], numbers[3], numbers[4], numbers[5])
    assert used.open_part_slots({numbers[3], numbers[7]}) == (numbers[1], numbers[4], numbers[5])


def test_an_invitation_without_parts_is_for_registries_alone() -> None:
    assert InvitationState(invitation(n_parts=0)).open_part_slots() == ()
    assert InvitationState(invitation(n_parts=0)).open_request_slots()


def test_what_was_revoked_is_closed_at_once_and_for_good(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    made = create_invitation(store, "curie", 3, 2, 4)
    put(store, made, decide(request_slot(made, 0), "submitted"))
    assert revoke_invitation(store, "curie", "left the project").reason == "left the project"
    invited = read_invitation(store, "curie")
    assert invited.revocation
    assert (invited.open_request_slots(), invited.open_part_slots(), invited.is_open) == ((), (), False)
    assert invited.quota.judged == 1  # what was taken stays
    with pytest.raises(UsageError, match=r"was revoked on .*: left the project"):
        revoke_invitation(store, "curie", "once more")
    with pytest.raises(UsageError, match="choose another name"):
        create_invitation(store, "curie", 3, 2, 4)


def test_nobody_who_was_not_invited_is_revoked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nobody is invited as curie"):
        revoke_invitation(LocalStore(tmp_path), "curie", "why")
    assert read_invitations(LocalStore(tmp_path)) == []


def test_decisions_are_read_with_their_invitation_and_of_no_other(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    curie, curie_2 = (create_invitation(store, name, 5, 5, 4) for name in ("curie", "curie-2"))
    refused, submitted = decide(request_slot(curie, 0), "refused"), decide(request_slot(curie_2, 0), "submitted")
    put(store, curie, refused)
    put(store, curie_2, submitted)
    assert [dict(each.decisions) for each in read_invitations(store)] == [
        {refused.decision.slot: refused},
        {submitted.decision.slot: submitted},
    ]
    assert read_invitation(store, "curie").decisions == {refused.decision.slot: refused}


@pytest.mark.parametrize("name", ["invitation.json", "revoked.json", "letters/" + "0" * 32 + ".json"])
def test_a_damaged_record_is_named_and_lets_nothing_pass(name: str, tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    create_invitation(store, "curie", 3, 2, 4)
    store.put(f"invitations/curie/{name}", b'{"schema_version": 1')
    with pytest.raises(StoreError, match=f"store: invitations/curie/{name}: content: "):
        read_invitations(store)


def test_an_invitation_that_was_copied_under_another_name_is_refused(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    create_invitation(store, "curie", 3, 2, 4)
    store.put("invitations/joliot/invitation.json", store.get("invitations/curie/invitation.json"))
    with pytest.raises(StoreError, match=r"invitations/joliot/invitation\.json is of curie"):
        read_invitations(store)


def test_a_revocation_says_when_and_why(tmp_path: Path) -> None:
    store, begin = LocalStore(tmp_path), utc_now()
    create_invitation(store, "curie", 3, 2, 4)
    revoke_invitation(store, "curie", "left")
    stored = Revocation.read(store.get("invitations/curie/revoked.json"))
    assert (stored.name, stored.reason) == ("curie", "left")
    assert begin <= stored.time <= utc_now()
