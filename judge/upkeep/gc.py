"""Finds garbage: what no record refers to. What an attempt or result refers to is kept, whether it counts or not.

An observation or a trained model is stored before the end that names it. So these are listed before attempts are read.
None is removed while the judge of an open attempt may be alive. None is removed either if an attempt was claimed after
the attempts were read: its observation may have the same bytes as one that had no reference a moment ago.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from judge.evaluation.moving_checkpoint import COPY
from judge.records.attempts import History, read_histories, submission_of
from judge.records.model_file import model_path
from judge.records.observation_file import observation_path
from judge.records.process_identity import is_surely_gone, process_exists
from judge.records.records import Result
from sandbox.verdict import FaultCause, JudgeFault
from submissions.store.interface import Store
from submissions.store.local import LocalStore
from submissions.store.read_record import read_record

GRACE_S = 2.0  # a measurement writes items and result within milliseconds of each other
HOUR_S = 3600.0
_TEMPORARY = re.compile(r"\.tmp-(\d+)-[0-9a-f]+")
_ITEMS, _RESULT = ".items.safetensors", ".json"


class GarbageKind(StrEnum):
    """The kinds of garbage."""

    OBSERVATION = "observation"
    TRAJECTORY = "trajectory"
    MODEL = "trained model"
    LOG = "log"
    ITEMS = "items table"
    TEMPORARY = "temporary file"
    CHECKPOINT = "checkpoint"
    SESSION = "session folder"
    IMAGE = "image"


_REFERRED = {GarbageKind.OBSERVATION: "observations/", GarbageKind.MODEL: "models/"}


@dataclass(frozen=True)
class Garbage:
    """One piece of garbage.

    Args:
        name: key in the store, path, or name of an image.
        remove: removes it; False if it is in use after all, and was kept.
        by_policy: a record names it, and the retention policy removes it.
    """

    kind: GarbageKind
    name: str
    size_bytes: int
    remove: Callable[[], bool]
    by_policy: bool = False


@dataclass(frozen=True)
class StoreAttempts:
    """All attempts of a store at one time.

    Args:
        histories: by the prefix of the unit.
        claims: keys of all claims, listed just before.
    """

    histories: Mapping[str, History]
    claims: frozenset[str]

    @property
    def living(self) -> dict[str, str]:
        """The hosts of open attempts whose judges may be alive, by the prefix of the unit."""
        hosts = {}
        for prefix, history in self.histories.items():
            claim = history.open.claim if history.open else None
            if claim and not is_surely_gone(claim.owner):
                hosts[prefix] = claim.host
        return hosts


def read_attempts(store: Store) -> StoreAttempts:
    """All attempts, also those of submissions that are gone.

    Raises:
        StoreError: one cannot be read; one line that names it.
    """
    claims = _claims(store)
    return StoreAttempts(read_histories(store, sorted({submission_of(key) for key in claims})), claims)


def _claims(store: Store) -> frozenset[str]:
    return frozenset(key for key in store.list("attempts/") if key.endswith("/claim.json"))


def unreferred_observations(store: Store) -> tuple[tuple[Garbage, ...], StoreAttempts]:
    """The observations and trained models without a reference from an end or a result, and all attempts.

    None while the judge of an open attempt may be alive: an observation may be stored, and its end not yet.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    stored = [(kind, each) for kind, room in _REFERRED.items() for each in store.stamped(room)]
    attempts = read_attempts(store)
    if attempts.living:
        return (), attempts
    ends = [attempt.end for history in attempts.histories.values() for attempt in history.attempts if attempt.end]
    results = [read_record(store, key, Result) for key in store.list("results/") if key.endswith(_RESULT)]
    named = {end.observation for end in ends} | {result.provenance.observation for result in results}
    kept = {observation_path(digest) for digest in named if digest}
    kept |= {model_path(end.model) for end in ends if end.model}

    remove, unnamed = remover(store, attempts), [(kind, each) for kind, each in stored if each.key not in kept]
    garbage = (Garbage(kind, each.key, each.size_bytes, partial(remove, each.key)) for kind, each in unnamed)
    return tuple(garbage), attempts


def remover(store: Store, attempts: StoreAttempts) -> Callable[[str], bool]:
    """A function that removes the file under a key; it returns False, and keeps it, if an attempt was claimed since."""

    def remove(key: str) -> bool:
        if _claims(store) - attempts.claims:
            return False
        store.delete(key)
        return True

    return remove


def items_without_result(store: Store) -> tuple[Garbage, ...]:
    """The items tables without a result. If one is removed wrongly, it can be measured again."""
    sizes = {each.key: each.size_bytes for each in store.stamped("results/")}
    seen = time.monotonic()

    def remove(key: str, result: str) -> bool:
        time.sleep(max(0.0, seen + GRACE_S - time.monotonic()))
        if store.exists(result):
            return False
        data = store.get(key)
        store.delete(key)
        if store.exists(result):  # it was stored at this moment
            store.put(key, data)
            return False
        return True

    results = {key: key.removesuffix(_ITEMS) + _RESULT for key in sorted(sizes) if key.endswith(_ITEMS)}
    return tuple(
        Garbage(GarbageKind.ITEMS, key, sizes[key], partial(remove, key, result))
        for key, result in results.items()
        if result not in sizes
    )


def copied_checkpoints(store: Store, attempts: StoreAttempts) -> tuple[Garbage, ...]:
    """The copies of checkpoints of units that have an end, or of none that is known."""

    def remove(key: str) -> bool:
        store.delete(key)
        return True

    copies = [each for each in store.stamped("attempts/") if f"/{COPY}" in each.key]
    return tuple(
        Garbage(GarbageKind.CHECKPOINT, each.key, each.size_bytes, partial(remove, each.key))
        for each in copies
        if (history := attempts.histories.get(f"{each.key.rsplit('/', 2)[0]}/")) is None or history.end is not None
    )


def dead_writers_files(store: Store, oldest: float) -> tuple[Garbage, ...]:
    """The temporary files that dead writers left in a local store.

    The number in a file's name is the writer's process on some host; another process may have it by now. So a file is
    garbage if it is older than an hour, and either that process is gone from this host or the file is older than
    `oldest`.

    Args:
        oldest: seconds since the epoch.
    """
    if not isinstance(store, LocalStore):
        return ()
    garbage, hour_ago = [], time.time() - HOUR_S
    for path, status in files_under(store.root):
        match = _TEMPORARY.fullmatch(path.name)
        if not match or status.st_mtime >= hour_ago:
            continue
        if status.st_mtime < oldest or not process_exists(int(match[1])):
            garbage.append(Garbage(GarbageKind.TEMPORARY, str(path), status.st_size, partial(remove_file, path)))
    return tuple(garbage)


def remove_file(path: Path) -> bool:
    """True, after the file at `path` was removed.

    Raises:
        JudgeFault: DISK: the file cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        remedy = f"cannot remove {path} ({error.strerror}): run judge gc as its owner"
        raise JudgeFault(FaultCause.DISK, remedy) from error
    return True


def files_under(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every file under `root` with its status."""
    return with_status(Path(folder, name) for folder, _, names in os.walk(root) for name in sorted(names))


def with_status(paths: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """Each of `paths` that is still there, with its status."""
    for path in paths:
        try:
            status = path.lstat()
        except FileNotFoundError:  # its writer has just removed it
            continue
        yield path, status
