"""What a store holds: number, bytes and age of each sort of file, and what the retention policy removes of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from judge.config import Retention
from judge.records.record_cache import open_cache
from judge.upkeep.retention import Sort, StoredFile, expired, read_references, sorted_files
from judge.workspace import Workspace
from submissions.records import Record


class SortUsage(Record):
    """The files of one sort.

    Args:
        days: that the policy keeps them; None: for ever.
        oldest: time of the first change [s since 1970]; None if there is no file.
        expired_files: how many of them `judge gc` removes by the policy.
    """

    sort: Sort
    files: int
    size_bytes: int
    oldest: float | None
    days: float | None
    expired_files: int
    expired_bytes: int


@dataclass(frozen=True)
class Usage:
    """The files of a store, and of the event log, at one time.

    Args:
        expired: those that the policy removes.
    """

    policy: Retention
    files: tuple[StoredFile, ...]
    expired: tuple[StoredFile, ...]

    @cached_property
    def by_sort(self) -> list[SortUsage]:
        """One row for each sort of file, in their order."""
        return [self._of(sort) for sort in Sort if sort is not Sort.IMAGES]

    def _of(self, sort: Sort) -> SortUsage:
        files = [each for each in self.files if each.sort is sort]
        old = [each for each in self.expired if each.sort is sort]
        return SortUsage(
            sort=sort,
            files=len(files),
            size_bytes=_bytes(files),
            oldest=min((each.modified for each in files), default=None),
            days=getattr(self.policy, sort, None),
            expired_files=len(old),
            expired_bytes=_bytes(old),
        )


def read_usage(workspace: Workspace) -> Usage:
    """The usage of the store. It is listed once; only records that changed since the last time are read.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    settings, store = workspace.settings, workspace.store
    listed = list(store.stamped(""))
    references = read_references(workspace, open_cache(settings, store), listed)
    files = sorted_files(listed, references, settings.log)
    return Usage(settings.retention, tuple(files), tuple(expired(settings.retention, files, references, time.time())))


def _bytes(files: Sequence[StoredFile]) -> int:
    return sum(each.size_bytes for each in files)
