"""Attempts and their claims: who may observe a unit, and which end counts. State is derived from what exists.

Each attempt n of a unit has a folder `attempts/<id>/<task>/<observation_key>/<n>/`:

- `claim.json`, put if absent: of many judges one gets it.
- `beat.json`, written again every few seconds by the claim's owner alone.
- `end.json`, put if absent: what the attempt came to.

A claim without an end is dead when its beat has not changed for `dead_after_s` on the reader's own monotonic clock (no
two machines' clocks are compared), or at once when its owner was a process of this host that is gone. Whoever takes
over claims n + 1. So n fences: an end below the highest claim is ignored, however late it arrives, and no two attempts
are ever counted. An attempt that this judge's own machine spoilt ends with a fault; after three of these the unit is
held for a person. So it is after twenty attempts that no judge lived to end: whoever finds the last of them dead claims
one more, and ends it with a fault that says so.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Self, TypeVar

from pydantic import ValidationError

from judge.records.process_identity import host_name, own_name, surely_gone
from judge.records.records import Claim, End
from sandbox.events import Event, emit
from sandbox.verdict import FaultCause, JudgeFault
from submissions.records import utc_now
from submissions.store.interface import Store, StoreError

MAX_TRIES = 3
MAX_DEATHS = 20
T = TypeVar("T", Claim, End)


@dataclass(frozen=True)
class Attempt:
    """One attempt as recorded.

    Args:
        claim: None where there is an end, which says all that counts: then it is not read.
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
        """The attempt with the highest claim: the only one whose end counts."""
        return self.attempts[-1] if self.attempts else None

    @property
    def end(self) -> End | None:
        """The end that counts, if it came to a verdict."""
        end = self.last.end if self.last else None
        return end if end and end.verdict else None

    @property
    def faults(self) -> list[End]:
        """The ends of attempts that the judge's machine spoilt."""
        return [a.end for a in self.attempts if a.end and a.end.fault]

    @property
    def unended(self) -> int:
        """How many attempts have no end: their judges died or were killed, but for the last one's, which may live."""
        return sum(attempt.end is None for attempt in self.attempts)

    @property
    def held(self) -> End | None:
        """The last fault, if the unit is held for a person."""
        last = self.last.end if self.last else None
        enough = len(self.faults) >= MAX_TRIES or self.unended >= MAX_DEATHS
        return last if last and last.fault and enough else None

    @property
    def open(self) -> Attempt | None:
        """The attempt that was claimed and has not ended, if it is the last."""
        return self.last if self.last and self.last.end is None else None


def unit_prefix(submission: str, task: str, observation_key: str) -> str:
    """Where the attempts of a unit lie."""
    return f"attempts/{submission}/{task}/{observation_key}/"


def submission_of(prefix: str) -> str:
    """The submission whose unit's attempts lie at `prefix`."""
    return prefix.split("/")[1]


def read_histories(store: Store, submissions: Iterable[str]) -> dict[str, History]:
    """The attempts of all units of `submissions`, by their prefix.

    Raises:
        StoreError: a record cannot be read; the message names its key.
    """
    keys = (key for submission in submissions for key in store.list(f"attempts/{submission}/"))
    return _histories_of(store, keys)


def read_history(store: Store, prefix: str) -> History:
    """The attempts of the unit at `prefix`."""
    return _histories_of(store, store.list(prefix)).get(prefix, History())


def _histories_of(store: Store, keys: Iterable[str]) -> dict[str, History]:
    """The attempts that the records under `keys` are of, by the prefix of their unit. Only what counts is read."""
    found: dict[str, dict[int, set[str]]] = {}
    for key in keys:
        prefix, number, name = key.rsplit("/", 2)
        if number.isdigit():
            found.setdefault(f"{prefix}/", {}).setdefault(int(number), set()).add(name)
    return {prefix: _history(store, prefix, numbers) for prefix, numbers in found.items()}


def _history(store: Store, prefix: str, numbers: Mapping[int, Collection[str]]) -> History:
    attempts = []
    for n in sorted(numbers):
        if "end.json" in numbers[n]:  # written once, under a claim: it stands, whatever became of that
            attempts.append(Attempt(n, end=read_part(store, f"{prefix}{n}/end.json", End)))
        elif "claim.json" in numbers[n]:
            attempts.append(Attempt(n, claim=read_part(store, f"{prefix}{n}/claim.json", Claim)))
    return History(tuple(attempts))


def read_part(store: Store, key: str, record: type[T]) -> T:
    """The claim or end under `key`.

    Raises:
        StoreError: it cannot be read; the message names `key`.
    """
    try:
        return record.read(store.get(key))
    except (KeyError, ValidationError) as error:
        raise StoreError(f"store: {key} cannot be read ({type(error).__name__}): look at it, then delete it") from error


class Life(StrEnum):
    """What is known of a claim without an end."""

    ALIVE = "alive"
    DEAD = "dead"
    UNKNOWN = "unknown"


@dataclass
class DeathWatch:
    """Tells dead claims from living ones, by this process's own monotonic clock.

    Args:
        dead_after_s: seconds without a change of the beat.
    """

    store: Store
    dead_after_s: float
    clock: Callable[[], float] = time.monotonic
    _seen: dict[str, tuple[bytes, float]] = field(default_factory=dict)
    _moved: set[str] = field(default_factory=set)

    def look(self, prefix: str, attempt: Attempt) -> Life:
        """What is known by now of `attempt`, which has no end. Unknown at first: look again later."""
        if attempt.claim and surely_gone(attempt.claim.owner):
            return Life.DEAD
        key = f"{prefix}{attempt.n}/beat.json"
        try:
            beat = self.store.get(key)
        except KeyError:
            beat = b""
        known, now = self._seen.get(key), self.clock()
        if known is None or known[0] != beat:
            self._seen[key] = (beat, now)
            if known is not None:
                self._moved.add(key)
        elif now - known[1] >= self.dead_after_s:
            return Life.DEAD
        return Life.ALIVE if key in self._moved else Life.UNKNOWN


class ClaimedAttempt:
    """An attempt that this process holds: a context that gives signs of life until it is left.

    Leaving it without an end (a crash, Ctrl-C) leaves a claim that the next judge takes over.
    """

    def __init__(self, store: Store, prefix: str, n: int, owner: str, beat_s: float) -> None:
        self.prefix = prefix
        self.n = n
        self.owner = owner
        self._store = store
        self._beat_s = beat_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"beat {prefix}{n}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        count = 0
        while True:
            count += 1
            beat = json.dumps({"owner": self.owner, "count": count}).encode()
            with suppress(StoreError):  # it may come back; if not, the end cannot be written, and that is told
                self._store.put(f"{self.prefix}{self.n}/beat.json", beat)
            if self._over.wait(self._beat_s):
                return

    def still_ours(self) -> bool:
        """Whether nobody has taken this attempt over."""
        last = read_history(self._store, self.prefix).last
        return last is not None and last.n == self.n

    def write_end(self, end: End) -> None:
        """Records what the attempt came to.

        Raises:
            JudgeFault: CLAIM_LOST: another judge believed this one dead and took over; its end counts.
            StoreError: it cannot be written.
        """
        if not self.still_ours():
            raise JudgeFault(FaultCause.CLAIM_LOST, f"{self.prefix}{self.n} was taken over: the other judge's counts")
        if not self._store.put_if_absent(f"{self.prefix}{self.n}/end.json", end.model_dump_json(indent=1).encode()):
            raise JudgeFault(FaultCause.CLAIM_LOST, f"{self.prefix}{self.n} has ended already: that end counts")
        if end.fault:
            emit(Event.FAULT, unit=self.prefix, attempt=self.n, fault=end.fault, culprit=end.culprit)
        else:
            emit(Event.ENDED, unit=self.prefix, attempt=self.n, verdict=str(end.verdict), phase=end.phase)


def claim(store: Store, prefix: str, history: Sequence[Attempt], beat_s: float) -> ClaimedAttempt | None:
    """The attempt after those of `history`, claimed for this process; None if another judge was faster."""
    n = history[-1].n + 1 if history else 1
    record = Claim(owner=own_name(), host=host_name(), started=utc_now())
    if not store.put_if_absent(f"{prefix}{n}/claim.json", record.model_dump_json(indent=1).encode()):
        return None
    emit(Event.TAKEN_OVER if history and history[-1].end is None else Event.CLAIMED, unit=prefix, attempt=n)
    return ClaimedAttempt(store, prefix, n, record.owner, beat_s)
