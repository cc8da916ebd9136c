"""A disk of a few pages, to test what happens when it is full."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PAGE = os.sysconf("SC_PAGE_SIZE")


class SmallDisk:
    """A tmpfs at `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def resize(self, pages: int) -> None:
        """Sets its free space to so many pages."""
        size = f"remount,size={pages * PAGE}"
        subprocess.run(["mount", "-o", size, str(self.folder)], check=True, capture_output=True)


@contextmanager
def small_disk(folder: Path, pages: int) -> Iterator[SmallDisk]:
    """A disk at `folder`, which is made; where none can be mounted, the test is skipped by name."""
    if os.geteuid() != 0:
        pytest.skip("a disk of one's own needs root")
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={pages * PAGE}", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True)
