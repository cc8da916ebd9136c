"""Drops files from the kernel's page cache, and counts the pages that stay.

Containers of images with common layers share the cached pages of those layers' files. A container can drop pages and
load others, and the next one can see which are there. So a page cache is a memory between containers.

The kernel also keeps what it has looked up of a file: its name, inode, attributes and access list, the place of its
blocks on the disk, the target of a link; and that a name does not exist. The next container can measure what is kept.
So the kernel forgets all names and inodes of the host that no program uses. The blocks that they are read from stay in
memory; all of them are read before, since those of single files cannot be dropped.

This module is also a program, which imports the standard library alone. It forks, one process for each core. It works
in a container too, which may read the engine's folders where the judge may not. Source: `posix_fadvise(2)`,
`cachestat(2)`, `mincore(2)`, `proc_sys_vm(5)`.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

DROP_CACHES, _NAMES_AND_INODES = "/proc/sys/vm/drop_caches", "2"
_CACHESTAT = 451  # on every architecture; since Linux 6.5
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROT_READ, _MAP_SHARED, _MAP_FAILED = 1, 1, ctypes.c_void_p(-1).value
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MOST_PROCESSES = 4
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
_libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.llistxattr.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
_libc.flistxattr.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)


class Remaining(NamedTuple):
    """The number of pages that are still in memory, and one file that has such pages."""

    pages: int
    file: str


def drop(folders: Sequence[str], drop_caches: str = DROP_CACHES) -> Remaining:
    """Drops the pages of all files below `folders`, then all names. Pages that a running program has mapped remain.

    Args:
        drop_caches: the kernel's file for this.

    Raises:
        OSError: a folder or a file cannot be read, or `drop_caches` not be written.
    """
    n = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))
    helpers = [_fork(folders, share, n) for share in range(1, n)]
    try:
        own = _drop_share(folders, 0, n)
    finally:
        shares = [_told(*helper) for helper in helpers]
    shares.append(own)
    with open(drop_caches, "w") as file:
        file.write(_NAMES_AND_INODES)
    return Remaining(sum(share.pages for share in shares), next((s.file for s in shares if s.file), ""))


def _fork(folders: Sequence[str], share: int, n_shares: int) -> tuple[int, int]:
    """A process that drops a share, and the pipe on which it tells what remains."""
    receives, tells = os.pipe()
    process = os.fork()
    if process:
        os.close(tells)
        return process, receives
    answer: object = "killed"
    try:
        answer = _drop_share(folders, share, n_shares)
    except OSError as error:
        answer = str(error)
    finally:
        os.write(tells, json.dumps(answer).encode())
        os._exit(0)


def _told(process: int, receives: int) -> Remaining:
    """What a forked process tells.

    Raises:
        OSError: it could not read a folder or a file.
    """
    with open(receives, "rb") as file:
        answer = json.loads(file.read() or '"killed"')
    os.waitpid(process, 0)
    if isinstance(answer, str):
        raise OSError(answer)
    return Remaining(*answer)


def _drop_share(folders: Iterable[str], share: int, n_shares: int) -> Remaining:
    """Drops the files whose paths have this remainder; the hashes are the same in forked processes."""
    pages, example = 0, ""
    for entry in _entries(folders):
        if hash(entry.path) % n_shares != share:
            continue
        try:
            if not entry.is_file(follow_symlinks=False):
                _look_up(entry)
            elif remaining := _drop_file(entry.path):
                pages, example = pages + remaining, entry.path
        except FileNotFoundError:  # an image is being removed
            continue
    return Remaining(pages, example)


def load(path: str) -> None:
    """Loads all pages of a file, which others use and which therefore cannot be dropped."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 20):
            pass


def _entries(folders: Iterable[str]) -> Iterator[os.DirEntry[str]]:
    """All that is below `folders`; links are not followed."""
    pending = list(folders)
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                yield entry


def _look_up(entry: os.DirEntry[str]) -> None:
    """Brings the blocks of the attributes and the target of a folder, link or special file into memory."""
    if entry.is_symlink():
        os.readlink(entry.path)
    _libc.llistxattr(os.fsencode(entry.path), None, 0)


def _look_up_file(handle: int) -> None:
    """Brings the blocks of an open file's attributes, and those that say where its blocks are, into memory."""
    _libc.flistxattr(handle, None, 0)
    try:
        os.lseek(handle, 0, os.SEEK_HOLE)
    except OSError:  # an empty file
        return


def _drop_file(path: str) -> int:
    """The number of the file's pages that remain."""
    handle = os.open(path, _OPEN)
    try:
        _look_up_file(handle)
        cached = cached_pages(handle)
        if cached:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            cached = cached_pages(handle)
        if cached:
            os.fsync(handle)  # pages that are not on the disk yet stay: the engine has just unpacked the file
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            cached = cached_pages(handle)
        return cached
    finally:
        os.close(handle)


class _Range(ctypes.Structure):
    _fields_ = (("start", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Counts(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "recent"))


def cached_pages(handle: int) -> int:
    """The number of pages of an open file that are in memory.

    Raises:
        OSError: the kernel refuses to tell.
    """
    counts = _Counts()
    if _libc.syscall(_CACHESTAT, handle, ctypes.byref(_Range(0, 0)), ctypes.byref(counts), 0) == 0:
        return int(counts.cached)
    if ctypes.get_errno() != errno.ENOSYS:
        raise OSError(ctypes.get_errno(), "cachestat")
    return mapped_pages(handle)


def mapped_pages(handle: int) -> int:
    """The same on kernels before 6.5; slower. A kernel that refuses to tell says that all pages are in memory."""
    size = os.fstat(handle).st_size
    if not size:
        return 0
    address = _libc.mmap(None, size, _PROT_READ, _MAP_SHARED, handle, 0)
    if address == _MAP_FAILED:
        raise OSError(ctypes.get_errno(), "mmap")
    try:
        present = (ctypes.c_ubyte * (-(-size // _PAGE)))()
        if _libc.mincore(address, size, present):
            raise OSError(ctypes.get_errno(), "mincore")
        return sum(page & 1 for page in bytes(present))
    finally:
        _libc.munmap(address, size)


def arguments(loaded: Iterable[str], drop_caches: str, folders: Iterable[str]) -> list[str]:
    """The arguments of this module as a program: it loads some files, and then drops folders."""
    return [":".join(loaded), drop_caches, *folders]


def answer_of(output: bytes) -> Remaining:
    """What the program told.

    Raises:
        OSError: it failed; the message is the last line of its output.
    """
    lines = output.decode("utf-8", "replace").splitlines()
    if len(lines) != 2 or not lines[0].isdecimal():
        raise OSError(" ".join(lines[-1:])[:200])
    return Remaining(int(lines[0]), lines[1])


if __name__ == "__main__":
    for path in filter(None, sys.argv[1].split(":")):
        load(path)
    print(*drop(sys.argv[3:], sys.argv[2]), sep="\n")
