"""Which layers an author may leave out: the author's own and public ones, but never those of others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.intake.invitations import Invitation, InvitationState, StoredDecision
from judge.intake.reusable_layers import PublicLayer, declare_public, omittable_layers, public_layers
from sandbox.verdict import JudgeFault
from submissions.records import utc_now
from submissions.requests import RequestDecision
from submissions.store.local import LocalStore

DIFF = [f"sha256:{n:064x}" for n in range(8)]
CAME = ("submitted", "duplicate", "refused", "delayed")


def invited(name: str, *decisions: tuple[str, tuple[str, ...]]) -> InvitationState:
    """An invitation whose requests had these outcomes, with images of these layers."""
    invitation = Invitation(name=name, secret="0" * 64, created=utc_now(), max_judged=5, max_refused=5, n_parts=5)
    stored = {}
    for n, (outcome, layers) in enumerate(decisions):
        decision = RequestDecision.model_validate({"slot": f"{n:032x}", "received": utc_now(), "came": outcome})
        stored[decision.slot] = StoredDecision(decision=decision, layers=layers)
    return InvitationState(invitation, None, stored)


def test_the_own_layers_and_the_public_ones(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    assert declare_public(store, "debian:12", [DIFF[0], DIFF[1], DIFF[0]]) == 2
    assert declare_public(store, "python:3.11", [DIFF[1], DIFF[2]]) == 1
    public = public_layers(store)
    assert [(layer.diff_id, layer.image) for layer in public] == [
        (DIFF[0], "debian:12"),
        (DIFF[1], "debian:12"),
        (DIFF[2], "python:3.11"),
    ]
    alice = invited("alice", ("submitted", (DIFF[3],)), ("submitted", (DIFF[4], DIFF[0])))
    assert omittable_layers(alice, public) == {*DIFF[:3], DIFF[3], DIFF[4]}
    assert omittable_layers(invited("bob"), public) == set(DIFF[:3])


@given(st.lists(st.tuples(st.sampled_from(CAME), st.lists(st.sampled_from(DIFF)).map(tuple)), max_size=4))
def test_only_what_was_verified_gives_a_layer(decisions: list[tuple[str, tuple[str, ...]]]) -> None:
    """The layers of a duplicate were not sent: else a request could open the layers of any image that it names."""
    taken = {layer for outcome, layers in decisions if outcome in ("submitted", "refused") for layer in layers}
    assert omittable_layers(invited("alice", *decisions), ()) == taken


def test_a_broken_record_is_named(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    declare_public(store, "debian:12", DIFF[:1])
    (key,) = store.list("layers-public/")
    store.put(key, b"{}")
    with pytest.raises(JudgeFault, match=key):
        public_layers(store)


def test_a_record_is_read_as_it_was_written() -> None:
    layer = PublicLayer(diff_id=DIFF[0], image="debian:12", added=utc_now())
    assert PublicLayer.read(layer.model_dump_json().encode()) == layer
