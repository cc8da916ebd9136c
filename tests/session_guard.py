"""Ends the processes of a test session and removes its folder at the session's end, also if it was killed.

Each session has a folder for temporary files, and names it in a variable that all its child processes inherit. The
guard is a process of its own: it waits for the end of the session, then kills every process with that name in its
environment, removes the containers of judges that ran in the folder, and removes the folder.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
SESSION = "LAMBENCH_TEST_SESSION"
KILL_S = 10
_guards: list[subprocess.Popen[bytes]] = []


def begin_session() -> Path:
    """The session's folder, where it and its child processes put temporary files.

    The path is short, since the path of a socket has at most 107 bytes.
    """
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # pytest's `tmp_path` outlives the session
    folder = Path(tempfile.mkdtemp(prefix="lt", dir="/tmp"))
    guard = subprocess.Popen(
        [sys.executable, "-m", "tests.session_guard", str(os.getpid()), str(folder)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != SESSION},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _guards.append(guard)
    os.environ[SESSION] = ":".join(filter(None, (os.environ.get(SESSION), str(folder))))
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    return folder


def processes_of(folder: Path) -> list[int]:
    """The processes that the session of this folder started, without the session itself."""
    pids = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return [pid for pid in pids if _is_of(pid, folder)]


def _is_of(pid: int, folder: Path) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # the process has ended, or is another user's
        return False
    sessions = [value for name, _, value in (entry.partition(b"=") for entry in variables) if name == SESSION.encode()]
    return any(os.fsencode(folder) in folders.split(b":") for folders in sessions)


def main(pid: int, folder: Path) -> None:
    """Waits until the session `pid` ends, then removes all that it left."""
    _wait_for_end(pid)
    _kill_processes(folder)
    with suppress(Exception):  # there is no engine, or it does not answer
        _remove_containers(folder)
    _unmount_below(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _wait_for_end(pid: int) -> None:
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        if os.getppid() == pid:
            select.select([handle], [], [])


def _kill_processes(folder: Path) -> None:
    until = time.monotonic() + KILL_S
    while (pids := processes_of(folder)) and time.monotonic() < until:
        for pid in pids:
            with suppress(OSError):
                _kill(pid, folder)
        time.sleep(0.05)


def _kill(pid: int, folder: Path) -> None:
    """Kills the process unless it has ended and another has its number."""
    handle = os.pidfd_open(pid)
    try:
        if _is_of(pid, folder):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        os.close(handle)


def _remove_containers(folder: Path) -> None:
    from sandbox.drivers.docker_driver import RUN_DIR_LABEL, connect_engine

    engine = connect_engine()
    for container in engine.api.containers(all=True, filters={"label": RUN_DIR_LABEL}):
        if Path(container["Labels"][RUN_DIR_LABEL]).is_relative_to(folder):
            engine.api.remove_container(container["Id"], force=True)


def _unmount_below(folder: Path) -> None:
    points = [Path(line.split()[4]) for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in sorted((point for point in points if point.is_relative_to(folder)), reverse=True):
        subprocess.run(["umount", "--lazy", str(point)], check=False, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
