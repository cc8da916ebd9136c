"""The lock that sessions of the judge hold, for containers that tests start beside it."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.rundir import default_run_dir


@contextmanager
def no_session() -> Iterator[None]:
    """No session begins: it would wait until no other container uses its image, and drop what the host has read."""
    with (default_run_dir() / "session.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
