"""The run directory: sockets, the guest, and the locks that distinguish living judges of this host from dead ones.

Every judge process holds a lock on a file named by its token while it lives. The kernel releases the lock, whatever
ends the process. Session folders and containers carry the token. So the next judge can remove the leftovers of dead
judges, and nothing else.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.guest_archive import guest_archive
from sandbox.verdict import FaultCause, JudgeFault

SOCKET_NAME = "judge.sock"
GUEST_NAME = "guest.pyz"
MAX_SOCKET_PATH = 107  # of sun_path on Linux, without its terminating zero


def default_run_dir() -> Path:
    """`/run/lambench-judge` for root, else a folder in the user's runtime directory or in `/tmp`."""
    if os.geteuid() == 0:
        return Path("/run/lambench-judge")
    base = os.environ.get("XDG_RUNTIME_DIR")
    return Path(base) / "lambench-judge" if base else Path(f"/tmp/lambench-judge-{os.geteuid()}")


class RunDir:
    """This process's lock and sessions in the run directory.

    Raises:
        JudgeFault: the directory cannot be created, or its path is too long for a socket.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.token = f"{os.getpid()}-{secrets.token_hex(4)}"
        try:
            for folder in (self.root, self._locks, self._sessions):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = self._hold_lock()
        except OSError as error:
            raise JudgeFault(
                FaultCause.DISK, f"cannot write to the run directory {self.root} ({error.strerror}): set run_dir"
            ) from error
        longest = len(os.fsencode(self._sessions / f"{self.token}-{'0' * 8}" / SOCKET_NAME))
        if longest > MAX_SOCKET_PATH:
            raise JudgeFault(
                FaultCause.DISK, f"the path of {self.root} is too long for a socket: set a shorter run_dir"
            )

    @property
    def _locks(self) -> Path:
        return self.root / "judges"

    @property
    def _sessions(self) -> Path:
        return self.root / "s"

    def _hold_lock(self) -> int:
        # Locked before it gets its name: a living judge's lock file is never seen unlocked.
        hidden = self._locks / f".{self.token}"
        handle = os.open(hidden, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        hidden.rename(self._locks / self.token)
        return handle

    @contextmanager
    def session(self) -> Iterator[tuple[Path, socket.socket]]:
        """A new folder that holds the guest and a socket, which listens for one connection."""
        # A random name, no counter: a container sees this path in its mount table, and must not learn its number.
        folder = self._sessions / f"{self.token}-{secrets.token_hex(4)}"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            folder.mkdir(mode=0o711)
            folder.chmod(0o711)
            guest = folder / GUEST_NAME
            guest.write_bytes(guest_archive())
            guest.chmod(0o444)
            listener.bind(str(folder / SOCKET_NAME))
            (folder / SOCKET_NAME).chmod(0o666)
            listener.listen(1)
        except OSError as error:
            listener.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise JudgeFault(FaultCause.DISK, f"cannot prepare {folder} ({error.strerror}): free some space") from error
        try:
            yield folder, listener
        finally:
            listener.close()
            shutil.rmtree(folder, ignore_errors=True)

    def dead(self, token: str) -> bool:
        """Whether the judge with this `token` no longer lives on this host."""
        return _is_dead(self._locks, token)

    def sweep(self) -> int:
        """Removes session folders and locks of dead judges; returns the number of session folders removed."""
        removed = 0
        for folder in self._sessions.iterdir():
            if self.dead(folder.name.rpartition("-")[0]):
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
        for lock in self._locks.iterdir():
            if not lock.name.startswith(".") and self.dead(lock.name):
                lock.unlink(missing_ok=True)
        return removed


def is_something_left(root: Path) -> bool:
    """Whether a dead judge left a session in the run directory `root`; its container may still run."""
    sessions = root / "s"
    folders = list(sessions.iterdir()) if sessions.is_dir() else []
    return any(_is_dead(root / "judges", folder.name.rpartition("-")[0]) for folder in folders)


def _is_dead(locks: Path, token: str) -> bool:
    try:
        handle = os.open(locks / token, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True
