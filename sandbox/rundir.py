"""The run directory: sockets, the guest, and the locks that distinguish living judges of this host from dead ones.

Whoever uses a run directory holds a lock on a file named by a token of its own. The kernel releases the lock when the
process ends, also after a kill. Containers carry the token as a label, and a file outside of each session folder states
it. So the next judge can remove the leftovers of dead judges, and nothing else.

A container sees the path of its session folder in its mount table, and can ask for the address of the socket. So the
folder's name is random, without token or process ID, and the address is the same for all sessions.
"""

from __future__ import annotations

import fcntl
import os
import resource
import secrets
import shutil
import socket
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from sandbox.guest_archive import guest_archive
from sandbox.verdict import FaultCause, JudgeFault

SOCKET_NAME = "judge.sock"
GUEST_NAME = "guest.pyz"
DATA_NAME, MODEL_NAME = "data", "model"  # what a trainer learns from, and what one has left
LOCKS, SESSIONS, OWNERS = "judges", "sessions", "owners"
MAX_SOCKET_PATH = 107  # of sun_path on Linux, without its terminating zero
OPEN_FOLDERS = Path("/proc/self/fd")
BINDING_FD = 700  # below the usual limit of 1,024, above what a judge has open
_binding = threading.Lock()


def default_run_dir() -> Path:
    """`/run/lambench-judge` for root, else `/tmp/lambench-judge-UID`.

    No variable changes it: the judges of a user's terminals and timers find each other's locks.
    """
    return Path("/run/lambench-judge" if os.geteuid() == 0 else f"/tmp/lambench-judge-{os.geteuid()}")


def make_run_dir(folder: Path) -> None:
    """Makes the run directory `folder`, if it is absent.

    Raises:
        JudgeFault: it is the default one, and belongs to another user.
        OSError: it cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder != default_run_dir():
        return
    if folder.lstat().st_uid != os.geteuid():  # anybody may make a folder or a link of that name in /tmp
        remedy = f"{folder} belongs to another user: ask its owner or root to remove it"
        raise JudgeFault(FaultCause.DISK, remedy)
    folder.chmod(0o700)


class RunDir:
    """This process's lock and sessions in the run directory.

    Raises:
        JudgeFault: the directory cannot be created or belongs to another user, or its path is too long for a socket.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.token = f"{os.getpid()}-{secrets.token_hex(4)}"
        try:
            make_run_dir(self.root)
            for folder in (self._locks, self._sessions, self._owners):
                folder.mkdir(mode=0o700, exist_ok=True)
            weakref.finalize(self, _leave, self.root, self.token, self._hold_lock())
        except OSError as error:
            raise run_dir_fault(self.root, error) from error
        longest = len(os.fsencode(self._sessions / _session_name() / SOCKET_NAME))
        if longest > MAX_SOCKET_PATH:
            raise JudgeFault(
                FaultCause.DISK, f"the path of {self.root} is too long for a socket: set a shorter run_dir"
            )

    @property
    def _locks(self) -> Path:
        return self.root / LOCKS

    @property
    def _sessions(self) -> Path:
        return self.root / SESSIONS

    @property
    def _owners(self) -> Path:
        return self.root / OWNERS

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
        folder = self._sessions / _session_name()
        owner = self._owners / folder.name
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            try:
                owner.write_text(self.token)  # first: a folder that nobody owns is removed
                _prepare(folder, listener)
            except OSError as error:
                remedy = f"cannot prepare {folder} ({error.strerror}): free some space"
                raise JudgeFault(FaultCause.DISK, remedy) from error
            yield folder, listener
        finally:  # also if a signal interrupts the preparation
            listener.close()
            _remove(folder, owner)

    def dead(self, token: str) -> bool:
        """Whether the judge with this `token` no longer lives on this host."""
        return _is_dead(self._locks, token)

    def left_sessions(self) -> list[Path]:
        """The session folders of dead judges."""
        return _left_sessions(self.root)

    def sweep(self) -> int:
        """Removes session folders and locks of dead judges; returns the number of session folders removed."""
        left = self.left_sessions()
        for folder in left:
            shutil.rmtree(folder, ignore_errors=True)
        for owner in self._owners.iterdir():
            token = _read_owner(owner)  # empty while its judge writes it
            if token and self.dead(token) and not (self._sessions / owner.name).exists():
                owner.unlink(missing_ok=True)
        for lock in self._locks.iterdir():
            if not lock.name.startswith(".") and self.dead(lock.name):
                lock.unlink(missing_ok=True)
        return len(left)


def is_something_left(root: Path) -> bool:
    """Whether a dead judge left a session in the run directory `root`; its container may still run.

    Raises:
        JudgeFault: the directory is another user's.
    """
    try:
        return bool(_left_sessions(root))
    except PermissionError as error:
        raise run_dir_fault(root, error) from error


def run_dir_fault(root: Path, error: OSError) -> JudgeFault:
    """The fault of a run directory that this user cannot use."""
    return JudgeFault(FaultCause.DISK, f"cannot write to the run directory {root} ({error.strerror}): set run_dir")


def _session_name() -> str:
    return secrets.token_hex(8)


def _prepare(folder: Path, listener: socket.socket) -> None:
    """Makes the session's folder, which any user may enter, with the guest and the socket."""
    folder.mkdir(mode=0o711)
    folder.chmod(0o711)
    guest = folder / GUEST_NAME
    guest.write_bytes(guest_archive())
    guest.chmod(0o444)
    _bind(listener, folder)
    (folder / SOCKET_NAME).chmod(0o666)
    listener.listen(1)


def _bind(listener: socket.socket, folder: Path) -> None:
    """Binds `listener` to the socket in `folder`, with an address that does not state the folder's path.

    A peer of a socket reads the path that was bound. It is `/proc/self/fd/700/judge.sock` here, for every session.
    """
    if not OPEN_FOLDERS.is_dir():  # no Linux: then no containers, either
        listener.bind(str(folder / SOCKET_NAME))
        return
    opened = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with _binding:
            os.dup2(opened, _binding_fd(), inheritable=False)
            listener.bind(str(OPEN_FOLDERS / str(_binding_fd()) / SOCKET_NAME))
    finally:
        os.close(opened)


@cache
def _binding_fd() -> int:
    """A descriptor that this process keeps for binding, so that its number stays the same."""
    opened = os.open("/", os.O_RDONLY | os.O_CLOEXEC)
    try:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, min(BINDING_FD, most // 2))
    finally:
        os.close(opened)


def _leave(root: Path, token: str, lock: int) -> None:
    """Removes sessions that were interrupted while they were removed, and releases the lock."""
    if token.startswith(f"{os.getpid()}-"):  # a forked child has the sessions of its parent
        for owner in (root / OWNERS).glob("*"):
            if _read_owner(owner) == token:
                _remove(root / SESSIONS / owner.name, owner)
    os.close(lock)


def _remove(folder: Path, owner: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    owner.unlink(missing_ok=True)


def _left_sessions(root: Path) -> list[Path]:
    """The session folders in the run directory `root` that belong to no living judge."""
    sessions = root / SESSIONS
    folders = sorted(sessions.iterdir()) if sessions.is_dir() else []
    return [folder for folder in folders if _is_dead(root / LOCKS, _read_owner(root / OWNERS / folder.name))]


def _read_owner(owner: Path) -> str:
    """The token of the judge that a session belongs to; empty if no file states it."""
    try:
        return owner.read_text()
    except FileNotFoundError:
        return ""


def _is_dead(locks: Path, token: str) -> bool:
    """Whether no process holds the lock of `token`; nobody holds that of an empty one."""
    if not token:
        return True
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
