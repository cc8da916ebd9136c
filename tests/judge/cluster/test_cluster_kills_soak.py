"""Parts of a cluster are killed at random: nothing is lost, nothing counts twice, the digest is the same."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.judge.cluster.cluster_world import (
    AGAIN,
    NAMES,
    SLURM,
    WORK,
    ClusterWorld,
    MakeCluster,
    check_as_alone,
    kill_program,
    ssh_settings,
)
from tests.judge.evaluation.kills.kill_world import SUITE
from tests.servers.cut_line import CutLine
from tests.servers.rgw import RgwServer
from tests.servers.server_process import wait_until
from tests.servers.slurm import SlurmServer
from tests.servers.sshd import SshServer

pytestmark = pytest.mark.soak
WITHIN_S = 6.0
"""Of a run whose units take about thirty seconds on two workers."""
LARGE = {"names": NAMES, "suite": SUITE}


def after_a_while(world: ClusterWorld, rng: random.Random) -> None:
    """Waits for the next claim, and for a random time."""
    world.wait_for_claims(world.n_claims() + 1)
    time.sleep(rng.uniform(0, WITHIN_S))


def check(world: ClusterWorld, alone: list[str], *, settled: bool) -> None:
    """Judges the rest if the command has not, and compares the store with that of one process."""
    if not settled:
        world.settle()
    check_as_alone(world, alone)


def test_dask_workers_here(make: MakeCluster, large_alone: list[str]) -> None:
    world, rng = make("local", **LARGE), random.Random(1)
    command = world.launch()
    for _ in range(3):
        after_a_while(world, rng)
        before = world.processes(WORK)
        kill_program(world.processes("spawn_main"), rng)
        wait_until(lambda: any(not Path(f"/proc/{pid}").exists() for pid in before), "its work ends with it", 30)  # noqa: B023
    assert world.ended(command).status == 0
    assert AGAIN in world.output()
    check(world, large_alone, settled=True)


def test_the_command_with_its_scheduler_of_slurm(make: MakeCluster, slurm: SlurmServer, large_alone: list[str]) -> None:
    world, rng = make("slurm", environment=slurm.environment, cluster=SLURM, **LARGE), random.Random(2)
    for _ in range(2):
        command = world.launch()
        after_a_while(world, rng)
        command.kill()
        command.wait()
        wait_until(lambda: not slurm.jobs(), "its jobs end", 120)
        slurm.end_jobs()
    check(world, large_alone, settled=False)


def test_jobs_of_slurm_by_scancel(make: MakeCluster, slurm: SlurmServer, large_alone: list[str]) -> None:
    world, rng = make("slurm", environment=slurm.environment, cluster=SLURM, **LARGE), random.Random(3)
    command = world.launch()
    for _ in range(2):
        after_a_while(world, rng)
        slurm.run("scancel", rng.choice(slurm.jobs()))
    assert world.ended(command).status == 0
    assert AGAIN in world.output()
    check(world, large_alone, settled=True)


@pytest.mark.parametrize(("what", "word"), [("scheduler", "distributed.Scheduler"), ("worker", "distributed.Nanny")])
def test_programs_by_ssh(
    make: MakeCluster, sshd: SshServer, tmp_path: Path, large_alone: list[str], what: str, word: str
) -> None:
    world, rng = make("ssh", cluster=ssh_settings(sshd, tmp_path), **LARGE), random.Random(4)
    command = world.launch()
    after_a_while(world, rng)
    kill_program(sshd.processes(word), rng)
    ended = world.ended(command)
    if what == "scheduler":
        assert ended.status == 3
        assert "judge: the Dask scheduler is gone; what was judged is kept: run the same command again" in ended.out
    else:
        assert ended.status == 0
        assert AGAIN in ended.out
    check(world, large_alone, settled=what == "worker")


def test_the_ssh_server(make: MakeCluster, sshd: SshServer, tmp_path: Path, large_alone: list[str]) -> None:
    world, rng = make("ssh", cluster=ssh_settings(sshd, tmp_path), **LARGE), random.Random(5)
    command = world.launch()
    after_a_while(world, rng)
    sshd.kill()
    time.sleep(rng.uniform(0, WITHIN_S))
    sshd.restart()
    check(world, large_alone, settled=world.ended(command).status == 0)


def test_the_network_to_s3_for_a_minute(make: MakeCluster, aws_environment: RgwServer, large_alone: list[str]) -> None:
    line, rng = CutLine(aws_environment.port), random.Random(6)
    url = f"s3://{aws_environment.new_bucket()}/store"
    world = make("local", bucket=url, endpoint=line.url, own_endpoint=aws_environment.endpoint, **LARGE)
    command = world.launch()
    after_a_while(world, rng)
    with line.down():
        time.sleep(60)
    status = world.ended(command, 600).status
    check(world, large_alone, settled=status == 0)
