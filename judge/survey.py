"""What there is to do, from the store and the data sets alone: what `judge evaluate` does and `judge plan` shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from judge.attempts import read_histories
from judge.config import JudgeSettings, UsageError
from judge.datasets import check_kind, prepare
from judge.estimate import Cost, cost_of, speed_of
from judge.hardware import hardware_class
from judge.plan import Circumstances, Planned, Step, Unit, make_plan, make_unit
from judge.results import read_submissions
from judge.signing import trusted_keys
from judge.standing import FIRST_ROUNDS, Rounds, TaskOf, read_standings, rounds_that_count, taken_out
from judge.testset import TestSet
from sandbox.driver import DriverName
from sandbox.gpu import Gpu, require_gpus
from sandbox.guest_archive import guest_version
from submissions.open_store import open_store
from submissions.progress import Reporter
from submissions.records import Submission
from submissions.store import Store
from tasks.dataset import Structures, load_structures
from tasks.kind import Work
from tasks.kinds import KINDS
from tasks.suite import Suite, Task, load_suite

NOTHING = Work(0, 0)


@dataclass(frozen=True)
class Request:
    """What was asked for.

    Args:
        ids: submissions; empty for all.
        suite: name or path; None for that of the settings.
        tasks: names; empty for all of the suite.
        gpus: UUIDs; empty for the CPU.
        driver: given explicitly, or None for that of the settings.
        retry_held: try units once more that are held.
        skip_missing: leave out the tasks whose data sets are missing.
        observe_only: ask the models only; the labels are on another machine, which measures.
        budget_s: start nothing that would last beyond so many seconds from now; None: no budget.
        rounds: these alone are judged, each in its round; None: all that was asked for, in the round that counts.
    """

    ids: tuple[str, ...] = ()
    suite: str | None = None
    tasks: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    driver: DriverName | None = None
    retry_held: bool = False
    skip_missing: bool = False
    observe_only: bool = False
    budget_s: float | None = None
    rounds: Rounds | None = None


@dataclass(frozen=True)
class Survey:
    """What there is to do.

    Args:
        plan: every submission at every task, submission by submission.
        works: by task with anything to observe: how much it asks of a model.
        skipped: a line for each submission that this driver does not run.
        skipped_tasks: names of the tasks whose data sets are missing.
    """

    suite: Suite
    store: Store
    driver: DriverName
    gpus: Sequence[Gpu]
    plan: list[Planned]
    works: Mapping[str, Work]
    skipped: tuple[str, ...]
    skipped_tasks: tuple[str, ...]

    def work(self, planned: Planned) -> Work:
        """What is to be asked of the model: nothing where that was done, or waits for a person."""
        return self.works[planned.unit.task.name] if planned.step in (Step.OBSERVE, Step.OPEN) else NOTHING

    def cost(self, planned: Planned) -> Cost:
        """What a unit will take; measuring what was observed counts for nothing."""
        if planned.step not in (Step.OBSERVE, Step.OPEN):
            return Cost(0.0)
        unit = planned.unit
        return cost_of(self.work(planned), speed_of(unit.submission.preflight), unit.task.time_limit_s)


def survey(settings: JudgeSettings, request: Request, reporter: Reporter) -> Survey:
    """What there is to do. Builds the data sets that are ours, and changes nothing else.

    Raises:
        UsageError: an unknown submission, task or data set; a submission that this driver may not run; a data set that
            does not fit its task.
        SuiteError, DatasetError: one line that names file and field.
        JudgeFault: a GPU is not there, or the store fails.
    """
    store = open_store(settings.store, settings.endpoint_url)
    driver: DriverName = request.driver or settings.driver
    suite = load_suite(request.suite or settings.suite)
    tasks = choose_tasks(suite, request.tasks)
    chosen = choose_submissions(read_submissions(store), request.ids)
    standings = read_standings(store, [submission.id for submission in chosen], trusted_keys(settings))
    judged = [submission for submission in chosen if not standings[submission.id].out]
    submissions, skipped = split_by_driver(judged, driver, settings.allow_process or request.driver == "process")
    skipped = [*taken_out(chosen, standings), *skipped]
    if request.ids and skipped:
        raise UsageError(skipped[0])
    for line in skipped:
        reporter.say(f"- {line}")
    gpus = require_gpus(list(request.gpus))
    prepared = prepare(settings.data, suite, tasks, reporter, request.skip_missing)
    rounds = rounds_that_count(standings) if request.rounds is None else request.rounds
    units = make_units(submissions, prepared.tasks, prepared.testsets, circumstances(settings, gpus), rounds)
    if request.rounds is not None:
        units = [unit for unit in units if task_of(unit) in request.rounds]
    plan = plan_from_store(store, units, request.retry_held)
    works = read_works(settings, suite, plan, labels_here=not request.observe_only)
    return Survey(suite, store, driver, gpus, plan, works, tuple(skipped), prepared.skipped)


def circumstances(settings: JudgeSettings, gpus: Sequence[Gpu]) -> Circumstances:
    """What every unit has in common that is judged here and now."""
    hardware = hardware_class(settings.limits.cpus, gpus[0].name if gpus else None)
    return Circumstances(guest_version(), settings.limits, hardware)


def read_works(
    settings: JudgeSettings, suite: Suite, plan: Sequence[Planned], *, labels_here: bool = True
) -> dict[str, Work]:
    """By task with anything to observe: how much it asks. Broken structures are told here, not by a burnt attempt.

    Args:
        labels_here: also rehearse each task with its labels.
    """

    @cache
    def structures(name: str) -> Structures:
        return load_structures(settings.data / name)

    works = {}
    for task in {p.unit.task.name: p.unit.task for p in plan if p.step in (Step.OBSERVE, Step.OPEN)}.values():
        asked = structures(task.dataset)
        if labels_here:
            check_kind(settings.data, suite, task)
        try:
            works[task.name] = KINDS[task.kind].work(asked, task.parameters)
        except ValueError as error:
            raise UsageError(f"suite {suite.name}: task {task.name}: kind: {task.kind}: {error}") from None
    return works


def plan_from_store(store: Store, units: Sequence[Unit], retry_held: bool = False) -> list[Planned]:
    """What is to be done about each of `units`, by what the store holds now."""
    histories = read_histories(store, dict.fromkeys(unit.submission.id for unit in units))
    return make_plan(units, histories, frozenset(store.list("results/")).__contains__, retry_held)


def make_units(
    submissions: Sequence[Submission],
    tasks: Sequence[Task],
    testsets: Mapping[str, TestSet],
    common: Circumstances,
    rounds: Rounds = FIRST_ROUNDS,
) -> list[Unit]:
    """Every submission at every task, submission by submission, in the first round or that of `rounds`."""
    return [
        make_unit(
            submission,
            task,
            KINDS[task.kind],
            testsets[task.dataset],
            common,
            rounds.get(TaskOf(submission.id, task.name, task.dataset), 0),
        )
        for submission in submissions
        for task in tasks
    ]


def task_of(unit: Unit) -> TaskOf:
    """The submission, the task and the data set of `unit`."""
    return TaskOf(unit.submission.id, unit.task.name, unit.task.dataset)


def choose_tasks(suite: Suite, names: Sequence[str]) -> list[Task]:
    """The tasks of `suite` that `names` name; all for none."""
    known = {task.name: task for task in suite.tasks}
    for name in names:
        if name not in known:
            raise UsageError(f"suite {suite.name} has no task {name!r}: it has {', '.join(known)}")
    return [task for task in suite.tasks if not names or task.name in names]


def choose_submissions(known: Sequence[Submission], ids: Sequence[str]) -> list[Submission]:
    """The submissions that `ids` name, by ID or by a beginning that only one has; all for none."""
    chosen = []
    for wanted in ids:
        found = [s for s in known if s.id == wanted] or [s for s in known if s.id.startswith(wanted)]
        if not found:
            raise UsageError(f"there is no submission {wanted!r}: see them with judge list")
        if len(found) > 1:
            raise UsageError(
                f"{wanted!r} is the beginning of {len(found)} submissions: {', '.join(s.id for s in found)}"
            )
        chosen += found
    return list({s.id: s for s in chosen}.values()) if ids else list(known)


def split_by_driver(
    submissions: Sequence[Submission], driver: DriverName, process_allowed: bool
) -> tuple[list[Submission], list[str]]:
    """The submissions that `driver` may run, and for each other one a line that says why not."""
    taken, refused = [], []
    for submission in submissions:
        own = submission.image.driver
        if own != driver:
            why = "in a container" if own == "docker" else "as a process of this machine, with no isolation"
            refused.append(f"{submission.id} was submitted to be run {why}: give --driver {own}")
        elif own == "process" and not process_allowed:
            refused.append(f"{submission.id} would run with no isolation: say so with --driver process")
        else:
            taken.append(submission)
    return taken, refused
