"""What the records of a store say of work that goes on: who works on what, how fast, and what is left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from judge.records.attempts import DeathWatch, History, Life
from judge.records.record_cache import SubmissionFacts
from submissions.records import Record
from tasks.suites.suite import Suite

WINDOW_S = 3600.0
"""The speed is that of the last hour."""


class RunningUnit(Record):
    """A unit that a worker has claimed and not ended.

    Args:
        process: the identity of the worker's process.
        since: when it was claimed.
        life: whether the worker is alive; unknown until its sign of life was seen to change.
    """

    submission: str
    task: str
    attempt: int
    host: str
    process: str
    since: datetime
    life: Life


class HeldTask(Record):
    """A unit that waits for a person, and why."""

    submission: str
    task: str
    sentence: str


class StoreStatus(Record):
    """The state of a suite's work in a store.

    Args:
        n_units: submissions × tasks.
        n_judged: of them, those with a result.
        per_hour: units that ended in the last hour, or since the first of them, as a rate [1/h]; 0 if there was none.
        left_s: expected time until all are judged, at this rate [s]; None if nothing ended in the last hour.
    """

    suite: str
    n_submissions: int
    n_units: int
    n_judged: int
    running: tuple[RunningUnit, ...]
    held: tuple[HeldTask, ...]
    per_hour: float
    left_s: float | None


def status_of(
    suite: Suite, facts: Mapping[str, SubmissionFacts], removed: Collection[str], watch: DeathWatch, now: datetime
) -> StoreStatus:
    """The state of `suite`.

    Args:
        facts: of all submissions.
        removed: submissions that are not judged.
        watch: the same at each call, so that it sees signs of life change.
    """
    tasks = {task.name for task in suite.tasks}
    kept = {id: each for id, each in facts.items() if id not in removed}
    judged = {(id, result.task) for id, each in kept.items() for result in each.results if result.task in tasks}
    histories = [(prefix, history) for each in kept.values() for prefix, history in each.histories.items()]
    of_suite = [(prefix, history) for prefix, history in histories if _task_of(prefix) in tasks]
    n_units = len(kept) * len(tasks)
    held = tuple(
        HeldTask(submission=_submission_of(prefix), task=_task_of(prefix), sentence=history.held.sentence)
        for prefix, history in of_suite
        if history.held
    )
    per_hour = _rate([history for _, history in of_suite], now)
    left = n_units - len(judged) - len(held)
    return StoreStatus(
        suite=suite.name,
        n_submissions=len(kept),
        n_units=n_units,
        n_judged=len(judged),
        running=tuple(_running(of_suite, watch)),
        held=held,
        per_hour=per_hour,
        left_s=0.0 if left <= 0 else (left / per_hour * 3600.0 if per_hour else None),
    )


def _running(histories: Sequence[tuple[str, History]], watch: DeathWatch) -> list[RunningUnit]:
    running = [
        RunningUnit(
            submission=_submission_of(prefix),
            task=_task_of(prefix),
            attempt=attempt.n,
            host=attempt.claim.host,
            process=attempt.claim.owner,
            since=attempt.claim.started,
            life=watch.look(prefix, attempt),
        )
        for prefix, history in histories
        if (attempt := history.open) is not None and attempt.claim is not None
    ]
    return sorted(running, key=lambda unit: (unit.host, unit.since, unit.submission, unit.task))


def _rate(histories: Sequence[History], now: datetime) -> float:
    since = now - timedelta(seconds=WINDOW_S)
    ends = [end.ended for history in histories if (end := history.end) is not None and end.ended >= since]
    if not ends:
        return 0.0
    # The first end begins the time that is counted, so it does not count itself; a single one counts over the hour.
    span_s = (now - min(ends)).total_seconds() if len(ends) > 1 else WINDOW_S
    return 3600.0 * max(len(ends) - 1, 1) / max(span_s, 1.0)


def _submission_of(prefix: str) -> str:
    return prefix.split("/")[1]


def _task_of(prefix: str) -> str:
    return prefix.split("/")[2]
