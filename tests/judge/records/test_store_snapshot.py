"""A snapshot of a store has the content of the store at that time."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from judge.records import store_snapshot
from judge.records.store_snapshot import StoreSnapshot
from submissions.store.local import LocalStore
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


class Threads(LocalStore):
    """A local store that remembers which threads read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.threads: set[int] = set()

    def get(self, key: str) -> bytes:
        self.threads.add(threading.get_ident())
        time.sleep(0.001)
        return super().get(key)


@pytest.mark.parametrize(("fast_s", "threads"), [(1000.0, False), (0.001, True)])
def test_only_a_slow_store_is_read_by_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fast_s: float, threads: bool
) -> None:
    monkeypatch.setattr(store_snapshot, "FAST_S", fast_s)
    store = Threads(tmp_path / "store")
    keys = [f"results/model/task/{i:03}.json" for i in range(300)]
    for key in keys:
        store.put(key, key.encode())
    snapshot = StoreSnapshot(store)
    assert {key: snapshot.get(key) for key in keys} == {key: key.encode() for key in keys}
    assert (store.threads != {threading.get_ident()}) == threads
