"""The process driver: the same guest in a local subprocess. No isolation at all.

For authors on their own machines, for tests, and for machines without Docker. A reference is a folder. It may name
the Python and the calculator: `FOLDER?python=/path/to/python&calculator=module:factory`. These values are escaped as
in the query of a URL.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlencode

from sandbox.driver import DriverName, Image, Login, Question
from sandbox.drivers.environment import environment
from sandbox.evidence import Exit
from sandbox.image.image_check import MACHINE, check_factory, invalid
from sandbox.limits import Limits
from sandbox.rundir import GUEST_NAME, RunDir
from sandbox.verdict import FaultCause, JudgeFault

DEFAULT_CALCULATOR = "calculator:make_calculator"
NOT_HASHED = frozenset({"var", "lambench-receipt.json"})  # written by commands that run in the folder itself
LOG_BYTES = 16_384


class ProcessDriver:
    """Runs submissions as subprocesses of this one, with this user's rights."""

    name: DriverName = "process"
    engine: str = ""
    disks: tuple[Path, ...] = ()

    def __init__(self, run_dir: RunDir) -> None:
        self.run_dir = run_dir

    def resolve(self, reference: str) -> Image:
        """The folder as an image; its ID is the hash of its content, without `var` and the receipt of a check."""
        path, _, query = reference.partition("?")
        settings = {key: values[-1] for key, values in parse_qs(query).items()}
        folder = Path(reference if Path(reference).is_dir() else path).absolute()
        if "?" in str(folder):
            raise invalid(f"The path {str(folder)!r} has a question mark, which begins settings: rename the folder.")
        if not folder.is_dir():
            raise invalid(f"There is no folder {path!r}: the process driver takes a folder with a calculator in it.")
        python = shutil.which(settings.get("python", sys.executable))
        if python is None:
            raise invalid(f"There is no Python {settings['python']!r}: name one with --python.")
        calculator = check_factory(settings.get("calculator", DEFAULT_CALCULATOR), "calculator")
        trainer = settings.get("trainer", "")
        stated = {"python": python, "calculator": calculator} | ({"trainer": trainer} if trainer else {})
        return Image(
            reference=f"{folder}?{urlencode(stated, safe='/:')}",
            id=f"process:{_hash_folder(folder, ' '.join(stated.values()))}",
            driver="process",
            python=(python,),
            calculator=calculator,
            trainer=trainer,
            architecture=MACHINE,
        )

    def pull(self, reference: str, login: Login | None = None) -> None:
        """Raises a JudgeFault: a folder is in no registry."""
        raise JudgeFault(FaultCause.REGISTRY, f"{reference} is an image: it is run with --driver docker, not process")

    def session(self, image: Image) -> AbstractContextManager[tuple[Path, socket.socket]]:
        """The folder and the socket of one session; see `sandbox.driver.Driver`."""
        return self.run_dir.session()

    def start(self, image: Image, limits: Limits, question: Question, session_dir: Path) -> ProcessRunning:
        """Starts the guest in the submission's folder; see `sandbox.driver.Driver.start`."""
        folder = Path(image.reference.partition("?")[0])
        tmp = session_dir / "tmp"
        tmp.mkdir()
        out = session_dir / "out"
        out.mkdir()
        variables = {**os.environ, **environment(image, limits, question, str(session_dir), str(tmp), str(out))}
        variables.pop("NVIDIA_VISIBLE_DEVICES")
        if question.gpu:
            variables["CUDA_VISIBLE_DEVICES"] = question.gpu
        log = session_dir / "log"
        try:
            with log.open("wb") as output:
                process = subprocess.Popen(
                    [*image.python, str(session_dir / GUEST_NAME)],
                    cwd=folder,
                    env=variables,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise JudgeFault(FaultCause.DISK, f"cannot start {image.python[0]} ({error.strerror})") from error
        return ProcessRunning(process, log)

    def reap(self) -> int:
        """Removes sessions of dead judges from the run directory. Their guests end by themselves: the socket closes."""
        return self.run_dir.sweep()


class ProcessRunning:
    """One subprocess, and the processes that it started."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log
        self._memory_bytes: int | None = None

    def alive(self) -> bool:
        """Whether the guest still runs."""
        if self._process.returncode is not None:
            return False
        pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        if not pid:
            return True
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._memory_bytes = usage.ru_maxrss * 1024
        return False

    def stop(self, grace_s: float) -> Exit:
        """Ends the process group; see `sandbox.driver.Running.stop`."""
        until = time.monotonic() + grace_s
        while self.alive() and time.monotonic() < until:
            time.sleep(0.005)
        code = self._process.returncode
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        while self.alive():
            time.sleep(0.005)
        log = self._log.read_bytes()[-LOG_BYTES:].decode("utf-8", "replace") if self._log.exists() else ""
        if code is not None and code < 0:
            code = 128 - code
        return Exit(code=code, memory_bytes=self._memory_bytes, log=log)


def _hash_folder(folder: Path, extra: str) -> str:
    """sha256 of the names and contents of the files in `folder`, without compiled files and those of the judge."""
    digest = hashlib.sha256(extra.encode())
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        name = path.relative_to(folder)
        if name.parts[0] in NOT_HASHED:
            continue
        digest.update(os.fsencode(f"{name}\0{path.stat().st_size}\0"))  # a name may be no UTF-8
        digest.update(path.read_bytes())
    return digest.hexdigest()
