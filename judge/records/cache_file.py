"""A cache of bytes by key and stamp, in an SQLite file. A file that is damaged or of other contents is replaced."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

BUSY_S = 10.0
_TABLE = "CREATE TABLE cached (key TEXT PRIMARY KEY, stamp TEXT, data BLOB, sum INTEGER)"


class Cached(NamedTuple):
    """The cached bytes of an object, and its stamp at that time."""

    stamp: str
    data: bytes


@dataclass(frozen=True)
class CacheFile:
    """The cache in the file at `path`.

    Args:
        contents: names the store and the version of the code. A file with other contents counts as empty.
    """

    path: Path
    contents: str

    def read(self, prefixes: Collection[str]) -> dict[str, Cached]:
        """The cached objects under `prefixes`, which end with a slash, by key; empty if there is no such file."""
        cached: dict[str, Cached] = {}
        try:
            if self.path.exists():
                with self._open() as file:
                    for prefix in prefixes if _mark_in(file) == self._mark else ():
                        cached |= _cached(file, prefix)
        except OSError:  # another user's file
            return {}
        except (sqlite3.DatabaseError, TypeError, ValueError, OverflowError) as error:
            if not _is_busy(error):
                self.remove()
            return {}
        return cached

    def write(self, added: Mapping[str, Cached], gone: Collection[str]) -> None:
        """Adds `added` by key, and removes the keys in `gone`. A file that cannot be written stays unchanged."""
        with suppress(OSError, sqlite3.DatabaseError):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._write(added, gone)
            except sqlite3.DatabaseError as error:
                if _is_busy(error):
                    raise
                self.remove()
                self._write(added, gone)

    def remove(self) -> None:
        """Removes the file, if there is one and it can be removed."""
        with suppress(OSError):
            self.path.unlink()

    def _write(self, added: Mapping[str, Cached], gone: Collection[str]) -> None:
        with self._open() as file:
            file.execute("BEGIN IMMEDIATE")
            if _mark_in(file) != self._mark:
                file.execute("DROP TABLE IF EXISTS cached")
                file.execute(_TABLE)
                file.execute(f"PRAGMA user_version = {self._mark}")
            lines = [(key, *cached, _sum(key, cached)) for key, cached in added.items()]
            file.executemany("INSERT OR REPLACE INTO cached VALUES (?, ?, ?, ?)", lines)
            file.executemany("DELETE FROM cached WHERE key = ?", [(key,) for key in gone])

    @property
    def _mark(self) -> int:
        return zlib.crc32(f"{self.contents}{_TABLE}".encode()) & 0x7FFFFFFF

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=BUSY_S)) as file, file:
            file.execute("PRAGMA synchronous = OFF")  # after a crash of the machine the file may be lost
            yield file


def _mark_in(file: sqlite3.Connection) -> int:
    mark: int = file.execute("PRAGMA user_version").fetchone()[0]
    return mark


def _cached(file: sqlite3.Connection, prefix: str) -> Iterator[tuple[str, Cached]]:
    """The cached objects under `prefix` by key, without damaged ones."""
    end = f"{prefix[:-1]}0"  # the character after the slash
    for key, stamp, data, sum in file.execute("SELECT * FROM cached WHERE key >= ? AND key < ?", (prefix, end)):
        cached = Cached(stamp, data)
        if _sum(key, cached) == sum:
            yield key, cached


def _sum(key: str, cached: Cached) -> int:
    return zlib.crc32(cached.data, zlib.crc32(f"{key}\n{cached.stamp}\n".encode()))


def _is_busy(error: Exception) -> bool:
    """Whether another process has locked the file: then it is not damaged."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
