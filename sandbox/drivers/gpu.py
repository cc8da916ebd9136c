"""GPUs of this machine, by UUID, and the lock that allows one submission at a time on each GPU of the host."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from sandbox.verdict import FaultCause, JudgeFault

_UUID = re.compile(r"^\s*(?:GPU|MIG)\s.*?:?\s*(.*?)\s*\(UUID: ((?:GPU|MIG)-[0-9A-Za-z/-]+)\)")


class Gpu(NamedTuple):
    """A GPU, or a MIG slice, which counts as a separate device."""

    uuid: str
    name: str


def parse_gpus(listing: str) -> list[Gpu]:
    """The devices that the output of `nvidia-smi -L` lists."""
    matches = (_UUID.match(line) for line in listing.splitlines())
    return [Gpu(match[2], match[1].lstrip("0123456789: ")) for match in matches if match]


def _nvidia_smi(*arguments: str) -> tuple[str, bool]:
    """The lines that nvidia-smi prints, and whether it succeeds; none and False if there is no driver.

    Raises:
        JudgeFault: it does not answer.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return "", False
    try:
        answer = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JudgeFault(FaultCause.GPU, f"nvidia-smi does not answer ({error}): check the driver") from error
    return answer.stdout, answer.returncode == 0


def list_gpus() -> list[Gpu]:
    """All GPUs that the NVIDIA driver lists; empty if there is no driver."""
    listing, succeeded = _nvidia_smi("-L")
    return parse_gpus(listing) if succeeded else []


def still_has_gpu(uuid: str) -> bool:
    """Whether the NVIDIA driver still lists that GPU. It does not if the GPU fell off the bus or its driver died.

    Only the printed lines count: nvidia-smi also returns an error if another GPU is lost.
    """
    with suppress(JudgeFault):
        listing, _ = _nvidia_smi("-L")
        return any(gpu.uuid == uuid for gpu in parse_gpus(listing))
    return False


def gpu_driver_version() -> str:
    """The version of the NVIDIA driver; empty if there is no driver, or no version."""
    with suppress(JudgeFault):
        versions, succeeded = _nvidia_smi("--query-gpu=driver_version", "--format=csv,noheader")
        return versions.split("\n", 1)[0].strip()[:64] if succeeded else ""
    return ""


def require_gpus(uuids: list[str]) -> list[Gpu]:
    """The GPUs that `uuids` name.

    Raises:
        JudgeFault: this machine lacks one of them. The CPU never replaces it.
    """
    present = {gpu.uuid: gpu for gpu in list_gpus()}
    for uuid in uuids:
        if uuid not in present:
            have = ", ".join(present) or "none"
            raise JudgeFault(
                FaultCause.GPU,
                f"GPU {uuid} is not in this machine (it has {have}): name another UUID, as `nvidia-smi -L` lists them",
            )
    return [present[uuid] for uuid in uuids]


@contextmanager
def hold_gpu(uuid: str, lock_dir: Path, wait_s: float | None = None) -> Iterator[None]:
    """Holds GPU `uuid` for one submission; waits until the present holder releases it.

    Args:
        wait_s: the longest wait; None: without limit.

    Raises:
        JudgeFault: GPU: it did not become free in time.
    """
    lock_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(lock_dir / f"{uuid.replace('/', '_')}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        if wait_s is None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        elif not _locked_within(handle, wait_s):
            remedy = "wait until it is free, or name another GPU"
            raise JudgeFault(FaultCause.GPU, f"GPU {uuid} is still used by another judge: {remedy}")
        yield
    finally:
        os.close(handle)


def _locked_within(handle: int, wait_s: float) -> bool:
    """Whether the lock was taken in time. If not, the caller closes `handle`, which ends the wait.

    A thread waits in the kernel's queue. Polling would fail against a busy judge that retakes the lock at once.
    """
    with suppress(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    if wait_s <= 0:
        return False
    had = threading.Event()

    def lock() -> None:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
            had.set()

    threading.Thread(target=lock, name="GPU lock", daemon=True).start()
    return had.wait(wait_s)
