"""Wrong options and settings of `--cluster` get one line; a worker's process ends with its Dask worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from judge.cluster.engine import in_slurms_words, lifetime
from judge.cluster.work_process import WorkOutcome
from judge.records.attempts import LEFT
from tests.judge.cluster.cluster_world import WORK, ClusterWorld
from tests.servers.server_process import wait_until
from tests.world.commands import ROOT
from tests.world.world import World


def test_ctrl_c_stays_what_it_was() -> None:
    script = "import signal; import judge.cluster.engine; print(signal.getsignal(signal.SIGINT))"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(signal.default_int_handler)


@pytest.mark.parametrize(
    ("where", "cluster", "line"),
    [
        ("local", {}, "--cluster local: say how many workers at most: --jobs N"),
        ("ssh", {}, "set tls_ca_file, tls_cert and tls_key in [cluster], or tls = false on a network of your own"),
        ("ssh", {"tls": False}, '--cluster ssh: name the hosts: hosts = ["a", "b"] in [cluster] of judge.toml'),
        ("tcp://127.0.0.1:1", {"tls": False}, "--cluster tcp://127.0.0.1:1: no Dask scheduler answers there: "),
        ("nonsense://x", {"tls": False}, "--cluster nonsense://x: no Dask scheduler answers there: "),
        ("local", {"queu": "x"}, "cluster.queu: there is no such setting"),
        ("slurm", {"walltime": "a day"}, "cluster.walltime: "),
        ("slurm", {"walltime": "00:00:30"}, "cluster.walltime: "),
    ],
)
def test_wrong_settings_get_one_line(
    world: World, monkeypatch: pytest.MonkeyPatch, where: str, cluster: dict[str, object], line: str
) -> None:
    monkeypatch.setattr("judge.cluster.engine.CONNECT_S", 1)
    world.with_settings(cluster=cluster).write_settings()
    jobs = () if "--jobs" in line else ("--jobs", "1")
    if where == "ssh":
        jobs = ()
    status, out, err = world.run_here("evaluate", "--all", "--cluster", where, *jobs)
    assert status == 2, err
    assert line in err, err
    assert len(err.splitlines()) == 1
    assert out == ""


def test_without_the_extra_one_line_says_what_to_install(world: World, tmp_path: Path) -> None:
    """In a Python that finds everything but Dask."""
    world.write_settings()
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.abc, importlib.util, sys\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'distributed' else found(name, *more)\n"
    )
    status, _, err = world.run("evaluate", "--all", "--cluster", "local", PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert (status, err) == (2, "judge: --cluster needs distributed: pip install 'lambench-judge[cluster]'\n")


def test_a_login_node_is_needed_for_slurm(world: World) -> None:
    world.write_settings()
    empty = world.root / "no-programs"
    empty.mkdir()
    status, _, err = world.run("evaluate", "--all", "--cluster", "slurm", "--jobs", "1", PATH=str(empty))
    assert status == 2, err
    assert "there is no sbatch here: run this command on a login node" in err


def test_times_are_as_slurm_reads_them() -> None:
    assert in_slurms_words(timedelta(hours=4)) == "0-04:00:00"
    assert in_slurms_words(timedelta(days=2, hours=3, minutes=4, seconds=5)) == "2-03:04:05"
    for walltime in (timedelta(minutes=1), timedelta(hours=4), timedelta(days=2)):
        assert walltime / 2 < lifetime(walltime) < walltime


@pytest.mark.parametrize(
    ("status", "summary", "lost"),
    [(0, "{}", False), (1, "{}", False), (3, "{}", False), (3, "", True), (130, "", True), (-9, "", True)],
)
def test_a_worker_is_lost_unless_it_says_what_it_did(status: int, summary: str, lost: bool) -> None:
    assert WorkOutcome(host="a", status=status, summary=summary).lost is lost


def test_a_worker_gets_sigterm_when_its_parent_is_killed(world: World) -> None:
    world.write_settings()
    world.submit("slow", "import time\ndef make_calculator():\n    time.sleep(25)\n")
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT], cwd=world.root, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    wait_until(lambda: any(key.endswith("claim.json") for key in world.store.list("attempts/")), "a claim", 60)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not _workers_in(world.root), "the worker ends", 30)
    assert not list((world.root / "run" / "sessions").iterdir())


def test_further_sigterms_do_not_disturb_a_worker_that_leaves(world: World) -> None:
    """Slurm sends one to each process of a job, the kernel when the Dask worker dies, and that one when it closes."""
    world.write_settings()
    world.submit("slow", "import time\ndef make_calculator():\n    time.sleep(25)\n")
    worker = world.command("work", "--all")
    wait_until(lambda: any(key.endswith("claim.json") for key in world.store.list("attempts/")), "a claim", 60)
    while worker.poll() is None:
        worker.send_signal(signal.SIGTERM)
        time.sleep(0.002)
    worker.communicate()
    assert worker.returncode in (130, -signal.SIGTERM)  # the latter at the very end of Python
    (beat,) = [key for key in world.store.list("attempts/") if key.endswith("beat.json")]
    assert world.store.get(beat) == LEFT
    assert not list((world.root / "run" / "sessions").iterdir())


_PARENT = """
import os, subprocess, sys
subprocess.run([sys.executable, "-m", "judge.cluster.tied_work", str(os.getpid()), "--all"])
"""


def _workers_in(root: Path) -> list[int]:
    return ClusterWorld(root).processes(WORK)
