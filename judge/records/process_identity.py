"""Who holds a claim: a text that names one process of one boot of one machine, and whether that process still lives."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path


def own_name() -> str:
    """This process as `boot/pid-namespace/pid/start/token`; the token tells two claims of one process apart."""
    pid = os.getpid()
    return "/".join((_boot(), _pid_namespace(), str(pid), _start_of(pid) or "0", secrets.token_hex(4)))


def host_name() -> str:
    """The machine's name, for people."""
    return socket.gethostname()


def surely_gone(owner: str) -> bool:
    """True if `owner` was a process of this kernel's boot and this pid namespace, and is no more.

    Of any other machine, boot or container nothing can be said from here: False.
    """
    parts = owner.split("/")
    if len(parts) != 5 or parts[0] != _boot() or parts[1] != _pid_namespace() or not parts[2].isdigit():
        return False
    return _start_of(int(parts[2])) != parts[3]


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
    """When process `pid` started, in the kernel's ticks; None where there is none, or only its zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]
