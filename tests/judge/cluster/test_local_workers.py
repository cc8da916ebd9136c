"""Workers of Dask on this machine, and those of a scheduler that runs already, judge as one process does."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.judge.cluster.cluster_world import AGAIN, WORK, MakeCluster, check_as_alone, kill_program
from tests.judge.cluster.held_unit import check_it_went_on, go_on, make_held, wait_until_held
from tests.servers.server_process import ServerProcess, answers, free_port, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.takes(60)]


def test_workers_on_this_machine(make: MakeCluster, alone: list[str]) -> None:
    world = make("local")
    command = world.launch()
    wait_until(lambda: len(world.named_workers()) == 2, f"status names both; {world.output()}", 60)
    assert world.named_workers() <= set(world.processes(WORK))
    assert world.ended(command).status == 0
    assert "Dashboard: http://127.0.0.1:" in world.output()
    assert {"[1] begins on", "[2] begins on"} <= {line[:13] for line in world.output().splitlines()}
    assert world.n_claims() == len(alone)
    check_as_alone(world, alone)


def test_a_dask_worker_that_is_killed(make: MakeCluster, alone: list[str]) -> None:
    """Its `judge work` ends with it, and another one goes on."""
    world = make("local")
    command = world.launch()
    world.wait_for_claims(2)
    before = world.processes(WORK)
    kill_program(world.processes("spawn_main"), random.Random(1))
    wait_until(lambda: any(not Path(f"/proc/{pid}").exists() for pid in before), "its work ends with it", 30)
    assert world.ended(command).status == 0
    assert AGAIN in world.output()
    check_as_alone(world, alone)


def test_a_unit_of_a_killed_worker_goes_on_from_its_checkpoint(make: MakeCluster) -> None:
    undisturbed, world = make_held(make, ""), make_held(make, "local")
    assert undisturbed.settle() == 1
    (world.root / "hold").touch()
    command = world.launch()
    worker = wait_until_held(world)
    os.kill(worker, signal.SIGKILL)
    go_on(world, worker)
    assert world.ended(command).status == 0
    assert AGAIN in world.output()
    check_it_went_on(world, undisturbed)


def test_a_dask_worker_that_is_lost_after_its_work_is_not_asked_again(make: MakeCluster) -> None:
    """Dask would compute its result again, in a worker that nobody waits for: the last one would leave it its unit."""
    world = make_held(make, "local", jobs=2)
    (world.root / "hold").touch()
    command = world.launch()
    worker = wait_until_held(world)
    wait_until(lambda: "another judge works on it" in world.output(), f"one is done; {world.output()}", 60)
    wait_until(lambda: world.processes(WORK) == [worker], "it ends", 60)
    time.sleep(2)  # for its result to be read
    dask_workers = world.processes("spawn_main")
    (idle,) = set(dask_workers) - {parent(worker)}
    os.kill(idle, signal.SIGKILL)
    wait_until(lambda: len(set(world.processes("spawn_main")) - set(dask_workers)) == 1, "Dask starts another one", 60)
    time.sleep(3)  # for a worker to begin
    (world.root / "hold").unlink()
    assert world.ended(command).status == 0
    assert world.output().count("begins on") == 3  # both, and the last one
    assert world.n_claims() == 1


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_ctrl_c_ends_all_workers_in_good_order(make: MakeCluster) -> None:
    world = make("local")
    command = world.launch()
    world.wait_for_claims(2)
    command.send_signal(signal.SIGTERM)
    assert world.ended(command).status == 130
    assert "To continue: judge evaluate --all --cluster local --jobs 2" in world.output()
    wait_until(lambda: not world.processes(""), "Python's own helpers end, too", 10)
    assert not list((world.root / "run" / "sessions").iterdir())


def test_the_scheduler_of_a_site(make: MakeCluster, alone: list[str], scheduler: str) -> None:
    world = make(scheduler, cluster={"tls": False})
    assert world.settle() == 1
    check_as_alone(world, alone)
    assert answers(int(scheduler.rpartition(":")[2]))  # it is left as it was


ENVIRONMENT = ("DASK_DISTRIBUTED__NANNY__PRE_SPAWN_ENVIRON={}", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a scheduler with a worker of two threads, on loopback."""
    port, processes = free_port(), []
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "distributed.cli.dask_{}"]
    scheduler = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = [address, "--nthreads", "2", "--memory-limit", "0", "--no-dashboard"]
    try:
        for name, arguments in (("scheduler", scheduler), ("worker", worker)):
            command = [*dask[:2], dask[2].format(name), *arguments]
            processes.append(ServerProcess(["env", *ENVIRONMENT, *command], tmp_path / name))
            processes[0].wait_until(lambda: answers(port), 60)
        yield address
    finally:
        for process in processes:
            process.kill()
