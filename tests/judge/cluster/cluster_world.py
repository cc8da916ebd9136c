"""A world that Dask's workers judge, and the processes that belong to it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from distributed import Security

from judge.records.probe_secret import KEY as ORDER_SECRET
from submissions.store.interface import Store
from submissions.store.open_store import open_store
from tests.judge.evaluation.kills.kill_world import At, Ended, KillWorld, guests
from tests.servers.server_process import wait_until
from tests.servers.sshd import SshServer
from tests.world.commands import ROOT
from tests.world.small_data import SLOW_EMT

NAMES = ("one", "two", "three")
QUICK_NAMES = ("one", "two")
QUICK_SUITE = """name = "small"
version = "1"
title = "Judged on a cluster"
[[tasks]]
name = "copper"
kind = "labelled_frames"
dataset = "copper@1"
domain = "Inorganic Materials"
time_limit_s = 60
[[tasks]]
name = "drift"
kind = "nve"
dataset = "drift@1"
domain = "Inorganic Materials"
time_limit_s = 300
[tasks.parameters]
steps = 40
sample_every = 2
"""
"""Of one second and of two, with `SLOW_EMT` and the default of `made_world`."""
SLURM = {"interface": "lo", "memory": "500 MiB"}
"""`[cluster]` for Slurm."""
AGAIN = "another one goes on"
WORK = "judge.cli.main work"
START_S = 120
MakeCluster = Callable[..., "ClusterWorld"]


@dataclass
class ClusterWorld(KillWorld):
    """A world of slow submissions that are judged on a cluster.

    Args:
        where: `local`, `slurm`, `ssh`, an address; empty: this process alone, without Dask.
        jobs: how many workers.
        message_s: how long a model may take for an answer.
        environment: further variables of the command.
        cluster: the table of that name in `judge.toml`.
        bucket: `s3://BUCKET/PREFIX` of its store; empty: a folder.
        endpoint: of the S3 server, for the workers; `own_endpoint`: for the test.
    """

    where: str = "local"
    jobs: int = 2
    message_s: int = 30
    environment: dict[str, str] = field(default_factory=dict)
    cluster: dict[str, Any] = field(default_factory=dict)
    bucket: str = ""
    endpoint: str = ""
    own_endpoint: str = ""

    @property
    def stated_settings(self) -> dict[str, Any]:
        stated = {**super().stated_settings, **({"cluster": self.cluster} if self.cluster else {})}
        stated["limits"]["message_s"] = self.message_s
        return {**stated, "store": self.bucket, "endpoint_url": self.endpoint} if self.bucket else stated

    @property
    def store(self) -> Store:  # type: ignore[override]
        return open_store(self.bucket, self.own_endpoint) if self.bucket else super().store

    def launch(self, *at: At, retry_held: bool = False) -> subprocess.Popen[str]:
        """The command, started."""
        on_cluster = ["--cluster", self.where, "--jobs", str(self.jobs)] if self.where else []
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = subprocess.Popen(
            [sys.executable, "-m", "judge.cli.main", "evaluate", "--all", *on_cluster, *["--retry-held"] * retry_held],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(ROOT), **threads, **self.environment},
            stdout=(self.root / "out").open("a"),
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.judges.append(command)
        return command

    def ended(self, command: subprocess.Popen[str], timeout_s: float = 300) -> Ended:
        """How a command ended, with all output so far."""
        try:
            command.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(self.output()) from None
        assert "Traceback" not in self.output()
        return Ended(command.returncode, self.output(), "")

    def settle(self, retry_held: bool = False) -> int:
        """The number of undisturbed runs until one reported that everything is done."""
        for runs in range(1, 5):
            if self.ended(self.launch(retry_held=retry_held)).status == 0:
                return runs
        raise AssertionError(self.output())

    def output(self) -> str:
        """What all commands have printed so far."""
        return (self.root / "out").read_text()

    def n_claims(self) -> int:
        return sum(key.endswith("claim.json") for key in self.store.list("attempts/"))

    def n_results(self) -> int:
        return sum(key.endswith(".json") for key in self.store.list("results/"))

    def wait_for_claims(self, count: int) -> None:
        """Waits until so many attempts were begun."""
        wait_until(lambda: self.n_claims() >= count, f"{count} claims; {self.output()}", START_S)

    def processes(self, *words: str) -> list[int]:
        """The processes that were started in this world and have all these words in their command lines."""
        return [pid for pid, line in _command_lines(self.root) if all(word in line for word in words)]

    def named_workers(self) -> set[int]:
        """The processes that `judge status` names."""
        status, state = self.run_json_here("status")
        assert status == 0
        return {int(unit["process"].split("/")[2]) for unit in state["running"]}

    def check_nothing_is_left(self) -> None:
        """Checks that, also, no worker and no scheduler is left."""
        super().check_nothing_is_left()
        if self.where:
            wait_until(lambda: not self.processes(WORK), "no worker is left", 60)

    def end(self) -> None:
        """Kills all processes that a failed test left in this world."""
        super().end()
        for pid in [*self.processes(""), *guests(self.root / "run")]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _command_lines(root: Path) -> Iterator[tuple[int, str]]:
    """Process and command line of what runs in the folder `root`."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if Path(os.readlink(path / "cwd")) == root:
                yield int(path.name), (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


@contextmanager
def made_world(
    where: str, *, names: Sequence[str] = QUICK_NAMES, code: str = SLOW_EMT.format(seconds=0.02), **settings: Any
) -> Iterator[ClusterWorld]:
    """A world with submissions of these names and this code."""
    with TemporaryDirectory(prefix="lj") as folder:
        world = ClusterWorld(Path(folder), where=where, **{"suite": QUICK_SUITE, **settings})
        world.prepare()
        world.store.put(ORDER_SECRET, bytes(32))
        for name in names:
            world.submit(name, code)
        try:
            yield world
        finally:
            world.end()


def check_as_alone(world: ClusterWorld, alone: Sequence[str]) -> None:
    """Checks that all is judged, with the digest of one process, and that nothing is lost, doubled or left."""
    assert world.digest_lines() == list(alone), world.output()
    world.check()


def kill_program(pids: Sequence[int], rng: random.Random) -> None:
    """Kills one of these processes that is not the shell of another."""
    programs = [pid for pid in pids if _name(pid) not in ("sh", "bash", "")]
    with suppress(ProcessLookupError):
        os.kill(rng.choice(sorted(programs)), signal.SIGKILL)


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def ssh_settings(sshd: SshServer, folder: Path) -> dict[str, Any]:
    """`[cluster]` for an ssh server, with certificates in a folder."""
    security, files = Security.temporary(), {}
    for name in ("ca_file", "worker_cert", "worker_key"):
        file = folder / name
        file.write_text(getattr(security, f"tls_{name}"))
        files["tls_" + name.removeprefix("worker_")] = str(file)
    return {"hosts": list(sshd.names), "ssh_config": str(sshd.client_config), "interface": "lo", **files}
