"""A record that is broken or cannot be scored removes only its own row, and is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from judge.ranking.build import build_leaderboard
from judge.ranking.leaderboard import Leaderboard
from judge.records.decisions import EventKind
from judge.records.manifest import FOLDER
from judge.records.records import Result
from tasks.metrics.metric import Metric
from tasks.suites.suite import Suite, Task
from tests.world.board_records import (
    ENERGY,
    SUITE,
    error,
    frames_metrics,
    good_results,
    items_of,
    result,
    submission,
    timed,
)
from tests.world.judged import change_result, own_key_of
from tests.world.world import World

A, B = submission("alpha"), submission("beta")
TASKS = {each.name: each for each in SUITE.tasks}
PUBLISHED = replace(
    SUITE,
    release="lambench-1.0.0",
    tasks=tuple(replace(t, release_name="rxn_barrier") if t.name == "barriers" else t for t in SUITE.tasks),
)


def board(results: list[Result], suite: Suite, *submissions_: object) -> Leaderboard:
    return build_leaderboard(suite, submissions_, results, items_of)  # type: ignore[arg-type]


def with_one(task: Task, metrics: dict[str, Metric]) -> list[Result]:
    return [result(A, task, metrics) if each.task == task.name else each for each in good_results(A, 0.3)]


NEGATIVE = "an error of -0.1 is below zero"


@pytest.mark.parametrize(
    ("suite", "task", "metrics", "complaint"),
    [
        (SUITE, "crystals", {**frames_metrics(0.1), ENERGY: error(-0.1)}, f"task crystals: energy: {NEGATIVE}"),
        (SUITE, "barriers", {"mae": error(-0.1)}, f"task barriers: mae: {NEGATIVE}"),
        (SUITE, "speed", {"time_mean": timed(0.0)}, "task speed: a time of 0.0 µs/atom is not positive"),
        (PUBLISHED, "barriers", {"mae": error(0.1, "hartree")}, "task barriers: mae: unit 'hartree'"),
    ],
)
def test_a_metric_that_cannot_be_added_up_leaves_its_own_row_out(
    suite: Suite, task: str, metrics: dict[str, Metric], complaint: str
) -> None:
    of_b = good_results(B, 0.2)
    if suite is PUBLISHED:
        of_b = [r if r.task != "barriers" else result(B, TASKS[r.task], {"mae": error(0.2, "kcal/mol")}) for r in of_b]
    alone, beside = board(of_b, suite, B), board(with_one(TASKS[task], metrics) + of_b, suite, A, B)
    assert [(row.submission, row.rank) for row in beside.rows] == [(B, 1)]
    (line,) = beside.missing_rows
    assert line.startswith(f"results/{A.id}: release ")
    assert complaint in line
    assert line.endswith(f": no row without it: judge rejudge {A.id}")
    assert line in beside.problems
    assert beside.rows[0].scores == alone.rows[0].scores


def test_where_none_can_be_added_up_the_board_is_empty() -> None:
    shown = board(with_one(TASKS["barriers"], {"mae": error(-0.1)}), SUITE, A)
    assert (shown.rows, len(shown.missing_rows), shown.measured) == ((), 1, None)


@pytest.fixture
def world(judged_world: World) -> World:
    judged_world.submit("beside")
    return judged_world


def _break_result(world: World, id: str) -> str:
    key = next(key for key in world.store.list(f"results/{id}/") if key.endswith(".json"))
    world.store.put(key, b"{}")
    return key


def _break_end(world: World, id: str) -> str:
    key = next(key for key in world.store.list(f"attempts/{id}/") if key.endswith("/end.json"))
    world.store.put(key, b"{}")
    return key


def _break_card(world: World, id: str) -> str:
    key = f"submissions/{id}/submission.json"
    world.store.put(key, b"\xff")
    return key


def _break_event(world: World, id: str) -> str:
    key = f"submissions/{id}/events/20250101T000000000000-{EventKind.WITHDRAWN}-abcdef.json"
    world.store.put(key, b"{}")
    return key


def _negative(world: World, id: str) -> str:
    def below_zero(old: Result) -> Result:
        metrics = {name: replace(m, charged=-1.0, value=-1.0) for name, m in old.metrics.items()}
        return old.model_copy(update={"metrics": metrics})

    change_result(world, below_zero, own_key_of(world))
    return f"results/{id}: release corrected: task copper"


@pytest.mark.parametrize("broken", [_break_result, _break_end, _break_card, _break_event, _negative])
def test_a_broken_record_is_named_and_left_out_and_the_rest_is_built(world: World, broken: object) -> None:
    (id,) = {key.split("/")[1] for key in world.store.list("results/")}
    named = broken(world, id)  # type: ignore[operator]
    index = world.root / "site" / "index.html"
    for arguments, status in (((), 1), (("--keep-going",), 0)):
        index.unlink(missing_ok=True)
        code, out, err = world.run_here("site", "build", *arguments)
        assert (code, out) == (status, f"The leaderboard is {index}\n")
        lines = err.splitlines()
        assert lines
        assert all(line.startswith("left out: ") for line in lines)
        assert named in lines[0]
        page = index.read_text()
        assert f"submissions/{id}.html" not in page
        assert "beside" in page
        assert not (world.root / "site" / "submissions" / f"{id}.html").exists()
    status, _, err = world.run_here("site", "publish")
    assert status != 0
    assert named in err
    assert list(world.store.list(FOLDER)) == []


def test_a_whole_store_is_built_without_a_word(world: World) -> None:
    assert world.run_here("site", "build")[::2] == (0, "")
    assert isinstance(Path(world.root / "site" / "index.html").stat().st_mtime, float)
