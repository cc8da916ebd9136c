"""Pauses Python's garbage collector while many objects are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
