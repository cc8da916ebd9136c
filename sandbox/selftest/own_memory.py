"""The memory that a trial costs the judge itself."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


class Memory:
    """The peak of Python's allocations in this process while it was watched."""

    peak_bytes = 0


@contextmanager
def watched_memory() -> Iterator[Memory]:
    """Watches this process's memory; a watch that was begun elsewhere goes on."""
    begun = not tracemalloc.is_tracing()
    if begun:
        tracemalloc.start()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    memory = Memory()
    try:
        yield memory
    finally:
        memory.peak_bytes = tracemalloc.get_traced_memory()[1] - before
        if begun:
            tracemalloc.stop()
