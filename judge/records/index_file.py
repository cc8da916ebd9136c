"""The file of the index: a row for each submission, in SQLite. Whatever is wrong with the file, it is made anew."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

BUSY_S = 10.0
_TABLE = """
CREATE TABLE rows (
    id TEXT PRIMARY KEY, sum INTEGER, names TEXT, stamps BLOB, summary TEXT, facts TEXT, facts_sum INTEGER
)
"""
_SETTLED = "CREATE TABLE settled (one INTEGER PRIMARY KEY, digest TEXT)"
Line = tuple[str, int, str, bytes, str, str, int]


class Row(NamedTuple):
    """What is known of one submission.

    Args:
        names: of the objects it was made from, one a line.
        stamps: of these.
        summary: JSON.
        facts: JSON.
    """

    names: str
    stamps: bytes
    summary: str
    facts: str


@dataclass(frozen=True)
class IndexFile:
    """The rows in the file at `path`.

    Args:
        owner: of which store and which version of the code they are; those of another are none.
    """

    path: Path
    owner: str

    def read(self, with_facts: bool = True) -> dict[str, Row]:
        """The rows, by submission; none where there is no such file, or it is another owner's.

        Args:
            with_facts: else `facts` is empty.
        """
        facts = "facts, facts_sum" if with_facts else f"'', {zlib.crc32(b'')}"
        try:
            if not self.path.exists():
                return {}
            with self._open() as file:
                lines = file.execute(f"SELECT id, sum, names, stamps, summary, {facts} FROM rows").fetchall()
            return {line[0]: Row(*line[2:6]) for line in lines if _line(line[0], Row(*line[2:6])) == line}
        except OSError:  # another user's
            return {}
        except (sqlite3.DatabaseError, TypeError, ValueError, OverflowError) as error:
            if not _is_busy(error):
                self._remove()
            return {}

    def write(self, rows: Mapping[str, Row]) -> None:
        """Puts `rows` in the place of those of the same submissions; a file that cannot be written stays as it is."""
        lines = [_line(id, row) for id, row in rows.items()]
        with suppress(OSError, sqlite3.DatabaseError):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._insert(lines)
            except sqlite3.DatabaseError as error:
                if _is_busy(error):
                    raise
                self._remove()
                self._insert(lines)

    def settled(self) -> str:
        """What `settle` was told last; empty where it was not, or the file is another owner's."""
        try:
            if not self.path.exists():
                return ""
            with self._open() as file:
                line = file.execute("SELECT digest FROM settled").fetchone()
        except (OSError, sqlite3.DatabaseError):
            return ""
        return line[0] if line and isinstance(line[0], str) else ""

    def settle(self, digest: str) -> None:
        """Keeps `digest` in the place of what was kept before; a file that cannot be written stays as it is."""
        with suppress(OSError, sqlite3.DatabaseError), self._open() as file:
            file.execute("INSERT OR REPLACE INTO settled VALUES (1, ?)", (digest,))

    def _insert(self, lines: list[Line]) -> None:
        with self._open() as file:
            file.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", lines)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The file, in one transaction; emptied first if it is another owner's."""
        with closing(sqlite3.connect(self.path, timeout=BUSY_S)) as file, file:
            file.execute("PRAGMA synchronous = OFF")  # after a crash of the machine it may be made anew
            mark = zlib.crc32(f"{self.owner}{_TABLE}{_SETTLED}".encode()) & 0x7FFFFFFF
            if file.execute("PRAGMA user_version").fetchone() != (mark,):
                file.execute("BEGIN IMMEDIATE")
                for table, made in (("rows", _TABLE), ("settled", _SETTLED)):
                    file.execute(f"DROP TABLE IF EXISTS {table}")
                    file.execute(made)
                file.execute(f"PRAGMA user_version = {mark}")
            yield file

    def _remove(self) -> None:
        with suppress(OSError):
            self.path.unlink()


def _is_busy(error: Exception) -> bool:
    """Whether another process holds the file: nothing is wrong with it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _line(id: str, row: Row) -> Line:
    """A row as stored, with two sums that tell when it was damaged: one of the facts, and one of all else."""
    sum = zlib.crc32(row.summary.encode(), zlib.crc32(row.stamps, zlib.crc32(f"{id}\n{row.names}".encode())))
    return (id, sum, *row, zlib.crc32(row.facts.encode()))
