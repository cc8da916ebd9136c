"""The guest as one archive. It is mounted into every container, and its hash is in every observation's key.

A training has a guest of its own, so that a change to one leaves what the other asked as it is.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Sequence
from functools import cache
from importlib import resources

MAIN = "from lambench_guest.start import begin, end\nend(begin('{module}'))\n"

# The modules of tasks.model that run in the guest.
LOOP = (
    "ase_loop",
    "batch_limits",
    "calculator_caches",
    "call_costs",
    "failures",
    "further_outputs",
    "states",
)


@cache
def guest_archive() -> bytes:
    """A zip archive that Python can run, with the same bytes on every machine.

    The loop over a calculator is `tasks.model.ase_loop`: containers and the in-process calculator run the same code.
    """
    model = resources.files("tasks.model")
    loop = {name: model.joinpath(f"{name}.py").read_bytes() for name in LOOP}
    return _archive("serve", ("start", "tracebacks", "wire", "parameters", "serve"), loop)


@cache
def training_guest_archive() -> bytes:
    """The guest of a training, likewise."""
    return _archive("training", ("start", "tracebacks", "wire", "training"), {})


@cache
def guest_version() -> str:
    """The first sixteen hexadecimal digits of the archive's sha256."""
    return _version(guest_archive())


@cache
def training_guest_version() -> str:
    """That of the guest of a training."""
    return _version(training_guest_archive())


def _archive(main: str, modules: Sequence[str], others: dict[str, bytes]) -> bytes:
    guest = resources.files("sandbox.guest")
    files = {"__init__": guest.joinpath("__init__.py").read_bytes()}
    files |= {name: guest.joinpath(f"{name}.py").read_bytes() for name in modules}
    files |= others
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry("__main__.py"), MAIN.format(module=main))
        for name, content in files.items():
            archive.writestr(_entry(f"lambench_guest/{name}.py"), content)
    return buffer.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))


def _version(archive: bytes) -> str:
    return hashlib.sha256(archive).hexdigest()[:16]
