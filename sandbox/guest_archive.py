"""The guest as one archive. It is mounted into every container, and its hash is in every observation's key."""

from __future__ import annotations

import hashlib
import io
import zipfile
from functools import cache
from importlib import resources

MAIN = b"import sys\nfrom lambench_guest.serve import main\nsys.exit(main())\n"


@cache
def guest_archive() -> bytes:
    """A zip archive that Python can run, with the same bytes on every machine.

    The loop over a calculator is `tasks.model.ase_loop`: containers and the in-process calculator run the same code.
    """
    guest = resources.files("sandbox.guest")
    files = {
        "__main__.py": MAIN,
        "lambench_guest/__init__.py": guest.joinpath("__init__.py").read_bytes(),
        "lambench_guest/wire.py": guest.joinpath("wire.py").read_bytes(),
        "lambench_guest/parameters.py": guest.joinpath("parameters.py").read_bytes(),
        "lambench_guest/serve.py": guest.joinpath("serve.py").read_bytes(),
        "lambench_guest/ase_loop.py": resources.files("tasks.model").joinpath("ase_loop.py").read_bytes(),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()


@cache
def guest_version() -> str:
    """The first sixteen hexadecimal digits of the archive's sha256."""
    return hashlib.sha256(guest_archive()).hexdigest()[:16]
