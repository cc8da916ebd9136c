"""A real OpenSSH server on loopback, for root alone, with keys and accounts of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from tests.servers.server_process import ServerProcess, answers, free_port, skip_unless_here, start_with_patience
from tests.world.commands import ROOT

START_S = 20
# Accounts of its own, in a mount namespace: the machine need not have the user sshd.
ACCOUNTS = """root:*:0:0:root:/root:/bin/bash
sshd:*:22:65534::/run/sshd:/usr/sbin/nologin
"""
BEHIND_THEM = 'mount --bind "$1/passwd" /etc/passwd && shift && exec "$@"'
CONFIG = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile {folder}/pid
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
SetEnv {variables}
"""
CLIENT = """Host {names}
    HostName 127.0.0.1
    Port {port}
    User root
    IdentityFile {folder}/user_key
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    StrictHostKeyChecking yes
"""


def _arithmetic() -> dict[str, str]:
    """The variables by which OpenBLAS and OpenMP choose how they compute: the last bits depend on them."""
    here = {name: value for name, value in os.environ.items() if name.startswith(("OPENBLAS_", "OMP_"))}
    return {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **here}


class SshServer:
    """An sshd on a port of its own. `client_config` makes it known by several host names.

    Args:
        folder: of its own.
    """

    names = ("first", "second")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self._process: ServerProcess | None = None

    @property
    def client_config(self) -> Path:
        """A file in the format of ssh_config(5)."""
        return self.folder / "client_config"

    def start(self) -> None:
        """Starts it, and returns when it answers."""
        skip_unless_here("sshd", "ssh-keygen", "unshare")
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
            pytest.skip("sshd with accounts of its own needs root, who may unshare mounts")
        start_with_patience(self._start, self.stop)

    def stop(self) -> None:
        """Ends it; its sessions go on."""
        if self._process:
            self._process.kill()

    def kill(self) -> None:
        """Kills it with all its connections; the programs that they started go on."""
        self.stop()
        for pid in self.processes("sshd:"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def end_programs(self) -> None:
        """Kills what its connections started, too."""
        self.kill()
        for pid in self.processes(""):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes(self, word: str) -> list[int]:
        """The processes of this server and its connections that have `word` in their command lines."""
        found, mark = [], f"LAMBENCH_SSHD={self.folder}".encode()
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                marked = mark in (path / "environ").read_bytes().split(b"\0")
                if marked and word.encode() in (path / "cmdline").read_bytes():
                    found.append(int(path.name))
        return found

    def restart(self) -> None:
        """Serves the same port again."""
        self._serve()

    def _start(self) -> None:
        self.port = free_port()
        for name in ("host_key", "user_key"):
            for old in (self.folder / name, self.folder / f"{name}.pub"):
                old.unlink(missing_ok=True)
            key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)]
            subprocess.run(key, check=True, timeout=START_S, stdin=subprocess.DEVNULL)
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # its privileges are separated there
        # A test session knows its processes by this variable, and ends them.
        variables = f"LAMBENCH_TEST_SESSION={os.environ['LAMBENCH_TEST_SESSION']} TMPDIR={tempfile.gettempdir()}"
        variables += f" LAMBENCH_SSHD={self.folder} PYTHONPATH={ROOT}"
        variables += "".join(f' {name}="{value}"' for name, value in _arithmetic().items())
        (self.folder / "sshd_config").write_text(CONFIG.format(port=self.port, folder=self.folder, variables=variables))
        (self.folder / "passwd").write_text(ACCOUNTS)
        host_key = " ".join((self.folder / "host_key.pub").read_text().split()[:2])
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key}\n")
        self.client_config.write_text(CLIENT.format(names=" ".join(self.names), port=self.port, folder=self.folder))
        self._serve()

    def _serve(self) -> None:
        sshd = [str(shutil.which("sshd")), "-D", "-e", "-f", str(self.folder / "sshd_config")]
        behind = ["unshare", "--mount", "--propagation", "private", "sh", "-c", BEHIND_THEM, "sh", str(self.folder)]
        command = ["env", f"LAMBENCH_SSHD={self.folder}", *behind, *sshd]
        self._process = ServerProcess(command, self.folder / "sshd.log")
        self._process.wait_until(lambda: answers(self.port), START_S)
