"""Workers of Dask judge each unit once, on this machine, of Slurm and by ssh, with the digest of one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.judge.cluster.cluster_world import ClusterWorld, MakeCluster, ssh_settings
from tests.servers.slurm import SlurmServer
from tests.servers.sshd import SshServer

pytestmark = pytest.mark.soak


def judged_as_alone(world: ClusterWorld, undisturbed: list[str]) -> None:
    assert world.settle() == 1
    assert world.digest_lines() == undisturbed
    world.check()
    assert world.n_claims() == len(undisturbed)


def test_workers_on_this_machine(make: MakeCluster, undisturbed: list[str]) -> None:
    world = make("local")
    judged_as_alone(world, undisturbed)
    assert "Dashboard: http://127.0.0.1:" in world.output()
    assert {"[1] begins on", "[2] begins on"} <= {line[:13] for line in world.output().splitlines()}


def test_jobs_of_slurm(make: MakeCluster, slurm: SlurmServer, undisturbed: list[str]) -> None:
    world = make("slurm", environment=slurm.environment, cluster={"interface": "lo", "memory": "500 MiB"})
    judged_as_alone(world, undisturbed)
    assert not slurm.jobs("RUNNING,PENDING")
    logs = [path.name for path in (world.root / "cluster").iterdir()]
    assert sum(name.endswith(".out") for name in logs) >= 2
    assert {path.suffix for path in (world.root / "cluster").rglob("*")} == {".out", ".err"}  # no key is left


def test_hosts_by_ssh(make: MakeCluster, sshd: SshServer, tmp_path: Path, undisturbed: list[str]) -> None:
    world = make("ssh", cluster=ssh_settings(sshd, tmp_path))
    judged_as_alone(world, undisturbed)
