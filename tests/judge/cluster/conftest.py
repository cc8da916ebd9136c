"""A Slurm, an ssh server, and worlds that are judged by their workers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.judge.cluster.cluster_world import MakeCluster, made_world
from tests.servers.slurm import SlurmServer
from tests.servers.sshd import SshServer


@pytest.fixture(scope="session")
def slurm() -> Iterator[SlurmServer]:
    """A Slurm of one node that runs two jobs at once; where it is missing, the test is skipped by name."""
    server = SlurmServer(Path(tempfile.mkdtemp(prefix="slurm")))
    try:
        server.start()
        yield server
    finally:
        server.stop()


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
def undisturbed() -> list[str]:
    """The digest's lines of the same world, judged by one process on one machine."""
    with made_world("") as world:
        assert world.settle() == 1
        world.check()
        return world.digest_lines()
