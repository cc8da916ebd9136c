"""`judge evaluate`: everything that is missing is observed and measured, and nothing else.

What is to be done follows from the store and the data sets alone, so this can be killed at any point and started again.
With a budget it stops by itself: a unit is begun only if it is expected to end within the budget, what was begun is
finished, and what is left is told, which is no fault.
"""

from __future__ import annotations

import platform
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from judge.attempts import DeathWatch, read_histories
from judge.budget import Budget
from judge.config import JudgeSettings
from judge.config import UsageError as UsageError
from judge.datasets import is_there
from judge.estimate import total_of
from judge.hardware import hardware_class
from judge.items_file import result_path
from judge.keys import TIMING_KINDS
from judge.machine import Machine
from judge.plan import Circumstances, Step, make_plan
from judge.report import Did, UnitReport
from judge.results import read_submissions
from judge.runner import Runner
from judge.scope import Request as Request
from judge.scope import Scope, scope_of
from judge.selftest import last_selftest
from judge.signing import own_key, safe_key_file, trusted_keys
from judge.standing import Rounds, read_standings, rounds_that_count
from judge.survey import Survey, make_units, survey_of
from judge.testset import read_testset
from judge.unit import Place
from sandbox.driver import Driver, DriverName
from sandbox.drivers import open_driver
from sandbox.events import Event, tell
from sandbox.gpu import Gpu
from sandbox.guest_archive import guest_version
from sandbox.verdict import Verdict
from submissions.open_store import open_store
from submissions.progress import Reporter, duration
from submissions.records import Record
from submissions.store import Store
from tasks.suite import Suite


class Summary(Record):
    """What a run did.

    Args:
        skipped: a line for each submission that this driver does not run.
        skipped_tasks: names of the tasks that were left out, since their data sets are missing.
        left_s: what the units that no longer fitted into the budget are expected to take [s]; None where that of any
            is not known.
        suite_option: what a command must add to be about the same suite.
    """

    suite: str
    driver: DriverName
    units: tuple[UnitReport, ...]
    skipped: tuple[str, ...] = ()
    skipped_tasks: tuple[str, ...] = ()
    left_s: float | None = None
    suite_option: str = ""

    @property
    def counts(self) -> Counter[Did]:
        """How many units had what done about them."""
        return Counter(unit.did for unit in self.units)

    @property
    def exit_status(self) -> int:
        """1: this machine kept something from being judged; 0: all else, also what a budget or missing data left."""
        return 1 if self.counts[Did.FAULT] or self.counts[Did.HELD] else 0


def evaluate(settings: JudgeSettings, request: Request, reporter: Reporter) -> Summary:
    """Observes and measures what is missing.

    Raises:
        UsageError, SuiteError, DatasetError, JudgeFault: as `judge.survey.survey`; and the store may fail later on,
            where whatever was finished before is kept.
    """
    scope = scope_of(settings, request, reporter)
    if request.rounds is None and scope.is_settled():
        return _nothing_to_do(scope, request)
    found = survey_of(settings, request, scope)
    # A machine that only observes signs nothing: it needs no key, and makes none.
    key = None if request.observe_only else own_key(safe_key_file(settings), reporter.say)
    runner = Runner(
        place=Place(found.store, settings.data, key),
        machine=_machine(settings, found, reporter),
        reporter=reporter,
        beat_s=settings.beat_s,
        watch=DeathWatch(found.store, settings.dead_after_s),
        retry_held=request.retry_held,
        observe_only=request.observe_only,
        budget=None if request.budget_s is None else _budget(request.budget_s, found),
        suite_option=suite_option(request),
        command="judge evaluate" if request.rounds is None else "judge rejudge",
    )
    tell(Event.RUN_BEGUN, count=len(found.plan))
    with reporter:
        reporter.expect(sum(planned.step is not Step.DONE for planned in found.plan))
        reports = runner.run(found.plan)
    tell(Event.RUN_ENDED, count=len(reports))
    return Summary(
        suite=found.suite.name,
        driver=found.driver,
        units=tuple(reports),
        skipped=found.skipped,
        skipped_tasks=found.skipped_tasks,
        left_s=_left_s(found, reports),
        suite_option=suite_option(request),
    )


def _nothing_to_do(scope: Scope, request: Request) -> Summary:
    """What a run did that found everything done, as the last one did. A unit each, as of any other run."""
    pairs = [(submission.id, task.name) for submission in scope.submissions for task in scope.prepared.tasks]
    tell(Event.RUN_BEGUN, count=len(pairs))
    tell(Event.RUN_ENDED, count=len(pairs))
    units = [{"submission": id, "task": task, "did": Did.NOTHING} for id, task in pairs]
    return Summary.model_validate(  # at once: a hundred thousand reports, made one by one, take a second
        {
            "suite": scope.suite.name,
            "driver": scope.driver,
            "units": units,
            "skipped": scope.skipped,
            "skipped_tasks": scope.prepared.skipped,
            "suite_option": suite_option(request),
        }
    )


def _budget(seconds: float, found: Survey) -> Budget:
    return Budget(seconds, {planned.unit.prefix: found.cost(planned).seconds for planned in found.plan})


def _machine(settings: JudgeSettings, found: Survey, reporter: Reporter) -> Machine:
    """This machine, as a run that `found` what there is to do may use it."""

    def hardware(gpu: Gpu | None) -> str:
        return hardware_class(settings.limits.cpus, gpu.name if gpu else None)

    def open_sandbox() -> Driver:
        return open_driver(found.driver, settings.run_dir, settings.runtime)

    def last_selftest_of(driver: Driver) -> str:
        last = last_selftest(found.store, platform.node(), driver.engine) if driver.engine else None
        return last[0] if last else ""

    return Machine(
        open_sandbox=open_sandbox,
        hardware=hardware,
        gpus=found.gpus,
        say=reporter.say,
        selftest=last_selftest_of,
        run_dir=settings.run_dir,
        disks=disks(settings),
        registry_config=settings.registry_config,
        min_free_bytes=settings.min_free_bytes,
        engine_wait_s=settings.engine_wait_s,
    )


def disks(settings: JudgeSettings) -> tuple[Path, ...]:
    """The folders that judging writes to."""
    stored = () if "://" in settings.store else (Path(settings.store),)
    return (*stored, settings.run_dir)


def suite_option(request: Request) -> str:
    """What a command must add to be about the same suite; empty for that of the settings."""
    return f" --suite {shlex.quote(request.suite)}" if request.suite else ""


def _left_s(found: Survey, reports: Sequence[UnitReport]) -> float | None:
    """What the units that were left are expected to take [s]; None for no units, or where that of any is not known."""
    left = {(report.submission, report.task) for report in reports if report.did is Did.LEFT}
    total = total_of(found.cost(p) for p in found.plan if (p.unit.submission.id, p.unit.task.name) in left)
    return None if not left or total.unknown else total.seconds


def current_results(
    settings: JudgeSettings, suite: Suite, rounds: Rounds | None = None, store: Store | None = None
) -> frozenset[str]:
    """Keys of the results in the store that fit the present data sets, versions and limits.

    For `load_results`: without it the newest counts, which after a label was changed and changed back is not the one.
    Timings fit whichever machine they were taken on; of those on several, the newest counts. Tasks whose data sets are
    missing have none.

    Args:
        rounds: in place of those that count.
        store: in place of that of the settings.

    Raises:
        DatasetError: one line that names file and field.
        StoreError: a record cannot be read, or nobody trusted signed an event; one line that names it.
    """
    store = store or open_store(settings.store, settings.endpoint_url)
    tasks = [task for task in suite.tasks if is_there(settings.data, task.dataset)]
    testsets = {task.dataset: read_testset(settings.data, task.dataset) for task in tasks}
    submissions = read_submissions(store)
    histories = read_histories(store, [submission.id for submission in submissions])
    guest, this = guest_version(), hardware_class(settings.limits.cpus, None)
    if rounds is None:
        rounds = rounds_that_count(read_standings(store, [s.id for s in submissions], trusted_keys(settings)))
    units = make_units(submissions, tasks, testsets, Circumstances(guest, settings.limits, this), rounds)
    timings = [task for task in tasks if task.kind in TIMING_KINDS]
    for machine in sorted({h.end.origin.hardware for h in histories.values() if h.end} - {this}):
        units += make_units(submissions, timings, testsets, Circumstances(guest, settings.limits, machine), rounds)
    plan = make_plan(units, histories, frozenset(store.list("results/")).__contains__)
    return frozenset(
        result_path(unit.submission.id, unit.task.name, unit.result_key(history.end))
        for unit, history, step in plan
        if step is Step.DONE and history.end
    )


def in_words(summary: Summary) -> list[str]:
    """What a run did, for a person, and what to do next."""
    counts = summary.counts
    done = [unit for unit in summary.units if unit.did in (Did.OBSERVED, Did.MEASURED)]
    if not summary.units:
        return ["There is nothing to judge: submit a model with lambench-submit IMAGE."]
    if counts[Did.NOTHING] == len(summary.units):
        n = len({unit.submission for unit in summary.units})
        lines = [f"Nothing to do: all {len(summary.units)} results of {n} submissions at {summary.suite} are there."]
        return lines + _left_out(summary)
    words = {
        Did.OBSERVED: "judged",
        Did.MEASURED: "measured without a container",
        Did.NOTHING: "there already",
        Did.HELD: "held",
        Did.FAULT: "kept back by this machine",
        Did.ELSEWHERE: "left to another judge",
        Did.UNMEASURED: "observed, to be measured where the labels are",
        Did.LEFT: "left for want of budget",
    }
    parts = [f"{counts[did]} {text}" for did, text in words.items() if counts[did]]
    lines = [f"Of {len(summary.units)} units: {', '.join(parts)}."]
    refused = Counter(unit.verdict for unit in done if unit.verdict is not Verdict.OK)
    if refused:
        lines.append("Not OK: " + ", ".join(f"{count} × {verdict}" for verdict, count in refused.items()) + ".")
    lines += _left_out(summary)
    if summary.exit_status:
        lines.append(f"Mend what is named above, then: judge evaluate --all{summary.suite_option}")
    elif counts[Did.UNMEASURED]:
        lines.append(f"Next, on this store, where the labels are: judge evaluate --all{summary.suite_option}")
    elif counts[Did.LEFT]:
        expected = "" if summary.left_s is None else f" (about {duration(summary.left_s)})"
        lines.append(f"To go on with what is left{expected}, run it again: what is finished is not done twice.")
    else:
        lines.append(f"Next: judge site build{summary.suite_option}")
    return lines


def _left_out(summary: Summary) -> list[str]:
    names = ", ".join(summary.skipped_tasks)
    return [f"Not judged, since their data sets are missing: {names}."] if names else []
