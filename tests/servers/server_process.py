"""Server processes on loopback: start, wait until ready, stop."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

TRIES = 3


class ServerFailed(RuntimeError):
    """A server does not start; the message holds the end of its log."""


def skip_unless_here(*programs: str) -> None:
    """Skips the current test if one of `programs` is not installed, and names it."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"no {program}: setup/servers.sh installs it (Debian, as root)")


def free_port() -> int:
    """A free port of the loopback.

    It is below the range from which the kernel takes ports for connections, so that no connection takes it first.
    """
    for _ in range(100):
        port = random.randrange(15_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ServerFailed("no free port between 15000 and 32000")


def start_with_patience(start: Callable[[], None], stop: Callable[[], None]) -> None:
    """Calls `start()` until it succeeds, at most three times: another program may take its port first."""
    for _ in range(TRIES - 1):
        try:
            start()
        except ServerFailed:
            stop()
        else:
            return
    start()


def answers(port: int) -> bool:
    """Whether something listens on `port` of the loopback."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class ServerProcess:
    """A server in the foreground; its output goes to a file."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.log = log
        with log.open("ab") as words:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                start_new_session=True,  # Ctrl-C reaches the test run only, which then stops the server
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until(self, ready: Callable[[], bool], deadline_s: float) -> None:
        """Returns when `ready()` is true.

        Raises:
            ServerFailed: it ended, or is not ready in time.
        """
        deadline = time.monotonic() + deadline_s
        while not ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise ServerFailed(f"{self._process.args!r}: {self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kills it; its data are lost."""
        self._process.kill()
        self._process.wait()


def wait_until(holds: Callable[[], bool], what: str, timeout_s: float = 300) -> None:
    """Returns when `holds()` is true."""
    until = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < until, f"waited {timeout_s:g} s: {what}"
        time.sleep(0.02)
