"""Files drawn by several processes: on two processors the pages of many models take half the time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import TypeVar

LEAST = 16
"""Fewer items are drawn in one process."""

Files = dict[str, bytes]
Item = TypeVar("Item")


def drawn_in_parallel(draw: Callable[[Sequence[Item]], Files], items: Sequence[Item]) -> Files:
    """The files of `draw(items)`, in the same order.

    The parent draws the share of a child that fails, so that an error shows as in one process.

    Args:
        draw: files by path; the file of an item does not depend on the other items.
    """
    first, *others = _shares(items, _processors())
    children = [_child(draw, share) for share in others]
    try:
        files = draw(first)
        for (_, receiver), share in zip(children, others, strict=True):
            files |= _received(receiver) or draw(share)
    finally:
        for process, receiver in children:
            receiver.close()
            process.kill()
            process.join()
    return files


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


def _child(draw: Callable[[Sequence[Item]], Files], share: Sequence[Item]) -> tuple[ForkProcess, Connection]:
    """A process that draws the share, and the end of the pipe that receives its files."""
    fork = get_context("fork")  # a forked child has all data that its parent has read
    receiver, sender = fork.Pipe(duplex=False)

    def send() -> None:
        with suppress(BaseException):
            sender.send(draw(share))

    process = fork.Process(target=send)
    process.start()
    sender.close()
    return process, receiver


def _received(receiver: Connection) -> Files | None:
    """The files of a child; None if it failed."""
    with suppress(EOFError, OSError):
        files: Files = receiver.recv()
        return files
    return None
