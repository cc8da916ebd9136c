"""The wheels of an example, downloaded on this machine with the user's own pip settings.

The download is not part of an image's build: so indexes, proxies and certificates are set in one place, pip's
configuration. A find-links or an extra index there also chooses CPU builds of torch.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import sys
from pathlib import Path

from judge.data.folder_lock import lock_of
from judge.demo.cache import cache_folder, run_quietly
from judge.demo.examples import BASE, requirements_of
from sandbox.verdict import FaultCause, JudgeFault

COMPLETE = ".complete"
CUDA = "nvidia_c*.whl"
CUDA_NOTE = "Note: pip found a CUDA build of torch. Point pip at the CPU wheels to save gigabytes."
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""The Python that the wheels are for: this one."""


def wheels_of(requirements: Path) -> Path:
    """The folder with all wheels that a requirements file needs, with numpy and ase in the versions of the base.

    Raises:
        JudgeFault: they cannot be downloaded.
    """
    base = requirements_of(BASE)
    stated = base.read_bytes() + _stated(requirements) + f"{PYTHON}\n".encode()
    folder = cache_folder() / "wheels" / hashlib.sha256(stated).hexdigest()[:16]
    with lock_of(folder):
        if not (folder / COMPLETE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            _download(requirements, base, folder)
            (folder / COMPLETE).touch()
    return folder


def has_cuda(wheels: Path) -> bool:
    """Whether pip chose a CUDA build of torch, of several gigabytes."""
    return any(wheels.glob(CUDA))


def pip() -> list[str]:
    """The command of this Python's pip.

    Raises:
        JudgeFault: it has none.
    """
    if importlib.util.find_spec("pip") is None:
        raise JudgeFault(FaultCause.DISK, f"{sys.executable} has no pip: {sys.executable} -m ensurepip")
    return [sys.executable, "-m", "pip"]


def _stated(requirements: Path) -> bytes:
    """The content of a requirements file, and of those that it includes by `-r`."""
    text = requirements.read_bytes()
    included = [line.split()[1] for line in text.decode().splitlines() if line.startswith("-r ")]
    return text + b"".join(_stated(requirements.parent / name) for name in included)


def _download(requirements: Path, base: Path, folder: Path) -> None:
    # `pip wheel`, not `download`: some pure packages exist as source only. No compiler may run.
    run_quietly(
        [*pip(), "wheel", "-q", "-w", str(folder), "-c", str(base), "-r", str(requirements)],
        f"pip cannot download the packages of {requirements}; see pip config list",
        {"CC": "false"},
    )
