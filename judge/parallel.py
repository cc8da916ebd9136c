"""Work in several processes: on two processors the pages of many models take half the time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from typing import TypeVar

LEAST = 16
"""Fewer items are drawn in one process."""

Item = TypeVar("Item")
Value = TypeVar("Value")


def drawn_in_parallel(draw: Callable[[Sequence[Item]], Mapping[str, Value]], items: Sequence[Item]) -> dict[str, Value]:
    """The pages of `draw(items)`, in the same order.

    Args:
        draw: pages by path; the page of an item does not depend on the other items.
    """
    first, *others = _shares(items, _processors())
    with ExitStack() as children:
        begun = [children.enter_context(in_background(partial(draw, share))) for share in others]
        pages = dict(draw(first))
        for finish in begun:
            pages |= finish()
    return pages


@contextmanager
def in_background(work: Callable[[], Value], n_items: int = LEAST) -> Iterator[Callable[[], Value]]:
    """A function that returns what `work()` returns. Another process does the work meanwhile.

    If that process fails, or there is one processor, the function does the work, so that an error shows as always. It
    also does the work of fewer than `LEAST` items.
    """
    if n_items < LEAST or _processors() == 1:
        yield work
        return
    fork = get_context("fork")  # a forked child has all data that its parent has read
    receiver, sender = fork.Pipe(duplex=False)

    def send() -> None:
        receiver.close()  # else a killed parent would leave this process waiting for a reader
        with suppress(BaseException):
            sender.send((work(),))

    def finish() -> Value:
        received: list[Value] = []
        with suppress(EOFError, OSError):
            received += receiver.recv()
        return received[0] if received else work()

    process = fork.Process(target=send)
    process.start()
    sender.close()
    try:
        yield finish
    finally:
        receiver.close()
        process.kill()
        process.join()


def _processors() -> int:
    """How many processors this process may use; 1 if that is not known, or if it has threads: a fork loses them."""
    if not hasattr(os, "sched_getaffinity") or threading.active_count() > 1:
        return 1
    return len(os.sched_getaffinity(0))


def _shares(items: Sequence[Item], n: int) -> list[Sequence[Item]]:
    """The items in up to `n` pieces of nearly equal length, in their order."""
    n = max(1, min(n, len(items) // (LEAST // 2))) if len(items) >= LEAST else 1
    ends = [len(items) * k // n for k in range(n + 1)]
    return [items[first:last] for first, last in pairwise(ends)]
