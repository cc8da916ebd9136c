"""What the records of a store say of work that goes on: who works on what, how fast, and what is left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from judge.records.attempts import DeathWatch, History, Life, unit_prefix
from judge.records.decisions import Decisions, rounds_that_count
from judge.records.record_cache import SubmissionFacts
from judge.records.suite_progress import suite_progress
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
    """A task without a result that waits for a person, and why."""

    submission: str
    task: str
    sentence: str


class StoreStatus(Record):
    """The state of a suite's work in a store.

    Args:
        n_units: submissions × tasks.
        n_judged: of them, those with a result that counts, also one of earlier versions or limits.
        per_hour: of them, those that ended in the last hour, or since the first of them, as a rate [1/h]; 0 for none.
        left_s: expected time until all are judged or held, at this rate [s]; None if none ended in the last hour.
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
    suite: Suite,
    facts: Mapping[str, SubmissionFacts],
    decisions: Mapping[str, Decisions],
    watch: DeathWatch,
    now: datetime,
) -> StoreStatus:
    """The state of `suite`.

    Args:
        facts: of all submissions.
        decisions: about them. Submissions that are out of the ranking are not judged.
        watch: the same at each call, so that it sees signs of life change.
    """
    datasets, rounds = {task.name: task.dataset for task in suite.tasks}, rounds_that_count(decisions)
    kept = {id: each for id, each in facts.items() if not decisions[id].removal}
    progress = {id: suite_progress(each, datasets, rounds) for id, each in kept.items()}
    histories = [(prefix, history) for each in kept.values() for prefix, history in each.histories.items()]
    of_suite = [(prefix, history) for prefix, history in histories if _task_of(prefix) in datasets]
    held = {  # one of each task: several of its shards may be held
        (id, task): HeldTask(submission=id, task=task, sentence=history.held.sentence)
        for prefix, history in of_suite
        if history.held and (task := _task_of(prefix)) in progress[id := _submission_of(prefix)].held
    }
    per_hour = _rate([end for id, each in kept.items() for end in _judged_ends(each, progress[id].done)], now)
    left = sum(len(each.pending) for each in progress.values())
    return StoreStatus(
        suite=suite.name,
        n_submissions=len(kept),
        n_units=len(kept) * len(datasets),
        n_judged=sum(len(each.done) for each in progress.values()),
        running=tuple(_running(of_suite, watch)),
        held=tuple(held.values()),
        per_hour=per_hour,
        left_s=0.0 if left == 0 else (left / per_hour * 3600.0 if per_hour else None),
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


def _judged_ends(facts: SubmissionFacts, done: Collection[str]) -> list[datetime]:
    """When the units of these results ended; those of their shards and trainings are not among them."""
    units = [
        unit_prefix(each.submission, each.task, each.observation_key) for each in facts.results if each.key in done
    ]
    return [end.ended for unit in units if (end := facts.histories[unit].end) is not None]


def _rate(ended: Sequence[datetime], now: datetime) -> float:
    since = now - timedelta(seconds=WINDOW_S)
    ends = [end for end in ended if end >= since]
    if not ends:
        return 0.0
    # The first end begins the time that is counted, so it does not count itself; a single one counts over the hour.
    span_s = (now - min(ends)).total_seconds() if len(ends) > 1 else WINDOW_S
    return 3600.0 * max(len(ends) - 1, 1) / max(span_s, 1.0)


def _submission_of(prefix: str) -> str:
    return prefix.split("/")[1]


def _task_of(prefix: str) -> str:
    return prefix.split("/")[2]
