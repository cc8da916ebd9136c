"""Actions of a test at an event, in the middle of the judge's work."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from sandbox.events import LOGGER, Event


@contextmanager
def at_first(step: Event, do: Callable[[], object]) -> Iterator[None]:
    """Calls `do` at the first event `step`, in the middle of the work that emits it."""
    done: list[Event] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.lambench_event is step and not done:  # type: ignore[attr-defined]
                done.append(step)
                do()

    logger, listener = logging.getLogger(LOGGER), Listener()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(listener)
    try:
        yield
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)
    assert done == [step]


class Died(BaseException):
    """Ends the judge's work as if its process died."""


@contextmanager
def dying_at(step: Event) -> Iterator[None]:
    """Ends the work in the block at the first event `step`."""

    def die() -> None:
        raise Died

    with pytest.raises(Died), at_first(step, die):
        yield
