"""The identity of a process that holds a claim, and whether that process is alive.

An identity is a text `boot/pid-namespace/pid/start/token`. It names one process of one boot of one machine.
"""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path


def process_identity() -> str:
    """The identity of this process. Its token is random: two claims of one process differ."""
    pid = os.getpid()
    return "/".join((_boot(), _pid_namespace(), str(pid), _start_of(pid) or "0", secrets.token_hex(4)))


def host_name() -> str:
    """The machine's name, for people."""
    return socket.gethostname()


def is_surely_gone(identity: str) -> bool:
    """True if `identity` is of this boot and pid namespace, and its process is gone.

    Nothing is known about processes of another machine, boot or container: False.
    """
    parts = identity.split("/")
    if len(parts) != 5 or parts[0] != _boot() or parts[1] != _pid_namespace() or not parts[2].isdigit():
        return False
    start = _start_of(int(parts[2]))
    return not process_exists(int(parts[2])) if start is None else start != parts[3]


def process_exists(pid: int) -> bool:
    """Whether there is a process `pid`, also one of another user that /proc hides (mounted with `hidepid`)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):  # no process has such a large number
        return False
    return True


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"no-boot-id-{socket.gethostname()}"


def _pid_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return "no-namespace"


def _start_of(pid: int) -> str | None:
    """The start time of process `pid` in kernel ticks, empty for a zombie; None if /proc does not show the process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "" if fields[0] in "ZX" else fields[19]
