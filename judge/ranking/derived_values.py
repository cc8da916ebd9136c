"""Plain values that are computed from one result and its items table, kept from one build of the site to the next.

A table is then read only for a new result. A kept value counts only if the stamps of result and table are those of the
present store, and if it was derived under the same name from the same parameters. Another version of the code has
another file (`judge.publishing.build_cache`). A file that is damaged counts as empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

from judge.records.cache_file import Cached, CacheFile
from judge.records.items_file import items_path, result_path
from judge.records.records import Result
from tasks.metrics.measurement import Items

_FOLDER = "derived/"


class Derivations(NamedTuple):
    """The keys of the values that a process used, and the values that it computed. One without a stamp is not kept."""

    used: frozenset[str]
    added: Mapping[str, Cached]


@dataclass
class DerivedValues:
    """The values of all results. Without a file they are kept in memory alone.

    Args:
        load_items: the items table of a result; None if it cannot be read.
        stamps: by key in the store, the version of the bytes. Values of other records are not kept.
    """

    load_items: Callable[[Result], Items | None] = lambda result: None
    file: CacheFile | None = None
    stamps: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._last: Mapping[str, Cached] = self.file.read([_FOLDER]) if self.file else {}
        self._used: set[str] = set()
        self._added: dict[str, Cached] = {}

    def of(self, result: Result, name: str, derive: Callable[[Items], object], *parameters: object) -> Any:
        """What `derive` makes of the items table, as JSON gives it back: tuples are lists. None if there is no table.

        Args:
            name: of the value; another function needs another name.
            derive: a function of result, table, parameters and the code alone. Its value is plain data for JSON, and
                not None.
            parameters: plain data for JSON.
        """
        table, record = (path(result.submission, result.task, result.result_key) for path in (items_path, result_path))
        digest = sha256(json.dumps(parameters).encode()).hexdigest()
        key = f"{_FOLDER}{record} {name} {digest}"
        stamps = self.stamps.get(record), self.stamps.get(table)
        stamp = "" if None in stamps else f"{stamps[0]} {stamps[1]}"
        cached = self._added.get(key) or self._last.get(key)
        if cached is None or (key not in self._added and cached.stamp != stamp):
            items = self.load_items(result)
            if items is None:
                return None
            cached = self._added[key] = Cached(stamp, json.dumps(derive(items)).encode())
        self._used.add(key)
        return json.loads(cached.data)

    def use(self, submission: str) -> None:
        """Keeps the values of a submission whose scores were not computed again, as far as its records are the same."""
        self._used.update(self._of_submission.get(submission, ()))

    @cached_property
    def _of_submission(self) -> Mapping[str, list[str]]:
        """The keys of the last build by submission."""
        keys: dict[str, list[str]] = {}
        for key in self._last:
            keys.setdefault(key.split("/")[2], []).append(key)
        return keys

    def derivations(self) -> Derivations:
        """For another process, which adds them by `add`."""
        return Derivations(frozenset(self._used), self._added)

    def add(self, derivations: Derivations) -> None:
        """Adds what another process used and computed."""
        self._used |= derivations.used
        self._added |= derivations.added

    def close(self) -> None:
        """Writes the new values, and removes those that were not used."""
        added = {key: cached for key, cached in self._added.items() if cached.stamp}
        gone = self._last.keys() - self._used
        if self.file and (added or gone):
            self.file.write(added, gone)
