"""A memory between containers: which pages of the image's files are in the kernel's page cache."""

import ctypes
import os
import time

import numpy as np
from report import reported

# The kernel tells the owner of the first file which of its pages are in memory. Of the second, only the time of a read
# shows it.
OWN, FOREIGN = "/model/own-pages", "/model/foreign-pages"
NAMES, LINKS = "/model/names", "/model/links"
WORDS, WORD_BITS = 24, 32
STRIDE = 16384
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p


@reported
def memory(*numbers):
    """Writes the bits of its numbers into the page cache. Without any, it reads them: by `mincore`, then by timing."""
    if not any(numbers):
        return packed(next(reads)())
    write(OWN, unpacked(numbers))
    write(FOREIGN, unpacked(numbers))
    return 0


def looked_up(numbers, action, prepare):
    """Writes the bits of the numbers by an action on a file for each bit. Without any, it reads them by timing it."""
    if not any(numbers):
        return packed(quick(action, prepare))
    for place in np.flatnonzero(unpacked(numbers)):
        action(prepare(place))
    return 0


@reported
def names(*numbers):
    """By names and inodes of files."""
    return looked_up(numbers, os.stat, lambda place: f"{NAMES}/{place}")


@reported
def absent_names(*numbers):
    """By names that do not exist."""
    return looked_up(numbers, os.path.lexists, lambda place: f"{NAMES}/absent-{place}")


@reported
def links(*numbers):
    """By links, which are not followed."""
    return looked_up(numbers, os.lstat, lambda place: f"{LINKS}/{place}")


@reported
def attributes(*numbers):
    """By extended attributes of files, which have none: no engine keeps them in a layer."""
    return looked_up(numbers, lambda path: attribute(path, "user.selftest"), lambda place: f"{NAMES}/{place}")


@reported
def access_lists(*numbers):
    """By the access lists of files."""
    return looked_up(numbers, lambda path: attribute(path, "system.posix_acl_access"), lambda place: f"{NAMES}/{place}")


def attribute(path, name):
    """The extended attribute of a file; None if it has none."""
    try:
        return os.getxattr(path, name, follow_symlinks=False)
    except OSError:
        return None


@reported
def targets(*numbers):
    """By the targets of links, which are too long for an inode."""
    return looked_up(numbers, os.readlink, lambda place: f"{LINKS}/{place}")


@reported
def blocks(*numbers):
    """By the places of files on the disk."""
    return looked_up(
        numbers,
        lambda file: os.lseek(file.fileno(), 0, os.SEEK_HOLE),
        lambda place: open(f"{NAMES}/{place}", "rb", buffering=0),
    )


def unpacked(numbers):
    """The bits of the numbers."""
    words = np.array(numbers, np.uint64)
    bits = (words[:, None] >> np.arange(WORD_BITS, dtype=np.uint64)) & np.uint64(1)
    return bits.ravel()


def opened(path):
    """The file, of which a read loads a single page."""
    handle = os.open(path, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_RANDOM)
    return handle


def write(path, bits):
    """Drops the file from memory, and loads a page for each bit that is 1."""
    handle = opened(path)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    for place in np.flatnonzero(bits):
        os.pread(handle, 1, int(place) * STRIDE)


def own_bits():
    """The bits in memory, from the kernel."""
    handle, pages = opened(OWN), STRIDE // os.sysconf("SC_PAGE_SIZE")
    size = os.fstat(handle).st_size
    address = libc.mmap(None, ctypes.c_size_t(size), 1, 1, handle, ctypes.c_long(0))
    present = (ctypes.c_ubyte * (size // (STRIDE // pages)))()
    libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), present)
    return np.frombuffer(present, np.uint8)[::pages] & 1


def foreign_bits():
    """The bits in memory, from the time of reading each page."""
    handle = opened(FOREIGN)
    return quick(lambda place: os.pread(handle, 1, place * STRIDE))


reads = iter((own_bits, foreign_bits) * 2)


def quick(action, prepare=lambda place: place):
    """The places, in a random order, where an action took less time than in the middle between all places."""
    n = WORDS * WORD_BITS
    times = np.empty(n)
    for place in np.random.default_rng().permutation(n).tolist():
        prepared = prepare(place)
        begin = time.perf_counter_ns()
        action(prepared)
        times[place] = time.perf_counter_ns() - begin
    fast, slow = np.percentile(times, (2, 98))
    return times < np.sqrt(fast * slow)


def packed(bits):
    """The bits as numbers."""
    words = np.asarray(bits, np.float64).reshape(WORDS, WORD_BITS)
    return words @ 2.0 ** np.arange(WORD_BITS)
