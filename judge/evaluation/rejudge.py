"""Rejudging: new attempts beside the old ones, a table of both, and a command that makes the new results count.

Each rejudging is a round. The results of a round do not count until it is applied. If a round was interrupted, the next
call of the same command continues it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from judge.config import UsageError
from judge.evaluation.current_results import current_results
from judge.evaluation.evaluate import MACHINE_FAULT, evaluate
from judge.evaluation.plan import Circumstances, TaskUnits, Unit
from judge.evaluation.request import Request
from judge.evaluation.work_plan import WorkPlan, plan_work, task_of
from judge.records.attempts import read_histories
from judge.records.decisions import EventKind, RoundRecord, Rounds, SubmissionTask, read_decisions, record_event
from judge.records.items_file import result_path
from judge.records.records import Result
from judge.records.results import load_results
from judge.workspace import Workspace
from sandbox.verdict import Verdict
from submissions.progress import Reporter
from submissions.records import Record
from submissions.store.interface import Store
from submissions.store.read_record import read_record


class MetricChange(Record):
    """A metric before and after; None if it has no value. `difference`: after minus before."""

    name: str
    unit: str
    before: float | None
    after: float | None
    difference: float | None


class Change(Record):
    """One task that was rejudged.

    Args:
        after: None if the new attempt has no verdict.
        why: the reason why it has none.
        same_answers: whether the two observations are the same byte by byte; None if one of them is missing.
    """

    submission: str
    task: str
    dataset: str
    round: int
    before: Verdict
    after: Verdict | None
    why: str = ""
    same_answers: bool | None = None
    metrics: tuple[MetricChange, ...] = ()


class Rejudged(Record):
    """The result of rejudging.

    Args:
        not_judged: a line for each task that was not judged before, so that it cannot be rejudged.
        applied: whether the new results with a verdict count now.
        not_applied: a line for each task whose new result does not count, although --apply was given.
        machine_is_at_fault: whether this machine started nothing.
    """

    suite: str
    changes: tuple[Change, ...]
    not_judged: tuple[str, ...] = ()
    applied: bool = False
    not_applied: tuple[str, ...] = ()
    machine_is_at_fault: bool = False

    @property
    def exit_status(self) -> int:
        """3 if this machine started nothing; 1 if a task has no new verdict, or could not be applied; else 0."""
        if self.machine_is_at_fault:
            return MACHINE_FAULT
        return 1 if self.not_applied or any(change.after is None for change in self.changes) else 0


def rejudge(workspace: Workspace, request: Request, reporter: Reporter, again: bool = False) -> Rejudged:
    """The results that count, beside those of the next round. The missing units of that round are judged.

    Args:
        again: begin another round, even if there is one that was not applied.

    Raises:
        UsageError: no unit of the request was judged yet; and as `judge.evaluation.evaluate.evaluate`.
    """
    work = plan_work(workspace, request, reporter)
    before = _counting(workspace, work)
    units = {task_of(planned.unit): planned.unit for planned in work.plan}
    not_judged = tuple(
        f"{t.submission} {t.task} was not judged yet: " + replace(request, ids=(t.submission,), tasks=(t.task,)).command
        for t in units
        if t not in before
    )
    judged = [unit for task, unit in units.items() if task in before]
    if not judged:
        raise UsageError(f"nothing of this was judged yet, so it cannot be rejudged: {request.command}")
    begun = begun_rounds(work.store, judged, work.common)
    rounds = {task: next_round(units[task].round, number, again) for task, number in begun.items()}
    ids = tuple(dict.fromkeys(task.submission for task in rounds))
    summary = evaluate(workspace, replace(request, ids=ids, rounds=rounds), reporter)
    reasons = {(report.submission, report.task): report.sentence or str(report.did) for report in summary.units}
    after = _of_rounds(workspace, work, rounds)
    changes = tuple(
        change_of(before[task], after.get(task), number, reasons.get((task.submission, task.task), ""))
        for task, number in rounds.items()
    )
    return Rejudged(
        suite=work.suite.name,
        changes=changes,
        not_judged=not_judged,
        machine_is_at_fault=summary.exit_status == MACHINE_FAULT,
    )


def judged_anew(workspace: Workspace, request: Request, reporter: Reporter) -> Rejudged:
    """The results that count beside those of the rounds that were judged and do not count yet. Judges nothing.

    Raises:
        UsageError: no such round has a verdict; and as `judge.evaluation.work_plan.plan_work`.
    """
    work = plan_work(workspace, request, reporter)
    before = _counting(workspace, work)
    units = {task_of(planned.unit): planned.unit for planned in work.plan if task_of(planned.unit) in before}
    begun = begun_rounds(work.store, list(units.values()), work.common)
    rounds = {task: number for task, number in begun.items() if number > units[task].round}
    after = _of_rounds(workspace, work, rounds)
    if not any(task in after for task in rounds):
        first = request.command.replace("judge evaluate", "judge rejudge", 1)
        raise UsageError(f"no finished round can be applied: run {first} first, and look at its changes")
    changes = tuple(
        change_of(before[task], after.get(task), number, f"round {number} is held, or was not finished")
        for task, number in rounds.items()
    )
    return Rejudged(suite=work.suite.name, changes=changes)


def next_round(counting: int, begun: int, again: bool) -> int:
    """The round to judge: the one that was begun and does not count yet, unless `again` asks for another.

    Args:
        counting: the round that counts.
        begun: the highest round with an attempt or a result.
    """
    return begun if begun > counting and not again else begun + 1


def begun_rounds(store: Store, units: Sequence[Unit], common: Circumstances) -> dict[SubmissionTask, int]:
    """The highest round of each task with an attempt under the present limits, or with any result."""
    submissions = dict.fromkeys(unit.submission.id for unit in units)
    histories = read_histories(store, submissions)
    begun = {task_of(unit): unit.round for unit in units}
    for result in _all_results(store, submissions):
        task = SubmissionTask(result.submission, result.task, result.provenance.dataset)
        begun[task] = max(begun.get(task, 0), result.round)
    for unit in units:
        task, of_task = task_of(unit), TaskUnits(unit.task, unit.kind, unit.testset, common)
        while of_task.unit(unit.submission, begun[task] + 1).prefix in histories:
            begun[task] += 1
    return {task_of(unit): begun[task_of(unit)] for unit in units}


def _all_results(store: Store, submissions: Mapping[str, object]) -> list[Result]:
    keys = [key for submission in submissions for key in store.list(f"results/{submission}/") if key.endswith(".json")]
    return [read_record(store, key, Result) for key in keys]


def _counting(workspace: Workspace, work: WorkPlan) -> dict[SubmissionTask, Result]:
    """The results that count, of the planned submissions."""
    current = current_results(workspace, work.suite)
    results = load_results(work.store, _ids(work), current, of_all_suites=True, trusted=workspace.trusted)
    return {SubmissionTask(r.submission, r.task, r.provenance.dataset): r for r in results}


def _of_rounds(workspace: Workspace, work: WorkPlan, rounds: Rounds) -> dict[SubmissionTask, Result]:
    """The results of `rounds` that fit the present data sets, versions and limits."""
    current = current_results(workspace, work.suite, rounds)
    results = load_results(work.store, _ids(work), current, of_all_suites=True, rounds=rounds)
    fitting = [r for r in results if result_path(r.submission, r.task, r.result_key) in current]
    return {SubmissionTask(r.submission, r.task, r.provenance.dataset): r for r in fitting}


def _ids(work: WorkPlan) -> list[str]:
    return list(dict.fromkeys(planned.unit.submission.id for planned in work.plan))


def change_of(before: Result, after: Result | None, number: int, why: str) -> Change:
    """The two results of a task side by side.

    Args:
        after: None if the new attempt has no verdict.
        why: the reason why it has none.
    """
    change = Change(
        submission=before.submission,
        task=before.task,
        dataset=before.provenance.dataset,
        round=number,
        before=before.verdict,
        after=after.verdict if after else None,
        why="" if after else why,
    )
    if after is None:
        return change
    pair = (before.provenance.observation, after.provenance.observation)
    same = None if None in pair else pair[0] == pair[1]
    names = dict.fromkeys((*before.metrics, *after.metrics))
    metrics = tuple(_metric(name, before, after) for name in names)
    return change.model_copy(update={"same_answers": same, "metrics": metrics})


def _metric(name: str, before: Result, after: Result) -> MetricChange:
    old, new = before.metrics.get(name), after.metrics.get(name)
    values = (old.value if old else None, new.value if new else None)
    difference = None if values[0] is None or values[1] is None else values[1] - values[0]
    unit = (new or old or before.metrics[name]).unit
    return MetricChange(name=name, unit=unit, before=values[0], after=values[1], difference=difference)


def apply(workspace: Workspace, rejudged: Rejudged, reason: str, reporter: Reporter) -> Rejudged:
    """`rejudged`, with its new results applied: they count from now on. An event is stored for each submission.

    Raises:
        StoreError: an event cannot be read or written.
    """
    store, key = workspace.store, workspace.signing_key(reporter.say)
    lines, applied = [], False
    for submission in dict.fromkeys(change.submission for change in rejudged.changes):
        decisions = read_decisions(store, submission, workspace.trusted)
        taken = []
        for change in (change for change in rejudged.changes if change.submission == submission):
            counting = decisions.rounds.get(SubmissionTask(submission, change.task, change.dataset), 0)
            if change.after is None:
                lines.append(f"{submission} {change.task} has no new verdict: the old result still counts")
            elif decisions.removal or counting >= change.round:
                why = decisions.in_words or f"round {counting} was applied meanwhile"
                lines.append(f"{submission} {change.task} is not applied: {why}")
            else:
                taken.append(RoundRecord(task=change.task, dataset=change.dataset, round=change.round))
        if taken:
            record_event(store, key, EventKind.APPLIED, submission, reason, rounds=taken, after=decisions.last_time)
            applied = True
    return rejudged.model_copy(update={"applied": applied, "not_applied": tuple(lines)})
