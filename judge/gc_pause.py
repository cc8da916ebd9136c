"""Pauses Python's garbage collector while many objects are made, and ends a process without freeing them."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_kept: dict[type, object] = {}


@contextmanager
def collector_paused() -> Iterator[None]:
    """A context in which the garbage collector does not run: nearly no object that is made in it is garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def long_lived() -> Iterator[None]:
    """A context for objects that live until the process ends. The collector never checks them, since there may be a
    hundred thousand.
    """
    with collector_paused():
        try:
            yield
        finally:
            gc.freeze()


def keep(value: object) -> None:
    """Keeps a large object until the process ends, or until another one of its class is kept.

    To free the objects of a large leaderboard takes half a second: see `end_process`.
    """
    _kept[type(value)] = value


def end_process(status: int) -> None:
    """Ends the process at once if large objects are kept, and if no other thread is running.

    Registered exit functions are called, and all output is written first. If it cannot be written, the process ends in
    the usual way.
    """
    if _kept and threading.active_count() == 1:
        atexit._run_exitfuncs()
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
