"""Workers by ssh judge as one process does, also after the loss of the scheduler and of the ssh server."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.judge.cluster.cluster_world import WORK, MakeCluster, check_as_alone, kill_program, ssh_settings
from tests.servers.server_process import wait_until
from tests.servers.sshd import SshServer

pytestmark = [pytest.mark.slow, pytest.mark.takes(50)]


def test_hosts_by_ssh(make: MakeCluster, sshd: SshServer, tmp_path: Path, alone: list[str]) -> None:
    world = make("ssh", cluster=ssh_settings(sshd, tmp_path))
    command = world.launch()
    wait_until(lambda: len(world.named_workers()) == 2, f"status names both; {world.output()}", 60)
    assert world.named_workers() <= set(world.processes(WORK))
    assert world.ended(command).status == 0
    assert world.n_claims() == len(alone)
    check_as_alone(world, alone)


def test_a_scheduler_that_is_killed(make: MakeCluster, sshd: SshServer, tmp_path: Path, alone: list[str]) -> None:
    world = make("ssh", cluster=ssh_settings(sshd, tmp_path))
    command = world.launch()
    world.wait_for_claims(2)
    kill_program(sshd.processes("distributed.Scheduler"), random.Random(1))
    ended = world.ended(command)
    assert ended.status == 3, ended.out
    assert "judge: the Dask scheduler is gone; what was judged is kept: run the same command again" in ended.out
    assert world.settle() == 1
    check_as_alone(world, alone)


def test_an_ssh_server_that_is_lost_for_a_second(
    make: MakeCluster, sshd: SshServer, tmp_path: Path, alone: list[str]
) -> None:
    """Dask's programs go on without it."""
    world = make("ssh", cluster=ssh_settings(sshd, tmp_path))
    command = world.launch()
    world.wait_for_claims(2)
    sshd.kill()
    time.sleep(1)
    sshd.restart()
    assert world.ended(command).status == 0
    check_as_alone(world, alone)
