"""A Slurm, an ssh server, and worlds that are judged by their workers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.judge.cluster.cluster_world import NAMES, MakeCluster, made_world
from tests.judge.evaluation.kills.kill_world import SUITE
from tests.servers.slurm import SlurmServer
from tests.servers.sshd import SshServer


@pytest.fixture(scope="session")
def one_slurm() -> Iterator[SlurmServer]:
    """A Slurm of one node that runs two jobs at once; where it is missing, the test is skipped by name."""
    server = SlurmServer(Path(tempfile.mkdtemp(prefix="slurm")))
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def slurm(one_slurm: SlurmServer) -> Iterator[SlurmServer]:
    """The session's Slurm. It has no job."""
    try:
        yield one_slurm
    finally:
        one_slurm.end_jobs()


@pytest.fixture
def sshd() -> Iterator[SshServer]:
    """An ssh server for this user; where it is missing, the test is skipped by name."""
    server = SshServer(Path(tempfile.mkdtemp(prefix="sshd")))
    try:
        server.start()
        yield server
    finally:
        server.end_programs()


@pytest.fixture
def make() -> Iterator[MakeCluster]:
    """Makes worlds, which are removed at the end with what was started in them."""
    with ExitStack() as stack:
        yield lambda where, **settings: stack.enter_context(made_world(where, **settings))


@pytest.fixture(scope="session")
def alone() -> list[str]:
    """The digest's lines of the quick world, judged by one process on one machine."""
    with made_world("") as world:
        assert world.settle() == 1
        world.check()
        return world.digest_lines()


@pytest.fixture(scope="session")
def large_alone() -> list[str]:
    """The same of the large world."""
    with made_world("", names=NAMES, suite=SUITE) as world:
        assert world.settle() == 1
        world.check()
        return world.digest_lines()
