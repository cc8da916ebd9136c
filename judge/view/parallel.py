"""Work that comes to many files, divided over the processors: in one process a site of many models takes twice as long.

A forked child has all that its parent knows, and gives its files back through a pipe as bytes alone. It says nothing
else: what it could not do, for whatever reason, the parent does itself, where an error shows as it would have anyway.
"""

from __future__ import annotations

import os
import signal
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import BinaryIO, NamedTuple, TypeVar

LEAST = 16
"""So many items are worth a second process."""

Files = dict[str, bytes]
Item = TypeVar("Item")

_LENGTHS = struct.Struct(">II")
_END = _LENGTHS.pack(0, 0)


class _Child(NamedTuple):
    """A process, and where its files come from."""

    pid: int
    pipe: BinaryIO


def by_halves(draw: Callable[[Sequence[Item]], Files], items: Sequence[Item]) -> Files:
    """What `draw` makes of all items, in their order: the same as `draw(items)` in one process.

    Args:
        draw: files by path, never without one; of some of the items the same as of all.
    """
    shares = _shares(items, _processors())
    children: list[_Child] = []
    try:
        children += [_forked(draw, share, children) for share in shares[1:]]
        files = draw(shares[0])
        for child, share in zip(children, shares[1:], strict=True):
            files |= _received(child.pipe) or draw(share)
    finally:
        for child in children:
            _ended(child)
    return files


def _processors() -> int:
    """Those that this process may run on; one where it cannot fork, or has threads, of which a child has none."""
    if not hasattr(os, "fork") or not hasattr(os, "sched_getaffinity") or threading.active_count() > 1:
        return 1
    return len(os.sched_getaffinity(0))


def _shares(items: Sequence[Item], n: int) -> list[Sequence[Item]]:
    """The items in up to `n` pieces of about one length, in their order."""
    n = max(1, min(n, len(items) // (LEAST // 2))) if len(items) >= LEAST else 1
    ends = [len(items) * k // n for k in range(n + 1)]
    return [items[first:last] for first, last in pairwise(ends)]


def _forked(draw: Callable[[Sequence[Item]], Files], share: Sequence[Item], before: Sequence[_Child]) -> _Child:
    receiving, sending = os.pipe()
    pid = os.fork()
    if pid:
        os.close(sending)
        return _Child(pid, os.fdopen(receiving, "rb"))
    status = 1
    try:  # never out of here: what follows is the parent's
        os.close(receiving)
        for child in before:
            os.close(child.pipe.fileno())
        with os.fdopen(sending, "wb") as pipe:
            _send(draw(share), pipe)
        status = 0
    finally:
        os._exit(status)


def _send(files: Files, pipe: BinaryIO) -> None:
    for path, content in files.items():
        name = path.encode()
        pipe.write(_LENGTHS.pack(len(name), len(content)) + name)
        pipe.write(content)
    pipe.write(_END)


def _received(pipe: BinaryIO) -> Files | None:
    """All files of a child; None where they break off."""
    files: Files = {}
    while len(head := pipe.read(_LENGTHS.size)) == _LENGTHS.size:
        if head == _END:
            return files
        n_name, n_content = _LENGTHS.unpack(head)
        name, content = pipe.read(n_name), pipe.read(n_content)
        if len(name) < n_name or len(content) < n_content:
            return None
        files[name.decode()] = content
    return None


def _ended(child: _Child) -> None:
    """Sees to it that nothing of a child is left; one whose files are read has ended, or is about to."""
    child.pipe.close()
    with suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
