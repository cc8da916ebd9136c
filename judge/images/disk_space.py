"""Free space on the disks that the judge writes to."""

from __future__ import annotations

import shutil
from pathlib import Path

from judge.images.transfer import RequestFault
from sandbox.limits import GIB
from sandbox.verdict import FaultCause, JudgeFault


def require_room(disk: Path, min_free_bytes: int, for_bytes: int = 0) -> None:
    """Returns if `for_bytes` can be written to the disk of the folder `disk`, with `min_free_bytes` left free.

    Raises:
        JudgeFault: DISK; a `RequestFault` if there is room for smaller ones.
    """
    free, needed = free_bytes(disk), min_free_bytes + for_bytes
    if free < needed:
        kind = JudgeFault if free < min_free_bytes else RequestFault
        raise kind(
            FaultCause.DISK,
            f"only {free / GIB:.2g} GiB are free at {disk}: free at least {needed / GIB:.2g} GiB "
            "(judge gc lists what can be deleted), or set min_free_bytes",
        )


def free_bytes(folder: Path) -> int:
    """The free bytes on the disk of `folder`, or of its first parent that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free
