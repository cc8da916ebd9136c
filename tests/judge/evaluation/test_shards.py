"""A large task is cut into shards: the same results, also if workers are killed or one is ten times slower."""

from __future__ import annotations

import shutil
import signal
import threading
import time

import pytest

from judge.audit.store_digest import digest_lines
from judge.records.observation_file import observation_path
from judge.records.records import Result
from submissions.store.local import LocalStore
from tests.judge.evaluation.test_workers import claims, kill_one_at_work, wait_until
from tests.world.small_data import SLOW_EMT, save_frames
from tests.world.world import QUICK, World

pytestmark = pytest.mark.takes(5)
N_FRAMES, N_SHARDS = 24, 4
ONE_BY_ONE = {**QUICK["limits"], "max_atoms_per_batch": 8}
BROKEN = """
import os

from ase.calculators.emt import EMT

class Broken(EMT):
    def calculate(self, *args, **kwargs):
        os._exit(3)

def make_calculator():
    return Broken()
"""


@pytest.fixture
def large(world: World) -> World:
    """A world whose first task has four shards, and whose models are asked one structure at a time."""
    save_frames(world.root / "data", "Cu", "copper", n_frames=N_FRAMES)
    return world.with_settings(shard_structures=N_FRAMES // N_SHARDS, limits=ONE_BY_ONE, dead_after_s=600.0)


def uncut(world: World) -> list[str]:
    """The digest's lines of the same submissions, judged without shards."""
    return digest_lines(world.judged_apart(LAMBENCH_SHARD_STRUCTURES="0"))


def of_copper(lines: list[str]) -> list[str]:
    return [line for line in lines if '"task":"copper"' in line]


def test_one_worker_and_two_have_the_digest_of_a_task_that_is_not_cut(large: World) -> None:
    large.write_settings()
    large.submit("emt", SLOW_EMT.format(seconds=0.01))
    expected = uncut(large)
    _, plan = large.run_json("plan")
    assert {unit["task"]: unit["shards"] for unit in plan["units"]} == {"copper": N_SHARDS, "nickel": 0}  # type: ignore[index]
    assert large.run("evaluate", "--all")[0] == 0
    assert digest_lines(large.store) == expected
    assert len(claims(large)) == N_SHARDS + 2
    shutil.rmtree(large.root / "store" / "results")
    shutil.rmtree(large.root / "store" / "attempts")
    status, summary = large.run_json("evaluate", "--all", "--jobs", "2")
    assert status == 0
    done = {unit["task"]: unit["did"] for unit in summary["units"]}  # type: ignore[index]
    assert done == {"copper": "observed", "nickel": "observed"}
    assert len(claims(large)) == N_SHARDS + 2
    assert digest_lines(large.store) == expected
    assert large.run_json("evaluate", "--all")[1]["counts"] == {"nothing": 2}  # type: ignore[index]


def test_the_answers_of_shards_may_go_once_they_are_joined(large: World) -> None:
    large.write_settings(retention={"observations": 0})
    large.submit("emt")
    assert large.run_here("evaluate", "--all")[0] == 0
    assert len(list(large.store.list("observations/"))) == N_SHARDS + 2
    assert large.run_here("gc")[0] == 0
    kept = {observation_path(result.provenance.observation or "") for result in large.results()}
    assert set(large.store.list("observations/")) == kept
    assert large.run_json_here("evaluate", "--all")[1]["counts"] == {"nothing": 2}
    assert "Everything holds" in large.run_here("verify", "--all")[1]


def test_a_worker_that_is_killed_in_one_shard_costs_that_shard_alone(large: World) -> None:
    large.write_settings()
    large.submit("emt", SLOW_EMT.format(seconds=0.2))
    parent = large.command("evaluate", "--all", "--jobs", "2")
    wait_until(lambda: len(claims(large)) >= 3 and kill_one_at_work(large, parent.pid))
    _, err = parent.communicate(timeout=120)
    assert parent.returncode == 0, err
    assert len(claims(large)) == N_SHARDS + 2 + 1
    assert digest_lines(large.store) == uncut(large)


def test_a_worker_that_is_ten_times_slower_holds_only_its_own_shard_up(large: World) -> None:
    large.write_settings()
    large.submit("emt", SLOW_EMT.format(seconds=0.1))
    workers = [large.command("work", "--all", "--task", "copper") for _ in range(2)]
    wait_until(lambda: len(claims(large)) >= 2)
    over = threading.Event()

    def hamper() -> None:
        while not over.is_set():
            workers[0].send_signal(signal.SIGSTOP)
            over.wait(0.45)
            workers[0].send_signal(signal.SIGCONT)
            time.sleep(0.05)

    thread = threading.Thread(target=hamper)
    thread.start()
    try:
        other_out, err = workers[1].communicate(timeout=120)
        assert workers[1].returncode == 0, err
    finally:
        over.set()
        thread.join()
    out, err = workers[0].communicate(timeout=120)
    assert workers[0].returncode == 0, err
    assert other_out.count("✓ emt") >= 3  # the quick one has done the rest
    assert out.count("shard") >= 1
    assert digest_lines(large.store) == of_copper(uncut(large))


def test_a_shard_that_fails_decides_and_the_others_are_not_asked(large: World) -> None:
    large.write_settings()
    large.submit("broken", BROKEN)
    assert large.run("evaluate", "--all", "--task", "copper")[0] == 0
    assert len(claims(large)) == 2  # one shard, and the task
    (result,) = large.results()
    assert digest_lines(large.store) == of_copper(uncut(large))
    (key,) = [key for key in LocalStore(large.root / "apart").list("results/broken") if "/copper/" in key]
    assert result.sentence == Result.read(LocalStore(large.root / "apart").get(key)).sentence


def test_a_task_that_was_judged_whole_is_not_cut_later(large: World) -> None:
    large.with_settings(shard_structures=0).write_settings()
    large.submit("emt")
    assert large.run("evaluate", "--all")[0] == 0
    large.write_settings()
    assert large.run_json("evaluate", "--all")[1]["counts"] == {"nothing": 2}  # type: ignore[index]
    _, plan = large.run_json("plan")
    assert [unit["step"] for unit in plan["units"]] == ["done", "done"]  # type: ignore[index]
