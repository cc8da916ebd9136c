"""Writes files that only their owner may read, synced, and never visible in part."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_new(path: Path, text: str) -> None:
    """Writes a file that only its owner may read. It gets its name only when all of it is on the disk.

    Raises:
        FileExistsError: the name is taken.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        append_lines(temporary, text)
        os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def append_lines(path: Path, text: str) -> None:
    """Appends lines to a file that only its owner may read. If its last line is not ended, that is done first."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with open(handle, "a+b") as file:
        size = os.fstat(handle).st_size
        is_ended = size == 0 or os.pread(handle, 1, size - 1) == b"\n"
        file.write((text if is_ended else f"\n{text}").encode("ascii"))
        file.flush()
        os.fsync(handle)
