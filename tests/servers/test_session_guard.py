"""The processes of a test session end with it, no test hangs, and Ctrl-C always interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import docker
import pytest

from sandbox.drivers.docker_driver import RUN_DIR_LABEL
from tests.servers.rgw import PROGRAMS
from tests.servers.server_process import skip_unless_here, wait_until
from tests.session_guard import SESSION, processes_of

ROOT = Path(__file__).parents[2]
SERVERS = """
import os, tempfile, time
from pathlib import Path
from tests.chromium import launch

def test_servers(rgw, registry, chromium):
    launch(chromium)
    print(os.environ["LAMBENCH_TEST_SESSION"], file=open({ready!r}, "w"))
    time.sleep(100)
"""
JUDGE = """
import os, tempfile, time
from pathlib import Path
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.driver import Question
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from sandbox.wire.session import run_session

def hangs(remote):
    print(os.environ["LAMBENCH_TEST_SESSION"], file=open({ready!r}, "w"))
    time.sleep(100)

def test_judge(images):
    driver = DockerDriver(RunDir(Path(tempfile.mkdtemp())))
    run_session(driver, driver.resolve("lambench/emt:latest"), Limits(), Question(), hangs)
"""
HANGING = """
import os, signal, subprocess, sys, threading

SLEEP = "import time; print(1, flush=True); time.sleep(100)"

def test_hangs():
    threading.Event().wait()

def test_interrupted():
    child = subprocess.Popen([sys.executable, "-c", SLEEP], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == -signal.SIGINT

def test_folders(tmp_path):
    print("folders", os.environ["LAMBENCH_TEST_SESSION"], tmp_path)
"""


def session(folder: Path, test: str, *options: str) -> list[str]:
    """The command that runs `test` with the fixtures and the settings of this project."""
    file = folder / "test_inner.py"
    file.write_text(test)
    settings = ["-c", str(ROOT / "pyproject.toml"), "-p", "tests.conftest", "-p", "no:cacheprovider"]
    return [sys.executable, "-m", "pytest", *settings, *options, str(file)]


def killed_session(tmp_path: Path, test: str, expected: set[str]) -> Path:
    """The folder of a session that was killed while `test` ran, once its processes have ended.

    Args:
        expected: names of programs that the session must have started.
    """
    ready = tmp_path / "ready"
    with (tmp_path / "log").open("w") as log:
        run = subprocess.Popen(session(tmp_path, test.format(ready=str(ready))), cwd=ROOT, stdout=log, stderr=log)
    wait_until(lambda: (ready.exists() and ready.stat().st_size > 0) or run.poll() is not None, "the servers", 120)
    assert run.poll() is None, (tmp_path / "log").read_text()
    folder = Path(ready.read_text().strip().split(":")[-1])
    pids = processes_of(folder)
    assert expected <= {Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids}
    assert folder.is_dir()
    run.kill()
    run.wait()
    wait_until(lambda: not any(runs(pid) for pid in pids), "the servers end with the session", 20)
    return folder


def runs(pid: int) -> bool:
    """Whether a process is neither gone nor a zombie."""
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.slow
def test_servers_and_browsers_end_with_a_session_that_is_killed(tmp_path: Path) -> None:
    skip_unless_here(*PROGRAMS, "docker-registry", "chromium")
    folder = killed_session(tmp_path, SERVERS, {"ceph-mon", "ceph-osd", "radosgw", "docker-registry", "chromium"})
    wait_until(lambda: not folder.exists(), "the folder is removed", 20)


@pytest.mark.docker
def test_a_container_ends_with_a_session_that_is_killed(tmp_path: Path, images: docker.DockerClient) -> None:
    folder = killed_session(tmp_path, JUDGE, set())
    wait_until(lambda: not folder.exists(), "the folder is removed", 20)
    containers = images.api.containers(all=True, filters={"label": RUN_DIR_LABEL})
    assert not [c for c in containers if Path(c["Labels"][RUN_DIR_LABEL]).is_relative_to(folder)]


def test_a_session_whose_shell_ignores_ctrl_c_and_in_which_a_test_hangs(tmp_path: Path) -> None:
    ignoring = ["bash", "-c", 'trap "" INT; exec "$@"', "bash", *session(tmp_path, HANGING, "-o", "timeout=4", "-rP")]
    done = subprocess.run(ignoring, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "1 failed, 2 passed" in done.stdout, done.stdout
    assert "Timeout (>4.0s)" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("folders ")]
    _, folders, kept = line.split(" ")
    wait_until(lambda: not Path(folders.split(":")[-1]).exists(), "the folder of the session is removed", 20)
    assert Path(kept).is_dir()


def test_every_test_has_a_limit(pytestconfig: pytest.Config) -> None:
    assert 0 < float(pytestconfig.getini("timeout")) <= 300


def test_temporary_files_of_child_processes_are_in_the_folder_of_the_session() -> None:
    script = "import tempfile; print(tempfile.gettempdir())"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == tempfile.gettempdir() == os.environ[SESSION].split(":")[-1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
