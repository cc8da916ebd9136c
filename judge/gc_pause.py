"""What is made in one go, without the collector looking at it again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """What is made within is not looked at before all of it is there: nearly none of it is garbage until then."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def long_lived() -> Iterator[None]:
    """What is made within lives as long as the run. The collector would look at a hundred thousand units again and
    again, of which none is garbage: so it never does."""
    with collector_paused():
        try:
            yield
        finally:
            gc.freeze()
