"""The retention policy: which files of a store are older than the settings allow, and may be removed.

Kept in any case: an observation that is still to be measured or joined. Kept unless the policy says otherwise: an
observation on which a result of the round that counts or of a later one, or the newest pages of a suite, rest.
Preflight logs that a manifest names must stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import NamedTuple

from judge.config import Retention
from judge.records.attempts import History, submission_of, unit_prefix
from judge.records.decisions import Rounds, SubmissionTask, read_all_decisions, rounds_that_count
from judge.records.manifest import FOLDER as MANIFESTS
from judge.records.manifest import Manifest
from judge.records.model_file import model_path
from judge.records.observation_file import observation_path
from judge.records.record_cache import RecordCache, StoreFacts
from judge.records.result_selection import ResultFacts
from judge.upkeep.gc import Garbage, GarbageKind, StoreAttempts, remove_file, remover, with_status
from judge.workspace import Workspace
from submissions.store.interface import Stamped, Store
from submissions.store.read_record import read_record
from tasks.kinds.registry import KINDS

DAY_S = 86400.0
_EVENT = re.compile(r"submissions/[^/]+/events/")


class Sort(StrEnum):
    """The sorts of files that usage tells apart; those of the policy have the names of its fields."""

    OBSERVATIONS = "observations"
    TRAJECTORIES = "trajectories"
    MODELS = "models"
    LOGS = "logs"
    IMAGES = "images"
    RECORDS = "records"


GARBAGE_KINDS = {
    Sort.OBSERVATIONS: GarbageKind.OBSERVATION,
    Sort.TRAJECTORIES: GarbageKind.TRAJECTORY,
    Sort.MODELS: GarbageKind.MODEL,
    Sort.LOGS: GarbageKind.LOG,
}


class StoredFile(NamedTuple):
    """A file in the store, or on this machine, with the time of its last change [s since 1970]."""

    sort: Sort
    name: str
    size_bytes: int
    modified: float


@dataclass(frozen=True)
class References:
    """What the records of a store say about its files: keys.

    Args:
        trajectories: observations of kinds that simulate.
        named: by any attempt or result.
        needed: by a result of the round that counts or of a later one, or by the newest pages of a suite.
        unmeasured: of attempts that have no result; not of shards and trainings that were joined.
        published: files of submissions that a manifest names.
    """

    trajectories: frozenset[str]
    named: frozenset[str]
    needed: frozenset[str]
    unmeasured: frozenset[str]
    published: frozenset[str]


def read_references(workspace: Workspace, cache: RecordCache, listed: Sequence[Stamped]) -> References:
    """The references of the records in `listed`, a listing of the store. Records that are cached are not read again.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    store, facts = workspace.store, cache.everything(listed)
    decided = sorted({submission_of(each.key) for each in listed if _EVENT.match(each.key)})
    rounds = rounds_that_count(read_all_decisions(store, decided, workspace.trusted))
    manifests = [read_record(store, each.key, Manifest) for each in listed if each.key.startswith(MANIFESTS)]
    newest = {manifest.suite: manifest for manifest in manifests}  # the later ones are listed later
    shown = frozenset(key for manifest in newest.values() for key in manifest.results)
    published = frozenset(key for manifest in manifests for key in manifest.submissions)
    return _references(facts, rounds, shown, published)


def _references(facts: StoreFacts, rounds: Rounds, shown: frozenset[str], published: frozenset[str]) -> References:
    ends = {
        prefix: [attempt.end for attempt in history.attempts if attempt.end]
        for prefix, history in facts.histories.items()
    }
    measured = {unit_prefix(each.submission, each.task, each.observation_key) for each in facts.results}
    needed = [each for each in facts.results if each.key in shown or _may_count(each, facts.histories, rounds)]
    simulated = [each for each in facts.results if each.kind in KINDS and KINDS.traits(each.kind).first_run]
    of_ends = {end.observation for ended in ends.values() for end in ended}
    joined = {
        unit_prefix(submission_of(prefix), prefix.split("/")[2], part)
        for prefix, history in facts.histories.items()
        if history.end
        for part in history.end.parts
    }
    used = measured | joined
    unmeasured = {
        history.end.observation for prefix, history in facts.histories.items() if history.end and prefix not in used
    }
    models = {model_path(end.model) for ended in ends.values() for end in ended if end.model}
    return References(
        trajectories=_keys(each.observation for each in simulated),
        named=_keys(of_ends | {each.observation for each in facts.results}) | models,
        needed=_keys(each.observation for each in needed),
        unmeasured=_keys(unmeasured),
        published=published,
    )


def _may_count(result: ResultFacts, histories: Mapping[str, History], rounds: Rounds) -> bool:
    """Whether a result rests on the attempt that counts, in the round that counts or in one that may be applied yet."""
    if result.round < rounds.get(SubmissionTask(result.submission, result.task, result.dataset), 0):
        return False
    history = histories.get(unit_prefix(result.submission, result.task, result.observation_key))
    return bool(history and history.end and history.end.observation == result.observation)


def _keys(observations: Iterable[str | None]) -> frozenset[str]:
    return frozenset(observation_path(digest) for digest in observations if digest)


def sorted_files(listed: Iterable[Stamped], references: References, log: Path) -> list[StoredFile]:
    """All files of the store, each with its sort, and the files of the event log at `log`."""
    files = [StoredFile(_sort(each.key, references), each.key, each.size_bytes, each.modified) for each in listed]
    for path, status in with_status(sorted(log.parent.glob(f"{log.name}*"))):
        files.append(StoredFile(Sort.LOGS, str(path), status.st_size, status.st_mtime))
    return files


def _sort(key: str, references: References) -> Sort:
    if key.startswith("observations/"):
        return Sort.TRAJECTORIES if key in references.trajectories else Sort.OBSERVATIONS
    if key.startswith("models/"):
        return Sort.MODELS
    return Sort.LOGS if key.endswith("/preflight.log") else Sort.RECORDS


def expired(policy: Retention, files: Iterable[StoredFile], references: References, now: float) -> list[StoredFile]:
    """The files that the policy removes. Files that no record names are left to the other rules of `judge gc`.

    Args:
        now: seconds since the epoch.
    """
    days: Mapping[str, float | None] = policy.model_dump(exclude={"also_needed", "images"})
    kept = references.published | references.unmeasured
    if not policy.also_needed:
        kept |= references.needed
    old = [each for each in files if (limit := days.get(each.sort)) is not None and each.modified < now - limit * DAY_S]
    return [each for each in old if each.name not in kept and _may_go(each, references)]


def _may_go(file: StoredFile, references: References) -> bool:
    if file.sort is Sort.LOGS:  # the present event log is still written
        return not file.name.startswith("/") or file.name.rpartition(".")[2].isdigit()
    return file.name in references.named


def as_garbage(store: Store, files: Iterable[StoredFile], attempts: StoreAttempts) -> list[Garbage]:
    """The files as garbage. None is removed if an attempt was claimed after `attempts` were read.

    Args:
        attempts: read before the files were listed; none of them may be alive.
    """
    remove = remover(store, attempts)
    return [
        Garbage(
            GARBAGE_KINDS[file.sort],
            file.name,
            file.size_bytes,
            partial(remove_file, Path(file.name)) if file.name.startswith("/") else partial(remove, file.name),
            by_policy=True,
        )
        for file in files
    ]
