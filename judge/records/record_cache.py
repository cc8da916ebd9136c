"""Reads the facts of submissions that listing and planning need, through a cache beside the log.

The store is listed each time, and a cached object is used only if its stamp is unchanged (`Store.stamped`). So every
object that anybody changed, added or removed is seen. Publishing and verification read the objects without the cache.

The file may be deleted at any time. A file that is damaged, of another version of the judge or of another store is
replaced. Several processes may write it at once.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from judge.config import JudgeSettings
from judge.gc_pause import collector_paused
from judge.records.attempts import History, histories_of
from judge.records.cache_file import Cached, CacheFile
from judge.records.records import Result
from judge.records.result_selection import ResultFacts
from sandbox.verdict import Verdict
from submissions.records import Submission
from submissions.store.interface import Stamped, Store
from submissions.store.read_record import read_record

ROOMS = ("submissions", "attempts", "results")
FEW = 2  # up to so many submissions, each has listings of its own: beyond, three listings serve all
# These files decide what is cached of a result: another version of them does not use the cache.
_CODE = ("record_cache.py", "result_selection.py", "records.py")


@dataclass(frozen=True)
class SubmissionFacts:
    """The facts in the records of one submission.

    Args:
        histories: the attempts, by the prefix of their unit.
        results: all results, whether they count or not.
    """

    submission: Submission
    histories: Mapping[str, History]
    results: tuple[ResultFacts, ...]


class StoreFacts(NamedTuple):
    """The attempts, by the prefix of their unit, and the results of all submissions, also of those without a record."""

    histories: Mapping[str, History]
    results: tuple[ResultFacts, ...]


@dataclass(frozen=True)
class RecordCache:
    """The records of one store, read through a cache."""

    store: Store
    file: CacheFile

    def facts(self, submissions: Collection[str]) -> dict[str, SubmissionFacts]:
        """The facts of `submissions`, by submission.

        Raises:
            StoreError: a record cannot be read; one line that names it.
        """
        with collector_paused():
            return self._facts(submissions)

    def everything(self, listed: Iterable[Stamped]) -> StoreFacts:
        """The facts of all attempts and results of `listed`, a listing of the whole store.

        Raises:
            StoreError: a record cannot be read; one line that names it.
        """
        with collector_paused():
            prefixes = ["attempts/", "results/"]
            chosen = {each.key: each for each in listed if each.key.startswith(tuple(prefixes))}
            objects = _Objects(self.store, chosen, self.file.read(prefixes))
            attempts = [key for key in chosen if key.startswith("attempts/")]
            results = [key for key in chosen if key.startswith("results/") and key.endswith(".json")]
            try:
                return StoreFacts(histories_of(objects, attempts), tuple(map(objects.result_facts, results)))
            finally:
                self._update(objects)

    def _update(self, objects: _Objects) -> None:
        gone = objects.cached.keys() - objects.listed.keys()
        if objects.added or gone:
            self.file.write(objects.added, gone)

    def _facts(self, submissions: Collection[str]) -> dict[str, SubmissionFacts]:
        folders = [f"{id}/" for id in submissions] if len(submissions) <= FEW else [""]
        prefixes = [f"{room}/{folder}" for room in ROOMS for folder in folders]
        listed = {stamped.key: stamped for prefix in prefixes for stamped in self.store.stamped(prefix)}
        objects = _Objects(self.store, listed, self.file.read(prefixes))
        keys: dict[str, list[str]] = defaultdict(list)
        for key in listed:
            keys[key.split("/", 2)[1]].append(key)
        try:
            return {id: _facts_of(objects, id, keys[id]) for id in submissions}
        finally:  # also if a record cannot be read: the others are cached
            self._update(objects)


def open_cache(settings: JudgeSettings, store: Store) -> RecordCache:
    """The cache of `store`, which is that of the settings."""
    address = f"{settings.store} {settings.endpoint_url}"
    name = hashlib.sha256(address.encode()).hexdigest()[:16]
    code = b"".join(Path(__file__).with_name(file).read_bytes() for file in _CODE)
    contents = f"{address} {hashlib.sha256(code).hexdigest()}"
    return RecordCache(store, CacheFile(settings.log.parent / "index" / f"{name}.sqlite", contents))


@dataclass(frozen=True)
class _Objects:
    """The objects of a store as listed, read through the cache.

    Args:
        added: objects that were read, to be cached.
    """

    store: Store
    listed: Mapping[str, Stamped]
    cached: Mapping[str, Cached]
    added: dict[str, Cached] = field(default_factory=dict)

    def get(self, key: str) -> bytes:
        """The bytes under `key`; raises as `Store.get`."""
        return self._through_cache(key, lambda: self.store.get(key))

    def result_facts(self, key: str) -> ResultFacts:
        """The facts of the result under `key`. Only these are cached."""

        def read() -> bytes:
            return json.dumps(ResultFacts.from_result(key, read_record(self.store, key, Result))).encode()

        facts = ResultFacts(*json.loads(self._through_cache(key, read)))
        return facts._replace(verdict=Verdict(facts.verdict))

    def _through_cache(self, key: str, read: Callable[[], bytes]) -> bytes:
        cached, stamped = self.cached.get(key), self.listed.get(key)
        if cached and stamped and cached.stamp == stamped.stamp:
            return cached.data
        data = read()
        if stamped and stamped.is_settled:
            self.added[key] = Cached(stamped.stamp, data)
        return data


def _facts_of(objects: _Objects, id: str, keys: Iterable[str]) -> SubmissionFacts:
    rooms: dict[str, list[str]] = defaultdict(list)
    for key in keys:
        rooms[key.partition("/")[0]].append(key)
    return SubmissionFacts(
        submission=read_record(objects, f"submissions/{id}/submission.json", Submission),
        histories=histories_of(objects, rooms["attempts"]),
        results=tuple(objects.result_facts(key) for key in rooms["results"] if key.endswith(".json")),
    )
