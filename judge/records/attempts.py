"""Attempts and their claims: which process may observe a unit, and which end counts. No state is stored besides these.

Each attempt n of a unit has a folder `attempts/<id>/<task>/<observation_key>/<n>/`:

- `claim.json`, put if absent: one of several judges gets it.
- `beat.json`, rewritten every few seconds by the process that holds the claim.
- `end.json`, put if absent: the attempt's verdict or fault.

A claim without an end is dead if its beat has not changed for `dead_after_s` on the reader's own monotonic clock (the
clocks of two machines are never compared). It is dead at once if its beat says that its process has left it, or if its
process ran on this host and is gone. A judge that takes over claims n + 1. An end below the highest claim is ignored,
however late it arrives: two attempts never both count.

An attempt that the judge's own machine spoiled ends with a fault. After three of these the unit is held for a person.
It is also held after twenty attempts whose judges died: the judge that finds the last one dead claims one more attempt
and ends it with a fault that says so.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

from pydantic import ValidationError

from judge.records.process_identity import host_name, is_surely_gone, process_identity
from judge.records.records import Claim, End
from sandbox.events import Event, emit
from sandbox.verdict import FaultCause, JudgeFault
from submissions.records import utc_now
from submissions.store.interface import Readable, Store, StoreError

LEFT = b'{"left": true}'
"""The last beat of a process that leaves its attempt without an end."""
MAX_TRIES = 3
MAX_DEATHS = 20
_FILE = re.compile(r"(attempts/[^/]+/[^/]+/[^/]+/)([0-9]+)/([^/]+)")
T = TypeVar("T", Claim, End)


class AttemptFile(NamedTuple):
    """A file of attempt `n` of the unit at `prefix`."""

    prefix: str
    n: int
    name: str


@dataclass(frozen=True)
class Attempt:
    """One attempt as recorded.

    Args:
        claim: None if there is an end: then the claim is not read.
    """

    n: int
    claim: Claim | None = None
    end: End | None = None


@dataclass(frozen=True)
class History:
    """All attempts of one unit, by n."""

    attempts: tuple[Attempt, ...] = ()

    @property
    def last(self) -> Attempt | None:
        """The attempt with the highest claim. Only its end counts."""
        return self.attempts[-1] if self.attempts else None

    @property
    def end(self) -> End | None:
        """The end that counts, if it has a verdict."""
        end = self.last.end if self.last else None
        return end if end and end.verdict else None

    @property
    def faults(self) -> list[End]:
        """The ends of attempts that the judge's machine spoiled."""
        return [attempt.end for attempt in self.attempts if attempt.end and attempt.end.fault]

    @property
    def unended(self) -> int:
        """How many attempts have no end. Their judges died; that of the last one may be alive."""
        return sum(attempt.end is None for attempt in self.attempts)

    @property
    def held(self) -> End | None:
        """The last fault, if the unit is held for a person."""
        last = self.last.end if self.last else None
        enough = len(self.faults) >= MAX_TRIES or self.unended >= MAX_DEATHS
        return last if last and last.fault and enough else None

    @property
    def open(self) -> Attempt | None:
        """The last attempt, if it was claimed and has not ended."""
        return self.last if self.last and self.last.end is None else None


def unit_prefix(submission: str, task: str, observation_key: str) -> str:
    """The key prefix of the attempts of a unit."""
    return f"attempts/{submission}/{task}/{observation_key}/"


def submission_of(key: str) -> str:
    """The submission that a key in the store, or the prefix of keys, belongs to."""
    return key.split("/")[1]


def read_histories(store: Store, submissions: Iterable[str]) -> dict[str, History]:
    """The attempts of all units of `submissions`, by their prefix.

    Raises:
        StoreError: a record cannot be read; the message names its key.
    """
    keys = (key for submission in submissions for key in store.list(f"attempts/{submission}/"))
    return histories_of(store, keys)


def read_history(store: Store, prefix: str) -> History:
    """The attempts of the unit at `prefix`."""
    return histories_of(store, store.list(prefix)).get(prefix, History())


def histories_of(store: Readable, keys: Iterable[str]) -> dict[str, History]:
    """The attempts whose records are under `keys`, by the prefix of their unit. A claim beside an end is not read."""
    files: dict[str, dict[int, set[str]]] = {}
    for file in attempt_files(keys):
        files.setdefault(file.prefix, {}).setdefault(file.n, set()).add(file.name)
    return {prefix: _history(store, prefix, numbers) for prefix, numbers in files.items()}


def attempt_files(keys: Iterable[str]) -> Iterator[AttemptFile]:
    """The files of attempts under `keys`. Other files, as a file browser may leave them there, are left out."""
    for match in map(_FILE.fullmatch, keys):
        if match:
            yield AttemptFile(match[1], int(match[2]), match[3])


def _history(store: Readable, prefix: str, numbers: Mapping[int, Collection[str]]) -> History:
    attempts = []
    for n in sorted(numbers):
        if "end.json" in numbers[n]:  # written once, under a claim: it counts even if the claim is lost
            attempts.append(Attempt(n, end=_read_part(store, f"{prefix}{n}/end.json", End)))
        elif "claim.json" in numbers[n]:
            attempts.append(Attempt(n, claim=_read_part(store, f"{prefix}{n}/claim.json", Claim)))
    return History(tuple(attempts))


def _read_part(store: Readable, key: str, record: type[T]) -> T:
    """The claim or end under `key`.

    Raises:
        StoreError: it cannot be read; the message names `key`.
    """
    try:
        return record.read(store.get(key))
    except (KeyError, ValidationError) as error:
        raise StoreError(f"store: {key} cannot be read ({type(error).__name__}): look at it, then delete it") from error


def deaths(store: Readable, prefix: str, history: History) -> int:
    """How many attempts have no end because their judges died: those that were left in good order do not count."""
    return sum(attempt.end is None and _beat(store, prefix, attempt) != LEFT for attempt in history.attempts)


def _beat(store: Readable, prefix: str, attempt: Attempt) -> bytes:
    """The last sign of life of an attempt; empty if there is none."""
    try:
        return store.get(f"{prefix}{attempt.n}/beat.json")
    except KeyError:
        return b""


class Life(StrEnum):
    """Whether the judge that holds a claim is alive."""

    ALIVE = "alive"
    DEAD = "dead"
    UNKNOWN = "unknown"


@dataclass
class DeathWatch:
    """Tells claims of dead judges from those of living ones, by this process's own monotonic clock.

    Args:
        dead_after_s: seconds without a change of the beat.
    """

    store: Store
    dead_after_s: float
    clock: Callable[[], float] = time.monotonic
    _seen: dict[str, tuple[bytes, float]] = field(default_factory=dict)
    _moved: set[str] = field(default_factory=set)

    def look(self, prefix: str, attempt: Attempt) -> Life:
        """Whether the judge of `attempt`, which has no end, is alive. Unknown at the first call: call again later."""
        if attempt.claim and is_surely_gone(attempt.claim.owner):
            return Life.DEAD
        key, beat = f"{prefix}{attempt.n}/beat.json", _beat(self.store, prefix, attempt)
        if beat == LEFT:
            return Life.DEAD
        known, now = self._seen.get(key), self.clock()
        if known is None or known[0] != beat:
            self._seen[key] = (beat, now)
            if known is not None:
                self._moved.add(key)
        elif now - known[1] >= self.dead_after_s:
            return Life.DEAD
        return Life.ALIVE if key in self._moved else Life.UNKNOWN


@dataclass(eq=False)
class ClaimedAttempt:
    """An attempt that this process holds. Inside the context it writes the beat.

    If the context is left without an end (an error, Ctrl-C, a time limit), the next judge takes the claim over at once.
    """

    store: Store
    prefix: str
    n: int
    process: str
    beat_s: float
    _ended: threading.Event = field(default_factory=threading.Event)
    _has_end: bool = False

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._beat, name=f"beat {self.prefix}{self.n}", daemon=True)
        try:
            self._thread.start()
        except BaseException:  # Ctrl-C: else nobody would leave the attempt
            self._ended.set()
            self.leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if not self._has_end:
            self.leave()

    def leave(self) -> None:
        """Says that this process has left the attempt without an end."""
        with suppress(StoreError):  # else the next judge waits until the beat is old
            self.store.put(f"{self.prefix}{self.n}/beat.json", LEFT)

    def _beat(self) -> None:
        count = 0
        while not self._ended.wait(self.beat_s):  # the claim itself is the first sign of life
            count += 1
            beat = json.dumps({"owner": self.process, "count": count}).encode()
            with suppress(StoreError):  # the store may come back; if not, writing the end fails with this error
                self.store.put(f"{self.prefix}{self.n}/beat.json", beat)

    def is_still_held(self) -> bool:
        """Whether no other judge has taken this attempt over."""
        return max((file.n for file in attempt_files(self.store.list(self.prefix))), default=0) == self.n

    def write_end(self, end: End) -> None:
        """Records the end of the attempt.

        Raises:
            JudgeFault: CLAIM_LOST: another judge took this one for dead and took over; its end counts.
            StoreError: the end cannot be written.
        """
        if not self.is_still_held():
            raise JudgeFault(FaultCause.CLAIM_LOST, f"{self.prefix}{self.n} was taken over: the other judge's counts")
        if not self.store.put_if_absent(f"{self.prefix}{self.n}/end.json", end.model_dump_json(indent=1).encode()):
            raise JudgeFault(FaultCause.CLAIM_LOST, f"{self.prefix}{self.n} has ended already: that end counts")
        self._has_end = True
        if end.fault:
            emit(Event.FAULT, unit=self.prefix, attempt=self.n, fault=end.fault, culprit=end.culprit)
        else:
            emit(Event.ENDED, unit=self.prefix, attempt=self.n, verdict=str(end.verdict), phase=end.phase)


def claim(store: Store, prefix: str, history: Sequence[Attempt], beat_s: float) -> ClaimedAttempt | None:
    """The attempt after `history`, claimed for this process; None if another judge was faster."""
    n = history[-1].n + 1 if history else 1
    owner = process_identity()
    record = Claim(owner=owner, host=host_name(), started=utc_now()).model_dump_json(indent=1).encode()
    key, claimed = f"{prefix}{n}/claim.json", ClaimedAttempt(store, prefix, n, owner, beat_s)
    try:
        if not store.put_if_absent(key, record):
            return None
        emit(Event.TAKEN_OVER if history and history[-1].end is None else Event.CLAIMED, unit=prefix, attempt=n)
    except BaseException:  # Ctrl-C while the store writes: nobody enters the context, and the claim may be there
        with suppress(KeyError, StoreError):
            if store.get(key) == record:
                claimed.leave()
        raise
    return claimed
