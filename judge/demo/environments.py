"""The examples in virtual environments, for a machine without Docker. They are kept in the cache."""

from __future__ import annotations

import sys
from pathlib import Path

from judge.data.folder_lock import lock_of
from judge.demo.cache import cache_folder, run_quietly
from judge.demo.examples import BASE, requirements_of
from judge.demo.wheels import COMPLETE, pip, wheels_of


def example_python(name: str) -> Path:
    """The Python of a virtual environment with the packages of an example.

    Raises:
        JudgeFault: packages cannot be downloaded or installed.
    """
    requirements, base = requirements_of(name), requirements_of(BASE)
    wheels = wheels_of(requirements)
    folder = cache_folder() / "process" / wheels.name
    python = folder / "bin" / "python"
    with lock_of(folder):
        if not (folder / COMPLETE).exists():
            # Without pip: on Debian, venv has one only with another package. This Python's pip can install elsewhere.
            run_quietly(
                [sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)], f"cannot make {folder}"
            )
            offline = ["install", "-q", "--no-index", "--find-links", str(wheels)]
            stated = ["-c", str(base), "-r", str(base), "-r", str(requirements)]
            run_quietly([*pip(), "--python", str(python), *offline, *stated], f"cannot install {requirements}")
            (folder / COMPLETE).touch()
    return python
