"""Parts of a local store as they were seen once, and which of them are still as they were.

A part is a set of names, files and folders, each with a stamp: the time of its last change as the kernel keeps it, its
inode and its size. A file that is written again in place has another stamp; one that is made, removed or renamed gives
its folder another. So nothing has to be listed, let alone read, to know that a part is unchanged. A thing that is
changed twice within the granularity of the kernel's clock can keep its stamp: what is `fresh` must be looked at again.
"""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

GRANULARITY_NS = 3 * 10**9  # the coarsest that a file system has is 2 s
MAX_PROCESSES = 4
MIN_PER_PROCESS = 20_000  # names; for fewer, another process costs more than it saves
STAMP_BYTES = 24


class Stamp(NamedTuple):
    """When a file or folder was changed last [ns since 1970], its inode, and its size; zeros where there is none."""

    changed_ns: int = 0
    inode: int = 0
    size: int = 0

    def __str__(self) -> str:
        return f"{self.changed_ns}-{self.inode}-{self.size}"

    def packed(self) -> bytes:
        """The three numbers as this machine keeps them."""
        return array("q", self).tobytes()


_NOTHING = Stamp()


class Seen(NamedTuple):
    """A part of a store.

    Args:
        names: one a line.
        stamps: of each name, `STAMP_BYTES` bytes.
    """

    names: str
    stamps: bytes

    @classmethod
    def of(cls, stamps: Mapping[str, bytes]) -> Seen:
        """What has these stamps, by name."""
        return cls("\n".join(stamps), b"".join(stamps.values()))

    def by_name(self) -> dict[str, bytes]:
        """The stamps, by name."""
        stamps = (self.stamps[i : i + STAMP_BYTES] for i in range(0, len(self.stamps), STAMP_BYTES))
        return dict(zip(self.names.split("\n"), stamps, strict=False))


@dataclass
class Walk:
    """What lies below some folders of a store, each thing stamped before it was looked into.

    Args:
        folders: by their names, relative to the root of the store; one that is not there has a stamp all the same.
        files: the same of what is no folder.
    """

    folders: dict[str, Stamp] = field(default_factory=dict)
    files: dict[str, Stamp] = field(default_factory=dict)


def walk(root: Path, *names: str) -> Walk:
    """What lies below the folders `names` of the store at `root`. Links to folders are not followed.

    Raises:
        OSError: something cannot be looked at.
    """
    found, top = Walk(), str(root)
    folders = list(names)
    while folders:
        folder = folders.pop()
        found.folders[folder] = _stamp(f"{top}/{folder}")
        for path in _files_in(top, folder, folders):
            found.files[path] = _stamp(f"{top}/{path}")
    return found


def stamped_below(root: Path, name: str) -> dict[str, Stamp]:
    """The files that `walk` would find, in no order: without looking at folders, of which there are nearly as many."""
    found, top, folders = {}, str(root), [name]
    while folders:
        for path in _files_in(top, folders.pop(), folders):
            found[path] = _stamp(f"{top}/{path}")
    return found


def files_below(root: Path, name: str) -> list[str]:
    """The names of the files that `walk` would find, in no order."""
    found: list[str] = []
    top, folders = str(root), [name]
    while folders:
        found += _files_in(top, folders.pop(), folders)
    return found


def _files_in(top: str, folder: str, folders: list[str]) -> list[str]:
    """The names of the files in a folder of the store at `top`; those of the folders in it are added to `folders`."""
    files = []
    start = f"{folder}/" if folder else ""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(f"{top}/{folder}") as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(start + entry.name)
            elif not (entry.name.startswith(".") or entry.is_dir()):
                files.append(start + entry.name)
    return files


def unchanged(root: Path, parts: Sequence[Seen]) -> list[bool]:
    """Of each of `parts` whether it is still as it was seen.

    Raises:
        OSError: something cannot be looked at.
    """
    size = sum(len(part.stamps) for part in parts) // STAMP_BYTES
    n = min(MAX_PROCESSES, len(os.sched_getaffinity(0)), 1 + size // MIN_PER_PROCESS)
    if n == 1 or threading.active_count() > 1:  # a process with threads is not to be forked
        return _look(root, parts)
    bounds = [len(parts) * i // n for i in range(n + 1)]
    context, running = get_context("fork"), []
    for begin, end in pairwise(bounds[1:]):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_look_and_tell, args=(root, parts[begin:end], theirs), daemon=True)
        process.start()
        theirs.close()
        running.append((process, ours, parts[begin:end]))
    same = _look(root, parts[: bounds[1]])
    for process, pipe, own in running:
        try:
            same += map(bool, pipe.recv_bytes())
        except EOFError:  # it came to grief: over what, shows itself here
            same += _look(root, own)
        process.join()
    return same


def _look_and_tell(root: Path, parts: Sequence[Seen], pipe: Connection) -> None:
    with suppress(OSError):
        pipe.send_bytes(bytes(_look(root, parts)))


def _look(root: Path, parts: Sequence[Seen]) -> list[bool]:
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return [_is_same(handle, part) for part in parts]
    finally:
        os.close(handle)


def _is_same(root: int, part: Seen) -> bool:
    """Written for speed: a store of a hundred thousand results has five hundred thousand names."""
    stamps = array("q")
    look, add = os.stat, stamps.extend
    for name in part.names.split("\n"):
        try:
            found = look(name, dir_fd=root)
        except (FileNotFoundError, NotADirectoryError):
            add(_NOTHING)
        else:
            add((found.st_ctime_ns, found.st_ino, found.st_size))
    return stamps.tobytes() == part.stamps


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return _NOTHING
    return Stamp(found.st_ctime_ns, found.st_ino, found.st_size)
