"""Jobs of Slurm judge as one process does, also after `scancel`, a time limit, and the loss of the scheduler."""

from __future__ import annotations

import pytest

from tests.judge.cluster.cluster_world import AGAIN, SLURM, WORK, MakeCluster, check_as_alone
from tests.judge.cluster.held_unit import check_it_went_on, go_on, make_held, wait_until_held
from tests.servers.server_process import wait_until
from tests.servers.slurm import SlurmServer

pytestmark = [pytest.mark.slow, pytest.mark.takes(80)]


def test_jobs_of_slurm(make: MakeCluster, slurm: SlurmServer, alone: list[str]) -> None:
    world = make("slurm", environment=slurm.environment, cluster=SLURM)
    command = world.launch()
    wait_until(lambda: len(world.named_workers()) == 2, f"status names both; {world.output()}", 60)
    assert world.named_workers() <= set(world.processes(WORK))
    assert world.ended(command).status == 0
    assert world.n_claims() == len(alone)
    check_as_alone(world, alone)
    assert not slurm.jobs("RUNNING,PENDING")
    logs = [path.name for path in (world.root / "cluster").iterdir()]
    assert sum(name.endswith(".out") for name in logs) >= 2
    assert {path.suffix for path in (world.root / "cluster").rglob("*")} == {".out", ".err"}  # no key is left


def test_a_command_that_is_killed_with_its_scheduler(make: MakeCluster, slurm: SlurmServer, alone: list[str]) -> None:
    world = make("slurm", environment=slurm.environment, cluster=SLURM)
    command = world.launch()
    world.wait_for_claims(2)
    command.kill()
    wait_until(lambda: not slurm.jobs("RUNNING"), "its jobs end", 60)
    slurm.end_jobs()
    assert world.settle() == 1
    check_as_alone(world, alone)


def test_a_job_that_ends_before_its_worker_comes(make: MakeCluster, slurm: SlurmServer, alone: list[str]) -> None:
    """Another one is submitted."""
    world = make("slurm", jobs=1, environment=slurm.environment, cluster=SLURM)
    slurm.run("sbatch", "--cpus-per-task=2", "--mem=10M", "--output=/dev/null", "--wrap=sleep 600")
    wait_until(lambda: bool(slurm.jobs()), "both processors are taken", 60)
    command = world.launch()
    wait_until(lambda: bool(slurm.jobs("PENDING")), "a job waits for a free processor", 60)
    slurm.end_jobs()
    assert world.ended(command).status == 0
    assert "! 1 jobs ended before their worker came: see squeue, and the logs in" in world.output()
    check_as_alone(world, alone)


@pytest.mark.parametrize("how", ["scancel", pytest.param("time limit", marks=pytest.mark.soak)])
def test_a_unit_of_a_job_that_ends_goes_on_in_another_job(make: MakeCluster, slurm: SlurmServer, how: str) -> None:
    """From its checkpoint. Slurm looks at time limits, which are of whole minutes, every half minute."""
    undisturbed, world = make_held(make, ""), make_held(make, "slurm", environment=slurm.environment, cluster=SLURM)
    assert undisturbed.settle() == 1
    (world.root / "hold").touch()
    command = world.launch()
    worker = wait_until_held(world)
    (job,) = slurm.jobs()
    if how == "scancel":
        slurm.run("scancel", job)
    else:
        slurm.run("scontrol", "update", f"JobId={job}", "TimeLimit=1")
    go_on(world, worker, 180)
    assert world.ended(command).status == 0
    assert job in slurm.jobs("CANCELLED" if how == "scancel" else "TIMEOUT")
    assert AGAIN in world.output()
    assert not list(world.root.glob("run-*/sessions/*"))
    check_it_went_on(world, undisturbed)


@pytest.mark.soak
def test_a_lifetime_below_the_wall_time(make: MakeCluster, slurm: SlurmServer) -> None:
    """In a job of a minute, a worker leaves its unit before Slurm would end it, and the next job goes on."""
    limited = {**SLURM, "walltime": "00:01:00"}
    undisturbed, world = make_held(make, ""), make_held(make, "slurm", environment=slurm.environment, cluster=limited)
    assert undisturbed.settle() == 1
    (world.root / "hold").touch()
    command = world.launch()
    worker = wait_until_held(world)
    (job,) = slurm.jobs()
    go_on(world, worker, 180)
    assert world.ended(command).status == 0
    assert job in slurm.jobs("COMPLETED")
    assert not list(world.root.glob("run-*/sessions/*"))
    check_it_went_on(world, undisturbed)
