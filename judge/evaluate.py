"""`judge evaluate`: everything that is missing is observed and measured, and nothing else.

What is to be done follows from the store and the data sets alone, so this can be killed at any point and started again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from judge.attempts import DeathWatch, read_histories
from judge.config import JudgeSettings
from judge.hardware import hardware_class
from judge.items_file import result_path
from judge.plan import Circumstances, Planned, Step, Unit, make_plan, make_unit
from judge.report import Did, UnitReport
from judge.results import read_submissions
from judge.runner import Runner
from judge.testset import TestSet, read_testset
from judge.unit import Place
from sandbox.driver import Driver, DriverName
from sandbox.drivers import open_driver
from sandbox.gpu import Gpu, require_gpus
from sandbox.guest_archive import guest_version
from sandbox.verdict import Verdict
from submissions.progress import Reporter
from submissions.records import Record, Submission
from submissions.store import Store, open_store
from tasks.dataset import load_structures, read_card
from tasks.kinds import KINDS
from tasks.quickstart import build_quickstart
from tasks.suite import Suite, Task, load_suite

QUICKSTART = "quickstart"


class UsageError(ValueError):
    """What was asked for cannot be done; one line that says what can."""


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
    """

    ids: tuple[str, ...] = ()
    suite: str | None = None
    tasks: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    driver: DriverName | None = None
    retry_held: bool = False


class Summary(Record):
    """What a run did."""

    suite: str
    driver: DriverName
    units: tuple[UnitReport, ...]
    skipped: tuple[str, ...] = ()

    @property
    def counts(self) -> Counter[Did]:
        """How many units had what done about them."""
        return Counter(unit.did for unit in self.units)

    @property
    def exit_status(self) -> int:
        """0: everything has a result or another judge is at it; 1: this machine kept something from being judged."""
        return 1 if self.counts[Did.FAULT] or self.counts[Did.HELD] else 0


def evaluate(settings: JudgeSettings, request: Request, reporter: Reporter) -> Summary:
    """Observes and measures what is missing.

    Raises:
        UsageError: an unknown submission, task or data set; a submission that this driver may not run.
        SuiteError, DatasetError: one line that names file and field.
        JudgeFault: a GPU is not there, or the store fails; whatever was finished before is kept.
    """
    store = open_store(settings.store)
    driver: DriverName = request.driver or settings.driver
    suite = load_suite(request.suite or settings.suite)
    tasks = choose_tasks(suite, request.tasks)
    chosen = choose_submissions(read_submissions(store), request.ids)
    submissions, skipped = split_by_driver(chosen, driver, settings.allow_process or request.driver == "process")
    if request.ids and skipped:
        raise UsageError(skipped[0])
    for line in skipped:
        reporter.say(f"- {line}")
    gpus = require_gpus(list(request.gpus))
    testsets = read_testsets(settings, suite, tasks, reporter)

    def hardware(gpu: Gpu | None) -> str:
        return hardware_class(settings.limits.cpus, gpu.name if gpu else None)

    common = Circumstances(guest_version(), settings.limits, hardware(gpus[0] if gpus else None))
    plan = plan_from_store(store, make_units(submissions, tasks, testsets, common), request.retry_held)

    for name in {planned.unit.task.dataset for planned in plan if planned.step in (Step.OBSERVE, Step.OPEN)}:
        load_structures(settings.data / name)  # broken structures are told now, not by a burnt attempt

    def open_sandbox() -> Driver:
        return open_driver(driver, settings.run_dir)

    place = Place(store, settings.data, settings.failed_share)
    watch = DeathWatch(store, settings.dead_after_s)
    runner = Runner(
        place, open_sandbox, hardware, gpus, reporter, settings.beat_s, watch, retry_held=request.retry_held
    )
    with reporter:
        reporter.expect(sum(planned.step is not Step.DONE for planned in plan))
        reports = runner.run(plan)
    return Summary(suite=suite.name, driver=driver, units=tuple(reports), skipped=tuple(skipped))


def plan_from_store(store: Store, units: Sequence[Unit], retry_held: bool = False) -> list[Planned]:
    """What is to be done about each of `units`, by what the store holds now."""
    histories = read_histories(store, dict.fromkeys(unit.submission.id for unit in units))
    return make_plan(units, histories, frozenset(store.list("results/")).__contains__, retry_held)


def current_results(settings: JudgeSettings, suite: Suite) -> frozenset[str]:
    """Keys of the results in the store that fit the present data sets, versions and limits on this machine.

    For `load_results`: without it the newest counts, which after a label was changed and changed back is not the one.

    Raises:
        DatasetError: one line that names file and field.
    """
    store = open_store(settings.store)
    common = Circumstances(guest_version(), settings.limits, hardware_class(settings.limits.cpus, None))
    tasks = [task for task in suite.tasks if (settings.data / task.dataset / "card.toml").exists()]
    testsets = {task.dataset: read_testset(settings.data, task.dataset) for task in tasks}
    plan = plan_from_store(store, make_units(read_submissions(store), tasks, testsets, common))
    return frozenset(
        result_path(unit.submission.id, unit.task.name, unit.result_key(history.end))
        for unit, history, step in plan
        if step is Step.DONE and history.end
    )


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


def read_testsets(
    settings: JudgeSettings, suite: Suite, tasks: Sequence[Task], reporter: Reporter
) -> dict[str, TestSet]:
    """The data sets of `tasks` by name; those of the quickstart suite are built on first use."""
    names = list(dict.fromkeys(task.dataset for task in tasks))
    missing = [name for name in names if not (settings.data / name / "card.toml").exists()]
    if missing and suite.name == QUICKSTART:
        reporter.say(f"Building the quickstart data sets in {settings.data} …")
        build_quickstart(settings.data)
    elif missing:
        raise UsageError(f"there is no data set {missing[0]} in {settings.data}: judge data import, or set data")
    for task in tasks:
        domain = read_card(settings.data / task.dataset).domain
        if domain != task.domain:
            raise UsageError(
                f"suite {suite.name}: task {task.name}: domain: is {task.domain}, the data set's is {domain}"
            )
    return {name: read_testset(settings.data, name) for name in names}


def make_units(
    submissions: Sequence[Submission], tasks: Sequence[Task], testsets: dict[str, TestSet], common: Circumstances
) -> list[Unit]:
    """Every submission at every task, submission by submission."""
    return [
        make_unit(submission, task, KINDS[task.kind], testsets[task.dataset], common)
        for submission in submissions
        for task in tasks
    ]


def in_words(summary: Summary) -> list[str]:
    """What a run did, for a person, and what to do next."""
    counts = summary.counts
    done = [unit for unit in summary.units if unit.did in (Did.OBSERVED, Did.MEASURED)]
    if not summary.units:
        return ["There is nothing to judge: submit a model with lambench-submit IMAGE."]
    if counts[Did.NOTHING] == len(summary.units):
        n = len({unit.submission for unit in summary.units})
        return [f"Nothing to do: all {len(summary.units)} results of {n} submissions at {summary.suite} are there."]
    words = {
        Did.OBSERVED: "judged",
        Did.MEASURED: "measured without a container",
        Did.NOTHING: "there already",
        Did.HELD: "held",
        Did.FAULT: "kept back by this machine",
        Did.ELSEWHERE: "left to another judge",
    }
    parts = [f"{counts[did]} {text}" for did, text in words.items() if counts[did]]
    lines = [f"Of {len(summary.units)} units: {', '.join(parts)}."]
    refused = Counter(unit.verdict for unit in done if unit.verdict is not Verdict.OK)
    if refused:
        lines.append("Not OK: " + ", ".join(f"{count} × {verdict}" for verdict, count in refused.items()) + ".")
    if summary.exit_status:
        lines.append("Mend what is named above, then: judge evaluate --all")
    else:
        lines.append("Next: judge site build")
    return lines
