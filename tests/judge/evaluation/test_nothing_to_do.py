"""A run without work reports this from the cache of records; its answer depends on the store only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from judge.evaluation.unit_report import Did
from tests.world.small_data import save_frames
from tests.world.world import World


@pytest.fixture
def done(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which everything is judged and cached: its files count as old at once."""
    monkeypatch.setattr("submissions.store.local.GRANULARITY_NS", 0)
    world.submit("emt")
    world.evaluate()
    world.evaluate()
    return world


def test_it_says_the_same_with_the_cache_and_without(done: World) -> None:
    cached, output = done.evaluate()
    (file,) = (done.root / "index").glob("*.sqlite")
    file.unlink()
    assert done.evaluate() == (cached, output)
    assert Counter(unit.did for unit in cached.units) == {Did.NOTHING: 2}


def remove_a_result(world: World) -> None:
    world.store.delete(next(key for key in world.store.list("results/") if key.endswith(".json")))


def remove_an_end(world: World) -> None:
    world.store.delete(next(key for key in world.store.list("attempts/") if key.endswith("end.json")))


def submit_another(world: World) -> None:
    world.submit("another")


def change_labels(world: World) -> None:
    save_frames(world.settings.data, "Cu", "copper", shift=0.1)


@pytest.mark.parametrize(
    ("change", "did"),
    [
        (remove_a_result, {Did.MEASURED: 1, Did.NOTHING: 1}),
        (remove_an_end, {Did.OBSERVED: 1, Did.NOTHING: 1}),
        (submit_another, {Did.OBSERVED: 2, Did.NOTHING: 2}),
        (change_labels, {Did.MEASURED: 1, Did.NOTHING: 1}),
    ],
)
def test_whatever_changes_is_seen(done: World, change: Callable[[World], None], did: dict[Did, int]) -> None:
    change(done)
    summary, _ = done.evaluate()
    assert Counter(unit.did for unit in summary.units) == did
