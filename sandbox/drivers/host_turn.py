"""Turns of units on one host: a timing on the CPU runs alone, all other units run side by side."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def host_turn(folder: Path, *, alone: bool) -> Iterator[None]:
    """The turn of one unit among those of all judges of this host. It ends with the process, too.

    A unit that runs alone waits for those that run, and those that come later wait for it.

    Args:
        folder: of the locks, the same for all judges.
        alone: whether nothing else may run meanwhile.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "gate.lock").open("w") as gate, (folder / "turn.lock").open("w") as turn:
        fcntl.flock(gate, fcntl.LOCK_EX)  # held while it waits, so that later units cannot go ahead
        fcntl.flock(turn, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield
