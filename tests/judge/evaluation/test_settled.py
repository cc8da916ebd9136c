"""Where everything is done the next run is told so by the index alone, and follows from what is in the store alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import judge.evaluation.request
from judge.config import JudgeSettings
from judge.evaluation.request import Request, scope_of
from judge.evaluation.unit_report import Did
from judge.records.record_index import RecordIndex, open_index
from submissions.progress import Reporter
from submissions.store.interface import Store
from tests.judge.small_world import World, save_frames

SHORT_NS = 20_000_000  # of a clock that stamps files; the real one is waited for by nobody


@pytest.fixture
def done(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which everything is judged, and one run has found it so."""

    def with_a_fine_clock(settings: JudgeSettings, store: Store) -> RecordIndex:
        return replace(open_index(settings, store), granularity_ns=SHORT_NS)

    monkeypatch.setattr(judge.evaluation.request, "open_index", with_a_fine_clock)
    world.submit("emt")
    world.evaluate()
    time.sleep(2 * SHORT_NS / 1e9)
    world.evaluate()
    return world


def is_settled(world: World, **request: object) -> bool:
    asked = Request(**request)  # type: ignore[arg-type]
    return scope_of(world.workspace, asked, Reporter(Console(file=StringIO()))).is_settled()


def test_a_run_that_has_nothing_to_do_says_what_the_long_way_says(done: World) -> None:
    assert is_settled(done)
    short, said = done.evaluate()
    next((done.root / "index").glob("*.sqlite")).unlink()
    long, said_too = done.evaluate()
    assert (short, said) == (long, said_too)
    assert {unit.did for unit in short.units} == {Did.NOTHING}
    assert len(short.units) == 2


def remove_a_result(world: World) -> None:
    world.store.delete(next(key for key in world.store.list("results/") if key.endswith(".json")))


def remove_an_end(world: World) -> None:
    world.store.delete(next(key for key in world.store.list("attempts/") if key.endswith("end.json")))


def write_a_submission_again(world: World) -> None:
    path = world.root / "store" / next(iter(world.store.list("submissions/")))
    path.write_bytes(path.read_bytes() + b" ")


def submit_another(world: World) -> None:
    world.submit("another")


def change_labels(world: World) -> None:
    save_frames(world.settings.data, "Cu", "copper", shift=0.1)


@pytest.mark.parametrize(
    "change", [remove_a_result, remove_an_end, write_a_submission_again, submit_another, change_labels]
)
def test_whatever_changes_is_seen(done: World, change: Callable[[World], None]) -> None:
    change(done)
    assert not is_settled(done)


def test_of_other_tasks_nothing_is_concluded(done: World) -> None:
    assert not is_settled(done, tasks=("copper",))


def test_what_was_removed_is_made_again(done: World) -> None:
    remove_a_result(done)
    summary, _ = done.evaluate()
    assert sorted(unit.did for unit in summary.units) == [Did.MEASURED, Did.NOTHING]


def test_an_index_that_is_broken_settles_nothing(done: World) -> None:
    path: Path = next((done.root / "index").glob("*.sqlite"))
    path.write_bytes(b"no database")
    assert not is_settled(done)
