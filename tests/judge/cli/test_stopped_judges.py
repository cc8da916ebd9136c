"""`judge evaluate` is killed, interrupted, or runs twice at once: nothing is lost, and nothing is stored twice."""

from __future__ import annotations

import signal
import time

import pytest

from judge.records.attempts import read_histories
from judge.records.records import Result
from submissions.records import Submission
from tests.world.small_data import SLOW_EMT
from tests.world.world import World

pytestmark = pytest.mark.takes(6)


def counted(world: World, submissions: list[Submission]) -> list[tuple[str, str]]:
    """The units with a result; checks that every attempt and result is stored once."""
    results: list[Result] = world.results()
    histories = read_histories(world.store, [submission.id for submission in submissions])
    assert len(histories) == len(results)
    assert all(history.end is not None for history in histories.values())
    stored = [key for key in world.store.list("results/") if key.endswith(".json")]
    assert len(stored) == len(results)
    return [(result.submission, result.task) for result in results]


def wait_for(world: World, prefix: str, suffix: str, count: int) -> None:
    """Waits until the store has `count` such keys."""
    until = time.monotonic() + 60
    while sum(key.endswith(suffix) for key in world.store.list(prefix)) < count:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("finished", [0, 1])
def test_killed_in_the_middle_the_next_run_completes_the_rest(world: World, finished: int) -> None:
    """The next judge does not wait for `dead_after_s` of a dead judge of this host."""
    world.write_settings(dead_after_s=600.0)
    submission = world.submit("slow", SLOW_EMT.format(seconds=0.15))
    process = world.command("evaluate", "--all")
    wait_for(world, "attempts/", "beat.json", finished + 1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(world.results()) <= finished + 1
    status, _ = world.run_json("evaluate", "--all")
    assert status == 0
    assert counted(world, [submission]) == [(submission.id, "copper"), (submission.id, "nickel")]
    assert not list((world.root / "run" / "sessions").iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_it_says_how_to_go_on(world: World, number: signal.Signals) -> None:
    world.write_settings()
    submission = world.submit("slow", SLOW_EMT.format(seconds=0.15))
    process = world.command("evaluate", "--all", "--task", "copper")
    wait_for(world, "attempts/", "beat.json", 1)
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "To continue: judge evaluate --all --task copper" in err
    assert "Traceback" not in err
    assert not list((world.root / "run" / "sessions").iterdir())
    status, _, _ = world.run("evaluate", "--all")
    assert status == 0
    assert len(counted(world, [submission])) == 2


def test_two_judges_at_once_share_the_work_and_double_nothing(world: World) -> None:
    world.write_settings()
    submissions = [world.submit(name, SLOW_EMT.format(seconds=0.03)) for name in ("one", "two", "three")]
    processes = [world.command("evaluate", "--all") for _ in range(2)]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert len(counted(world, submissions)) == 6
    assert sum(key.endswith("claim.json") for key in world.store.list("attempts/")) == 6
