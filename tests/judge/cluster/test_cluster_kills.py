"""Parts of a cluster are killed at random: nothing is lost, nothing counts twice, the digest is the same."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.judge.cluster.cluster_world import ClusterWorld, MakeCluster, ssh_settings
from tests.servers.cut_line import CutLine
from tests.servers.rgw import RgwServer
from tests.servers.server_process import wait_until
from tests.servers.slurm import SlurmServer
from tests.servers.sshd import SshServer

pytestmark = pytest.mark.soak
WITHIN_S = 6.0
"""Of a run whose units take about thirty seconds on two workers."""
SLURM = {"interface": "lo", "memory": "500 MiB"}
AGAIN = "another one goes on"


def after_a_while(world: ClusterWorld, rng: random.Random) -> None:
    """Waits for the next claim, and for a random time."""
    world.wait_for_claims(world.n_claims() + 1)
    time.sleep(rng.uniform(0, WITHIN_S))


def killed(pids: Sequence[int], rng: random.Random) -> int:
    """Kills one of these processes, and returns it."""
    pid = rng.choice(sorted(pids))
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return pid


def check(world: ClusterWorld, undisturbed: list[str], *, settled: bool) -> None:
    """Judges the rest if the command has not, and compares the store with an undisturbed one."""
    if not settled:
        world.settle()
    assert world.digest_lines() == undisturbed
    world.check()


def test_dask_workers_here(make: MakeCluster, undisturbed: list[str]) -> None:
    world, rng = make("local"), random.Random(1)
    command = world.launch()
    for _ in range(3):
        after_a_while(world, rng)
        before = world.processes("judge.cli.main work")
        killed(world.processes("spawn_main"), rng)
        wait_until(lambda: any(not Path(f"/proc/{pid}").exists() for pid in before), "its work ends with it", 30)  # noqa: B023
    assert world.ended(command).status == 0
    assert AGAIN in world.output()
    check(world, undisturbed, settled=True)


def test_the_command_with_its_scheduler_of_slurm(make: MakeCluster, slurm: SlurmServer, undisturbed: list[str]) -> None:
    world, rng = make("slurm", environment=slurm.environment, cluster=SLURM), random.Random(2)
    for _ in range(2):
        command = world.launch()
        after_a_while(world, rng)
        command.kill()
        command.wait()
        wait_until(lambda: not slurm.jobs("RUNNING"), "its jobs end", 120)
        slurm.run("scancel", "--state=PENDING", "--me")
    check(world, undisturbed, settled=False)


def test_jobs_of_slurm_by_scancel(make: MakeCluster, slurm: SlurmServer, undisturbed: list[str]) -> None:
    world, rng = make("slurm", environment=slurm.environment, cluster=SLURM), random.Random(3)
    command = world.launch()
    for _ in range(2):
        after_a_while(world, rng)
        slurm.run("scancel", rng.choice(slurm.jobs()))
    assert world.ended(command).status == 0
    assert AGAIN in world.output()
    check(world, undisturbed, settled=True)


def test_jobs_of_slurm_by_their_time_limit(make: MakeCluster, slurm: SlurmServer) -> None:
    """The units take longer than the limit, to which a job is shortened while it runs."""
    with_limit, alone = (
        make("slurm", seconds=0.08, environment=slurm.environment, cluster=SLURM),
        make("", seconds=0.08),
    )
    command = with_limit.launch()
    with_limit.wait_for_claims(2)
    for job in slurm.jobs():
        slurm.run("scontrol", "update", f"JobId={job}", "TimeLimit=1")
    assert with_limit.ended(command, 600).status == 0
    assert "[1] Stopped. Finished units are kept" in with_limit.output() or AGAIN in with_limit.output()
    assert alone.settle() == 1
    check(with_limit, alone.digest_lines(), settled=True)


def test_a_lifetime_below_the_wall_time(make: MakeCluster, slurm: SlurmServer) -> None:
    """Jobs of a minute: a worker leaves its unit before Slurm would end it, and the next job goes on."""
    limited = {**SLURM, "walltime": "00:01:00"}
    world, alone = make("slurm", seconds=0.08, environment=slurm.environment, cluster=limited), make("", seconds=0.08)
    before = set(slurm.jobs("all"))
    assert world.ended(world.launch(), 900).status == 0
    assert AGAIN in world.output()
    assert len(set(slurm.jobs("all")) - before) > 2
    assert not set(slurm.jobs("TIMEOUT")) - before
    assert alone.settle() == 1
    check(world, alone.digest_lines(), settled=True)


@pytest.mark.parametrize(("what", "word"), [("scheduler", "distributed.Scheduler"), ("worker", "distributed.Nanny")])
def test_programs_by_ssh(
    make: MakeCluster, sshd: SshServer, tmp_path: Path, undisturbed: list[str], what: str, word: str
) -> None:
    world, rng = make("ssh", cluster=ssh_settings(sshd, tmp_path)), random.Random(4)
    command = world.launch()
    after_a_while(world, rng)
    killed([pid for pid in sshd.processes(word) if not _is_shell(pid)], rng)
    ended = world.ended(command)
    if what == "scheduler":
        assert ended.status == 3
        assert "judge: the Dask scheduler is gone; what was judged is kept: run the same command again" in ended.out
    else:
        assert ended.status == 0
        assert AGAIN in ended.out
    check(world, undisturbed, settled=what == "worker")


def test_the_ssh_server(make: MakeCluster, sshd: SshServer, tmp_path: Path, undisturbed: list[str]) -> None:
    world, rng = make("ssh", cluster=ssh_settings(sshd, tmp_path)), random.Random(5)
    command = world.launch()
    after_a_while(world, rng)
    sshd.kill()
    time.sleep(rng.uniform(0, WITHIN_S))
    sshd.restart()
    check(world, undisturbed, settled=world.ended(command).status == 0)


def test_the_network_to_s3_for_a_minute(make: MakeCluster, aws_environment: RgwServer, undisturbed: list[str]) -> None:
    line, rng = CutLine(aws_environment.port), random.Random(6)
    url = f"s3://{aws_environment.new_bucket()}/store"
    world = make("local", bucket=url, endpoint=line.url, own_endpoint=aws_environment.endpoint)
    command = world.launch()
    after_a_while(world, rng)
    with line.down():
        time.sleep(60)
    status = world.ended(command, 600).status
    check(world, undisturbed, settled=status == 0)


def _is_shell(pid: int) -> bool:
    return Path(f"/proc/{pid}/comm").read_text().strip() in ("sh", "bash")
