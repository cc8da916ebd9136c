"""A snapshot of a store has the content of the store at that time."""

from __future__ import annotations

import pytest

from judge.records.store_snapshot import StoreSnapshot
from tests.world.judged import result_key, submission_of
from tests.world.world import World


@pytest.fixture
def world(judged_world: World) -> World:
    return judged_world


def test_a_snapshot_is_what_the_store_held(world: World) -> None:
    store = StoreSnapshot(world.store)
    key, folder = result_key(world), f"results/{submission_of(world)}/copper/"
    held = world.store.get(key)
    world.store.put(key, b"other")
    world.store.put(f"{folder}new.json", b"{}")
    assert (store.get(key), f"{folder}new.json" in store.list(folder), key in store.list(folder)) == (held, False, True)
    assert (store.is_unchanged("results/"), store.is_unchanged("submissions/")) == (False, True)
    with pytest.raises(KeyError):
        store.get(f"{folder}new.json")


def test_hidden_submissions_are_not_in_it(world: World) -> None:
    hidden, other = submission_of(world), world.submit("other").id
    store = StoreSnapshot(world.store, {hidden})
    assert {key.split("/")[1] for folder in ("submissions/", "results/") for key in store.list(folder)} == {other}
    assert not store.exists(result_key(world))
    assert list(store.list("manifests/")) == list(world.store.list("manifests/"))
    with pytest.raises(KeyError):
        store.get(result_key(world))
