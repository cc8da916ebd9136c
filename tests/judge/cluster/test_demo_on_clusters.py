"""The suite `demo` by workers of Slurm and by ssh has the digest of one machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from judge.records.probe_secret import KEY as ORDER_SECRET
from tests.judge.cluster.cluster_world import SLURM, ClusterWorld, ssh_settings
from tests.servers.slurm import SlurmServer
from tests.servers.sshd import SshServer

pytestmark = pytest.mark.soak
NAMES = ("emt", "lennard_jones")


@contextmanager
def judged(where: str, **settings: Any) -> Iterator[ClusterWorld]:
    """A world in which the suite was judged; its data sets are those that come along."""
    with TemporaryDirectory(prefix="lj") as folder:
        world = ClusterWorld(Path(folder), where=where, more={"suite": "demo"}, **settings)
        world.write_settings()
        world.store.put(ORDER_SECRET, bytes(32))
        world.submit_examples(NAMES)
        try:
            runs = world.settle()
            assert runs == 1 or "not judged (NOISY_HOST)" in world.output(), world.output()
            yield world
        finally:
            world.end()


def test_slurm_and_ssh_judge_demo_as_one_machine_does(slurm: SlurmServer, sshd: SshServer, tmp_path: Path) -> None:
    with judged("") as alone:
        expected = alone.digest_lines()
    assert len(expected) == 5 * len(NAMES)
    with judged("slurm", environment=slurm.environment, cluster=SLURM) as world:
        assert world.digest_lines() == expected
        assert world.n_claims() >= len(expected)
    with judged("ssh", cluster=ssh_settings(sshd, tmp_path)) as world:
        assert world.digest_lines() == expected
