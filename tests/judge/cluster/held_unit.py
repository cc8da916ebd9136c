"""One unit that waits until it was interrupted. Each worker has a run directory of its own, as a host has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from judge.records.attempts import read_histories
from judge.records.records import Claim
from submissions.store.read_record import read_record
from tests.judge.cluster.cluster_world import QUICK_SUITE, ClusterWorld, MakeCluster, check_as_alone
from tests.servers.server_process import wait_until
from tests.world.commands import ROOT

HELD_AT = 60
"""Calls of the model, of about 82."""
HOLD_S = 200
SUITE = QUICK_SUITE.partition("[[tasks]]")[0] + "[[tasks]]" + QUICK_SUITE.rpartition("[[tasks]]")[2]
# Each structure gets its own neighbour list, so that the same question has the same bytes in a fresh process.
MODEL = f"""
import os, time
from ase.calculators.emt import EMT

class HeldEMT(EMT):
    def calculate(self, atoms, *args):
        fresh = EMT()
        fresh.calculate(atoms)
        self.results = fresh.results
        with open("../calls", "a") as file:
            file.write(".")
        while os.path.exists("../hold") and os.path.getsize("../calls") >= {HELD_AT}:
            time.sleep(0.02)

def make_calculator():
    return HeldEMT()
"""
# Of each Python below the command: a worker saves and copies each state, and shares no run directory.
SITE = """
import os, sys

if sys.orig_argv[1:4] == ["-m", "judge.cli.main", "work"]:
    import judge.evaluation.moving_checkpoint
    import tasks.observing.checkpoints

    judge.evaluation.moving_checkpoint.COPY_EVERY_S = 0.0
    tasks.observing.checkpoints.SAVE_EVERY_S = 0.0
    os.environ["LAMBENCH_RUN_DIR"] = os.path.abspath(f"run-{os.getpid()}")
"""


def make_held(make: MakeCluster, where: str, *, jobs: int = 1, **settings: Any) -> ClusterWorld:
    """A world of that unit, which does not wait yet."""
    world = make(where, names=("one",), code=MODEL, suite=SUITE, jobs=jobs, message_s=HOLD_S, **settings)
    own = world.root / "python"
    own.mkdir()
    (own / "sitecustomize.py").write_text(SITE)
    world.environment = {**world.environment, "PYTHONPATH": f"{own}:{ROOT}"}
    return world


def n_calls(world: ClusterWorld) -> int:
    calls = world.root / "calls"
    return calls.stat().st_size if calls.exists() else 0


def wait_until_held(world: ClusterWorld) -> int:
    """The worker, once its unit waits and the last state is in the store."""
    wait_until(lambda: n_calls(world) >= HELD_AT and bool(copies(world)), f"it is held; {world.output()}", 120)
    (worker,) = world.named_workers()
    return worker


def go_on(world: ClusterWorld, worker: int, timeout_s: float = 60) -> None:
    """Waits for the end of the worker that was interrupted; then no worker waits any more."""
    wait_until(lambda: not Path(f"/proc/{worker}").exists(), "the worker ends", timeout_s)
    (world.root / "hold").unlink()


def copies(world: ClusterWorld) -> list[str]:
    """The keys of copies of checkpoints."""
    return [key for key in world.store.list("attempts/") if "/checkpoint-" in key]


def check_it_went_on(world: ClusterWorld, alone: ClusterWorld) -> None:
    """Checks that a second worker did the rest alone, and that the result is that of a unit that nobody interrupted."""
    whole = n_calls(alone)
    assert 0.6 * whole < HELD_AT < 0.9 * whole
    assert n_calls(world) <= whole + 0.2 * whole, "steps before the checkpoint were done again"
    check_as_alone(world, alone.digest_lines())
    assert [result.provenance.resumed for result in world.results()] == [True]
    (prefix,) = read_histories(world.store, [result.submission for result in world.results()])
    owners = {read_record(world.store, f"{prefix}{n}/claim.json", Claim).owner for n in (1, 2)}
    assert len(owners) == 2
    assert len(list(world.root.glob("run-*/turns"))) >= 2
    assert not copies(world)
