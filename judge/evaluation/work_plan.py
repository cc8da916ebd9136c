"""The work that `judge evaluate` does and `judge plan` shows. It follows from the store and the data sets alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from judge.config import UsageError
from judge.data.datasets import check_kind, is_there
from judge.data.testset import TestSet, read_testset
from judge.evaluation.equal_guests import units_with_answers
from judge.evaluation.estimate import Cost, cost_of, speed_of, training_cost
from judge.evaluation.judged_answers import answers_with_forces, is_timed, with_labelled
from judge.evaluation.plan import Circumstances, Planned, Step, TaskUnits, Unit, make_plan
from judge.evaluation.request import Request, Scope, scope_of
from judge.gc_pause import long_lived
from judge.records.attempts import History
from judge.records.decisions import FIRST_ROUNDS, Rounds, SubmissionTask
from judge.workspace import Workspace
from sandbox.driver import DriverName
from sandbox.drivers.gpu import Gpu
from submissions.progress import Reporter
from submissions.records import Submission, utc_now
from submissions.store.interface import Store
from tasks.datasets.dataset import Structures, load_structures, read_card
from tasks.kind import Rechecking
from tasks.kinds.registry import KINDS
from tasks.model.work import Work
from tasks.suites.suite import Suite, Task

NOTHING = Work.none()


@dataclass(frozen=True)
class WorkPlan:
    """The work of a request.

    Args:
        common: of all its units.
        plan: every submission at every task, submission by submission.
        works: the work of a model in each task with anything to observe, by task.
        skipped: a line for each submission that this driver does not run.
        skipped_tasks: names of the tasks whose data sets are missing.
    """

    suite: Suite
    store: Store
    driver: DriverName
    gpus: Sequence[Gpu]
    common: Circumstances
    plan: list[Planned]
    works: Mapping[str, Work]
    skipped: tuple[str, ...]
    skipped_tasks: tuple[str, ...]

    def work(self, planned: Planned) -> Work:
        """The work of the model in a unit; nothing if it is done, or waits for a person."""
        unit = planned.unit
        if planned.step not in (Step.OBSERVE, Step.OPEN) or unit.parts or unit.training:
            return NOTHING
        work = self.works[unit.task.name]
        return replace(work, times=work.times / unit.shard.count) if unit.shard else work

    def cost(self, planned: Planned) -> Cost:
        """The expected time of a unit; measuring alone counts as 0."""
        if planned.step not in (Step.OBSERVE, Step.OPEN):
            return Cost(0.0)
        unit = planned.unit
        if unit.parts:
            return Cost(0.0)  # its parts are units, too
        if unit.training:
            return training_cost(unit.training.wall_s, speed_of(unit.submission.preflight))
        n_sessions = 2 if isinstance(unit.kind, Rechecking) else 1
        return cost_of(self.work(planned), speed_of(unit.submission.preflight), unit.task.time_limit_s, n_sessions)


def plan_work(workspace: Workspace, request: Request, reporter: Reporter) -> WorkPlan:
    """The work of a request; see `scope_of` and `work_plan_of`."""
    return work_plan_of(workspace.data, request, scope_of(workspace, request, reporter))


def work_plan_of(data: Path, request: Request, scope: Scope) -> WorkPlan:
    """The work in `scope`.

    Raises:
        UsageError: a data set that does not fit its task.
        DatasetError: one line that names file and field.
        StoreError: a record cannot be read.
    """
    prepared = scope.prepared
    with long_lived():
        units = make_units(scope.submissions, prepared.tasks, prepared.testsets, scope.common, scope.rounds)
        if request.rounds is not None:
            units = [unit for unit in units if task_of(unit) in request.rounds]
        facts = scope.cache.facts(dict.fromkeys(unit.submission.id for unit in units))
        histories = {prefix: history for each in facts.values() for prefix, history in each.histories.items()}
        units = units_with_answers(units, scope.common, histories)
        results = {result.key for each in facts.values() for result in each.results}
        plan = _compared(data, scope, _plan_with_parts(units, histories, results, request.retry_held), histories)
    works = read_works(data, scope.suite, plan, labels_here=not request.observe_only)
    skipped = prepared.skipped
    return WorkPlan(
        scope.suite, scope.store, scope.driver, scope.gpus, scope.common, plan, works, scope.skipped, skipped
    )


def _compared(data: Path, scope: Scope, plan: list[Planned], histories: Mapping[str, History]) -> list[Planned]:
    """`plan`, in which each timing knows the units with which it is compared: also those that are not planned now."""
    timed = {planned.unit.submission.id: planned.unit for planned in plan if is_timed(planned)}
    tasks = [task for task in scope.suite.tasks if answers_with_forces(task) and is_there(data, task.dataset)]
    if not timed or not tasks:
        return plan
    testsets = {task.dataset: read_testset(data, task.dataset) for task in tasks}
    datasets = {*testsets, *(planned.unit.task.dataset for planned in plan if is_timed(planned))}
    public_since = {name: read_card(data / name).public_since for name in datasets}
    submissions = [unit.submission for unit in timed.values()]
    units = make_units(submissions, tasks, testsets, scope.common, scope.rounds)
    units = units_with_answers(units, scope.common, histories)
    return with_labelled(plan, units, public_since, utc_now().date())


def read_works(data: Path, suite: Suite, plan: Sequence[Planned], *, labels_here: bool = True) -> dict[str, Work]:
    """The work of each task with anything to observe, by task. Broken structures raise here, before an attempt starts.

    Args:
        labels_here: also check each task with its labels.
    """

    @cache
    def structures(name: str) -> Structures:
        return load_structures(data / name)

    works = {}
    for task in {p.unit.task.name: p.unit.task for p in plan if p.step in (Step.OBSERVE, Step.OPEN)}.values():
        frames = structures(task.dataset)
        if labels_here:
            check_kind(data, suite, task)
        try:
            works[task.name] = KINDS[task.kind].work(frames, task.parameters)
        except ValueError as error:
            raise UsageError(f"suite {suite.name}: task {task.name}: kind: {task.kind}: {error}") from None
    return works


def _plan_with_parts(
    units: Sequence[Unit], histories: Mapping[str, History], results: Collection[str], retry_held: bool
) -> list[Planned]:
    """The next step of each of `units`, after those of its parts.

    Args:
        histories: of all their submissions, by the units' prefixes.
        results: keys of all results of their submissions.
    """

    def parts(unit: Unit) -> Sequence[Unit]:
        """Without shards of a unit that has an end: it may have been observed whole."""
        known = histories.get(unit.prefix)
        return () if unit.is_cut and known is not None and known.end else unit.parts

    with_parts = [each for unit in units for each in (*parts(unit), unit)]
    return make_plan(with_parts, histories, results.__contains__, retry_held)


def make_units(
    submissions: Sequence[Submission],
    tasks: Sequence[Task],
    testsets: Mapping[str, TestSet],
    common: Circumstances,
    rounds: Rounds = FIRST_ROUNDS,
) -> list[Unit]:
    """Every submission at every task, submission by submission, in the first round or that of `rounds`.

    Timings come last: their answers are compared with those of other tasks.
    """
    in_order = sorted(tasks, key=lambda task: task.traits.times)
    units_by_task = [(task, TaskUnits(task, KINDS[task.kind], testsets[task.dataset], common)) for task in in_order]
    return [
        units.unit(submission, rounds.get(SubmissionTask(submission.id, task.name, task.dataset), 0) if rounds else 0)
        for submission in submissions
        for task, units in units_by_task
    ]


def task_of(unit: Unit) -> SubmissionTask:
    """The submission, the task and the data set of `unit`."""
    return SubmissionTask(unit.submission.id, unit.task.name, unit.task.dataset)
