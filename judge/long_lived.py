"""What is made to live as long as the run, without the collector looking at it again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def long_lived() -> Iterator[None]:
    """What is made within lives as long as the run. The collector would look at a hundred thousand units again and
    again, of which none is garbage: so it does not."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
