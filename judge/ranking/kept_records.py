"""Keeps the records of single submissions, as they were read, from one build of the site to the next.

An entry is found by the stamps of all records of its submission, so these are read again only if one of them changed.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from judge.ranking.interval_cache import key_of
from judge.records.cache_file import Cached, CacheFile
from judge.records.decisions import Decisions
from judge.records.records import Result
from submissions.records import Submission
from submissions.store.interface import Stamped

_FOLDER = "records/"
_OF_SUBMISSIONS = ("attempts", "results", "submissions")


class Records(NamedTuple):
    """The records of a submission: the decisions about it, and its results that count."""

    submission: Submission
    decisions: Decisions
    results: tuple[Result, ...]


@dataclass(frozen=True)
class KeptRecords:
    """The records of the last build. They are plain objects of this code, in a file that only the judge's user reads.

    Args:
        file: of this version of the code.
        listed: all records of the store.
        trusted: public keys; one of them must have signed each decision.
    """

    file: CacheFile
    listed: Iterable[Stamped]
    trusted: Collection[str]
    _keys: dict[str, str] = field(default_factory=dict)
    _entries: dict[str, Cached] = field(default_factory=dict)
    _added: dict[str, Cached] = field(default_factory=dict)

    def __post_init__(self) -> None:
        stamps: dict[str, list[str]] = {}
        results: Counter[str] = Counter()
        unsettled = set()
        for each in self.listed:
            folder, submission, *rest = each.key.split("/")
            if folder in _OF_SUBMISSIONS and rest:
                stamps.setdefault(submission, []).append(f"{each.key} {each.stamp}")
                if not each.is_settled:
                    unsettled.add(submission)
                if folder == "results" and each.key.endswith(".json"):
                    results[f"{submission}/{rest[0]}"] += 1
        # Which of several results of a task counts may depend on the data sets.
        several = {unit.partition("/")[0] for unit, n in results.items() if n > 1}
        trusted = sorted(self.trusted)
        for submission, of_submission in stamps.items():
            if submission not in unsettled | several:
                self._keys[submission] = _FOLDER + key_of(trusted, of_submission).rpartition("/")[2]
        self._entries.update(self.file.read([_FOLDER]))

    @property
    def known(self) -> frozenset[str]:
        """The submissions whose records are kept."""
        return frozenset(id for id, key in self._keys.items() if key in self._entries)

    def get(self, id: str) -> Records | None:
        """The records of a submission; None if they are not kept."""
        entry = self._entries.get(self._keys.get(id, ""))
        return Records(*pickle.loads(entry.data)) if entry else None

    def put(self, records: Records) -> None:
        """Adds the records of a submission."""
        if key := self._keys.get(records.submission.id):
            self._added[key] = Cached("", pickle.dumps(tuple(records), pickle.HIGHEST_PROTOCOL))

    def close(self) -> None:
        """Writes what was added, and removes what is no longer in the store."""
        gone = self._entries.keys() - set(self._keys.values())
        if self._added or gone:
            self.file.write(self._added, gone)
