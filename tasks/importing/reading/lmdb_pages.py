"""The entries of a file of LMDB, read page by page with every place checked.

LMDB's own library maps the file into memory and trusts it: a truncated file ends the process with SIGBUS, a damaged one
may, too. Files of strangers are read here, without it.

A file consists of pages. The first two hold copies of the root's description, of which the one with the higher
transaction number counts. A page has a header of 16 bytes (number, flags, end of its list of places), a list of places,
and nodes: of a branch, page numbers; of a leaf, keys with their values. Large values are in pages of their own.
Source: struct MDB_page, MDB_meta, MDB_db and MDB_node of libraries/liblmdb/mdb.c, LMDB 0.9.36, for 64 bits.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MAGIC, DATA_VERSION = 0xBEEFC0DE, 1
NO_PAGE = 2**64 - 1
BRANCH, LEAF, OVERFLOW, META = 0x01, 0x02, 0x04, 0x08
LARGE = 0x01  # of a node: its value is in pages of its own
PLAIN = 0x00  # of a node: its value stands behind its key
HEADER, NODE = 16, 8
MAX_DEPTH = 32  # of LMDB itself
PAGE_SIZES = tuple(2**power for power in range(8, 17))
_META = struct.Struct("<IIQQ")  # magic, version, address, size of the map
_DB = struct.Struct("<IHHQQQQQ")  # size of a page, flags, depth, pages (3), entries, root
_PAGE = struct.Struct("<QHHHH")  # number, size of a key, flags, end of the list of places, begin of the nodes
_NODE = struct.Struct("<HHHH")  # size or page (low, high), flags, size of the key


class LmdbError(ValueError):
    """A file that is none of LMDB, or is damaged."""


class ValuePlace(NamedTuple):
    """Where a value stands in its file [bytes]."""

    begin: int
    size: int


class LmdbFile(NamedTuple):
    """The content of a file.

    Args:
        root: number of the page with the first branch or leaf; None without entries.
        n_entries: that the file states.
    """

    content: mmap.mmap
    page_size: int
    root: int | None
    n_entries: int

    def places(self) -> dict[bytes, ValuePlace]:
        """By key, the place of its value; in the order of the keys.

        Raises:
            LmdbError: a page is damaged, or not there.
        """
        found = {} if self.root is None else dict(self._entries_of(self.root, MAX_DEPTH, set()))
        if len(found) != self.n_entries:
            raise LmdbError(f"has {len(found)} entries, not the {self.n_entries} that it states")
        return found

    def value(self, place: ValuePlace) -> bytes:
        """The value at a place."""
        return self.content[place.begin : place.begin + place.size]

    def _page(self, number: int) -> bytes:
        begin = number * self.page_size
        page = self.content[begin : begin + self.page_size]
        if len(page) < self.page_size or _PAGE.unpack_from(page)[0] != number:
            raise LmdbError(f"page {number} is not there, or damaged")
        return page

    def _entries_of(self, number: int, depth: int, visited: set[int]) -> Iterator[tuple[bytes, ValuePlace]]:
        page = self._page(number)
        _, _, flags, lower, _ = _PAGE.unpack_from(page)
        if depth < 1 or number in visited or not flags & (BRANCH | LEAF) or flags & (OVERFLOW | META):
            raise LmdbError(f"page {number} is no page of entries")
        if not HEADER <= lower <= self.page_size:
            raise LmdbError(f"page {number} has a damaged list of places")
        visited.add(number)
        for place in struct.unpack_from(f"<{(lower - HEADER) // 2}H", page, HEADER):
            if place + NODE > self.page_size:
                raise LmdbError(f"page {number} has a damaged place")
            low, high, node_flags, key_size = _NODE.unpack_from(page, place)
            if flags & BRANCH:
                yield from self._entries_of(low | high << 16 | node_flags << 32, depth - 1, visited)
                continue
            begin, size = place + NODE + key_size, low | high << 16
            if node_flags == LARGE and begin + 8 <= self.page_size:
                value = self._large_value(struct.unpack_from("<Q", page, begin)[0], size)
            elif node_flags == PLAIN and begin + size <= self.page_size:
                value = ValuePlace(number * self.page_size + begin, size)
            else:
                raise LmdbError(f"page {number} has an entry that is damaged, or not a key with one value")
            yield page[place + NODE : begin], value

    def _large_value(self, number: int, size: int) -> ValuePlace:
        if not _PAGE.unpack_from(self._page(number))[2] & OVERFLOW:
            raise LmdbError(f"page {number} holds no large value")
        place = ValuePlace(number * self.page_size + HEADER, size)
        if place.begin + size > len(self.content):
            raise LmdbError(f"page {number} holds a value that is cut off")
        return place


def open_lmdb(path: Path) -> LmdbFile:
    """The file at `path`, with its newest root.

    Raises:
        OSError: it cannot be read.
        LmdbError: it is no file of LMDB, or one of another version.
    """
    with path.open("rb") as file:
        if path.stat().st_size < PAGE_SIZES[0]:
            raise LmdbError("is too short")
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    page_size = _root(content, 0)[1]
    _, _, root, n_entries = max(_root(content, 0), _root(content, page_size))
    return LmdbFile(content, page_size, None if root == NO_PAGE else root, n_entries)


def is_lmdb(path: Path) -> bool:
    """Whether a file begins as one of LMDB, of any version."""
    with path.open("rb") as file:
        return file.read(HEADER + 4)[HEADER:] == MAGIC.to_bytes(4, "little")


def _root(content: mmap.mmap, begin: int) -> tuple[int, int, int, int]:
    """Number of the transaction, size of a page, page of the root, and number of entries, from the page at `begin`."""
    size = HEADER + _META.size + 2 * _DB.size + 16
    page = content[begin : begin + size]
    if len(page) < size:
        raise LmdbError("is too short")
    magic, version, _, _ = _META.unpack_from(page, HEADER)
    if magic != MAGIC or not _PAGE.unpack_from(page)[2] & META:
        raise LmdbError("does not begin as a file of LMDB")
    if version != DATA_VERSION:
        raise LmdbError(f"has version {version} of LMDB's files, not {DATA_VERSION}")
    page_size = _DB.unpack_from(page, HEADER + _META.size)[0]
    if page_size not in PAGE_SIZES:
        raise LmdbError(f"has pages of {page_size} bytes")
    *_, n_entries, root = _DB.unpack_from(page, HEADER + _META.size + _DB.size)
    transaction = struct.unpack_from("<Q", page, HEADER + _META.size + 2 * _DB.size + 8)[0]
    return transaction, page_size, root, n_entries
