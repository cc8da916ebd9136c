"""Records of selftests, and whether the results of a host and its engine may be published."""

from __future__ import annotations

import platform
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from pydantic import AwareDatetime, ValidationError

from judge.records.records import Result, Signature
from judge.records.signing import SigningKey
from judge.version import judge_commit, judge_version
from sandbox.driver import Driver
from sandbox.events import Event, emit
from sandbox.guest_archive import guest_version
from sandbox.selftest.catalog import ATTACKS
from sandbox.selftest.images import CALCULATOR_IMAGE
from sandbox.selftest.run import LEFT_BEHIND, AttackResult, hostile_images, selftest
from submissions.records import Record, utc_now
from submissions.store.interface import Store, StoreError

PREFIX = "selftests/"
CLOCKS_APART = timedelta(minutes=5)
MIN_ATTACKS = 40  # of a complete selftest by another version, whose catalogue is not known here


class AttackRecord(Record):
    """`sandbox.selftest.run.AttackResult`, as stored."""

    name: str
    tries: str
    held: bool
    how: str
    seconds: float


class SelftestRecord(Record):
    """`selftests/<host>/<time>-<token>.json`: one selftest of one host and engine.

    Args:
        engine: with versions of runtime and kernel. If one of them changes, the selftest is no longer valid.
        base: ID of the image that the hostile images were built on.
        results: of an interrupted selftest, the results until then.
        passed: it ran to its end, the sandbox held every attack, and nothing was left behind.
    """

    schema_version: Literal[1] = 1
    host: str
    engine: str
    driver: str
    judge_version: str
    judge_commit: str
    guest: str
    base: str
    started: AwareDatetime
    seconds: float
    results: tuple[AttackRecord, ...]
    passed: bool
    signature: Signature | None = None


class HostEngine(NamedTuple):
    """The host and the engine that a selftest is valid for."""

    host: str
    engine: str


def run_selftest(
    store: Store,
    driver: Driver,
    key: SigningKey,
    on_result: Callable[[AttackResult], None] = lambda result: None,
    base: str = CALCULATOR_IMAGE,
) -> SelftestRecord:
    """The record of a complete selftest, run now and stored.

    An interrupted selftest is stored with the results so far, as not passed: then the one before proves nothing any
    more. Only a selftest that is killed (SIGKILL, a power cut) stores nothing.

    Raises:
        JudgeFault: it could not start, and nothing is stored; or the store failed.
    """
    started, begin = utc_now(), time.monotonic()
    images = hostile_images(driver, base)
    begun = SelftestRecord(
        host=platform.node(),
        engine=driver.engine,
        driver=driver.name,
        judge_version=judge_version(),
        judge_commit=judge_commit(),
        guest=guest_version(),
        base=images.base_id,
        started=started,
        seconds=0.0,
        results=(),
        passed=False,
    )
    results: list[AttackRecord] = []
    passed = False

    def record_result(result: AttackResult) -> None:
        results.append(AttackRecord(**result._asdict()))
        on_result(result)

    try:
        selftest(driver, record_result, images=images)
        passed = bool(results) and all(result.held for result in results)
    finally:
        ended = {"results": tuple(results), "seconds": time.monotonic() - begin, "passed": passed}
        record = begun.model_copy(update=ended)
        at = store_selftest(store, key.sign(record))
        emit(Event.SELFTEST_ENDED, key=at, seconds=record.seconds, count=sum(not r.held for r in results))
    return record


def store_selftest(store: Store, record: SelftestRecord) -> str:
    """The key under which `record` is stored."""
    key = f"{_folder(record.host)}{record.started:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}.json"
    if not store.put_if_absent(key, record.model_dump_json(indent=1).encode()):
        raise StoreError(f"{key} exists already: run judge selftest again")
    return key


def last_selftest(
    store: Store, host: str, engine: str, now: datetime | None = None
) -> tuple[str, SelftestRecord] | None:
    """The newest selftest of that host and engine, with its key in `store`; None if there is none.

    One that passed while the host's clock was ahead is the newest only if there is no other.

    Args:
        now: None for the present time.
    """
    present = now or utc_now()
    records = []
    for key in store.list(_folder(host)):
        try:
            record = SelftestRecord.read(store.get(key))
        except (ValidationError, KeyError):  # an unreadable record proves nothing
            continue
        if (record.host, record.engine) == (host, engine):
            records.append((key, record))

    def order(entry: tuple[str, SelftestRecord]) -> tuple[bool, datetime]:
        record = entry[1]
        return not (_passed(record) and _is_ahead(record, present)), record.started

    return max(records, key=order, default=None)


def _is_ahead(record: SelftestRecord, now: datetime) -> bool:
    return record.started > now + CLOCKS_APART


def unproven(
    store: Store, results: Iterable[Result], max_age_days: float, now: datetime, allow_process: bool
) -> list[str]:
    """A line for each host and engine whose results may not be published, with the reason.

    One of two selftests can prove a result:

    - the selftest that the result names, the last before it was observed, if it was not older than `max_age_days` when
      the result was measured: a kernel that is replaced later changes nothing;
    - the newest selftest of that host and engine, if it is not older than that `now`: it may follow the judging.

    If the newest one failed, nothing of that host and engine is proven. If the selftest that a result names failed, or
    is gone, no later one helps: the sandbox was known to be broken, or may have been.

    Only a complete selftest proves anything. One by this version of the judge has all attacks of its catalogue, and the
    check that nothing was left behind. One by another version, whose catalogue is not known here, has `MIN_ATTACKS`.

    Args:
        max_age_days: how old the selftest may be.
        allow_process: results of the process driver, which isolates nothing, may be published too.
    """
    shown = list(results)
    origins = [result.provenance.origin for result in shown]
    lines = [] if allow_process else sorted({_of_no_isolation(o.host) for o in origins if o.driver == "process"})
    times: dict[tuple[HostEngine, str], list[datetime]] = {}
    for result in shown:
        origin = result.provenance.origin
        if origin.driver != "process":
            times.setdefault((HostEngine(origin.host, origin.engine), origin.selftest), []).append(result.measured)
    for (place, named), measured in sorted(times.items()):
        reason = _doubt(store, place, timedelta(days=max_age_days), now, named, measured)
        if reason:
            lines.append(f"{place.host or 'an unnamed host'} ({place.engine or 'an unnamed engine'}): {reason}")
    return list(dict.fromkeys(lines))


def _of_no_isolation(host: str) -> str:
    return f"{host or 'an unnamed host'}: results of the process driver, which isolates nothing: judge them with docker"


def _doubt(
    store: Store, place: HostEngine, max_age: timedelta, now: datetime, named: str, measured: Sequence[datetime]
) -> str:
    """The reason why results of `place`, measured at these times, may not be published; empty if they may.

    Args:
        named: key of the selftest that the results name; empty for none.
    """
    newest = last_selftest(store, *place, now) if place.engine else None
    if newest is None:
        return "no selftest: run judge selftest there"
    key, record = newest
    if not _passed(record):
        first = "set the clock, delete this record of the future, " if _is_ahead(record, now) else ""
        return f"its selftest failed ({_what_failed(record)}; {key}): {first}correct it, and run judge selftest again"
    if not _is_whole(record):
        return f"its selftest did not try all attacks ({key}): run judge selftest again"
    then = _read(store, named) if named else record
    if then is None:
        return f"the selftest before the judging ({named}) is gone: restore it, or judge rejudge what names it"
    if not _passed(then):
        return f"the selftest before the judging failed ({_what_failed(then)}; {named}): judge rejudge what names it"
    if _is_ahead(record, now):
        return f"its selftest is of the future ({key}): set the clock, and run judge selftest again"
    age = now - record.started
    if age <= max_age or _was_proven(store, place, max_age, named, measured):
        return ""
    return f"its selftest is {age.days} days old, {max_age.days} are allowed: run judge selftest again"


def _was_proven(store: Store, place: HostEngine, max_age: timedelta, named: str, measured: Sequence[datetime]) -> bool:
    """Whether the selftest that the results name had passed, and was not too old when each was measured."""
    record = _read(store, named)
    if record is None or (record.host, record.engine) != place or not _passed(record) or not _is_whole(record):
        return False
    return all(timedelta(0) <= moment - record.started <= max_age for moment in measured)


def _read(store: Store, key: str) -> SelftestRecord | None:
    """The selftest under `key`; None if there is none that can be read."""
    try:
        return SelftestRecord.read(store.get(key)) if key.startswith(PREFIX) else None
    except (ValidationError, KeyError, StoreError):
        return None


def _passed(record: SelftestRecord) -> bool:
    return record.passed and bool(record.results) and all(result.held for result in record.results)


def _what_failed(record: SelftestRecord) -> str:
    return ", ".join(result.name for result in record.results if not result.held) or "it was broken off"


def _is_whole(record: SelftestRecord) -> bool:
    """Whether it is complete: it tried every attack."""
    tried = {result.name for result in record.results}
    if record.judge_version == judge_version():
        return tried >= {LEFT_BEHIND, *(attack.name for attack in ATTACKS)}
    return len(tried) >= MIN_ATTACKS


def _folder(host: str) -> str:
    """The folder of the selftests of `host`: its name, without characters that a key must not contain."""
    return f"{PREFIX}{re.sub(r'[^A-Za-z0-9_-]', '-', host).lstrip('-')[:100] or 'host'}/"
