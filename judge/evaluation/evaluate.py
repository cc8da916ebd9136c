"""`judge evaluate`: observes and measures what is missing, and nothing else.

The work follows from the store and the data sets alone, so a run can be killed at any point and started again. With a
budget, a unit is started only if it is expected to end within the budget. A unit that has started is finished. Units
that are left are reported; they are no fault.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from judge.config import JudgeSettings
from judge.evaluation.budget import Budget
from judge.evaluation.estimate import total_of
from judge.evaluation.host_selftest import last_selftest
from judge.evaluation.machine import Machine
from judge.evaluation.observe import UnitStorage
from judge.evaluation.plan import Step
from judge.evaluation.request import Request
from judge.evaluation.runner import Runner
from judge.evaluation.unit_order import own_order
from judge.evaluation.unit_report import Did, UnitReport
from judge.evaluation.work_plan import WorkPlan, plan_work
from judge.records.attempts import DeathWatch
from judge.records.hardware import hardware_class
from judge.records.suite_record import record_suite
from judge.workspace import Workspace
from sandbox.driver import Driver, DriverName
from sandbox.drivers.gpu import Gpu
from sandbox.drivers.open_driver import open_driver
from sandbox.events import Event, emit
from sandbox.verdict import FaultCause, Verdict
from submissions.progress import Reporter, count, duration
from submissions.records import Record

MACHINE_FAULT = 3
_OF_MACHINE = {FaultCause.DOCKER, FaultCause.GPU, FaultCause.DISK}


class Summary(Record):
    """The result of a run.

    Args:
        skipped: a line for each submission that this driver does not run.
        skipped_tasks: names of the tasks that were left out, because their data sets are missing.
        left_s: expected time of the units that did not fit into the budget [s]; None if that of any is not known.
        suite_option: the option by which another command works on the same suite.
        command: that judges the rest of the same request.
        command_for_all: the same for all tasks, on a machine with the labels.
    """

    suite: str
    driver: DriverName
    units: tuple[UnitReport, ...]
    skipped: tuple[str, ...] = ()
    skipped_tasks: tuple[str, ...] = ()
    left_s: float | None = None
    suite_option: str = ""
    command: str = "judge evaluate --all"
    command_for_all: str = "judge evaluate --all"

    @property
    def counts(self) -> Counter[Did]:
        """The number of units by what was done."""
        return Counter(unit.did for unit in self.units)

    @property
    def exit_status(self) -> int:
        """3 if the engine, a GPU or a disk kept a unit from being started; 1 if a unit is held, or was not judged for
        another reason; else 0, also if units were left or skipped.
        """
        if any(unit.did is Did.FAULT and unit.fault in _OF_MACHINE for unit in self.units):
            return MACHINE_FAULT
        return 1 if self.counts[Did.FAULT] or self.counts[Did.HELD] else 0


def evaluate(workspace: Workspace, request: Request, reporter: Reporter, worker: str = "") -> Summary:
    """Observes and measures what is missing.

    Args:
        worker: the identity of this process among others that run the same request; empty: it is the only one.

    Raises:
        UsageError, SuiteError, DatasetError, JudgeFault: as `plan_work`. If the store fails later, finished units are
            kept.
    """
    settings = workspace.settings
    work = plan_work(workspace, request, reporter)
    if work.plan:
        record_suite(work.store, work.suite)
    # A machine that only observes signs nothing: no key is made.
    key = None if request.observe_only else workspace.signing_key(reporter.say)
    machine = this_machine(settings, work, reporter)
    plan = own_order(work.plan, worker, machine.images_here(work.plan)) if worker else work.plan
    runner = Runner(
        place=UnitStorage(work.store, workspace.data, key, settings.log.parent / "solutions"),
        machine=machine,
        reporter=reporter,
        beat_s=settings.beat_s,
        watch=DeathWatch(work.store, settings.dead_after_s),
        retry_held=request.retry_held,
        observe_only=request.observe_only,
        budget=None if request.budget_s is None else _budget(request.budget_s, work),
        options=request.machine_options,
        command="judge evaluate" if request.rounds is None else "judge rejudge",
        worker=worker,
    )
    emit(Event.RUN_BEGUN, count=len(work.plan))
    with reporter:
        reporter.expect(sum(planned.step is not Step.DONE for planned in work.plan))
        reports = runner.run(plan)
    emit(Event.RUN_ENDED, count=len(reports))
    return Summary(
        suite=work.suite.name,
        driver=work.driver,
        units=tuple(reports),
        skipped=work.skipped,
        skipped_tasks=work.skipped_tasks,
        left_s=_left_s(work, reports),
        suite_option=request.suite_option,
        command=request.command,
        command_for_all=replace(request, tasks=(), observe_only=False, budget_s=None).command,
    )


def _budget(seconds: float, work: WorkPlan) -> Budget:
    return Budget(seconds, {planned.unit.prefix: work.cost(planned).seconds for planned in work.plan})


def this_machine(settings: JudgeSettings, work: WorkPlan, reporter: Reporter) -> Machine:
    """This machine, as the run of `work` uses it."""

    def hardware(gpu: Gpu | None) -> str:
        return hardware_class(settings.limits.cpus, gpu.name if gpu else None)

    def open_sandbox() -> Driver:
        return open_driver(work.driver, settings.run_dir, settings.runtime, settings.cold_start)

    def last_selftest_of(driver: Driver) -> str:
        last = last_selftest(work.store, platform.node(), driver.engine) if driver.engine else None
        return last[0] if last else ""

    return Machine(
        open_sandbox=open_sandbox,
        hardware=hardware,
        gpus=work.gpus,
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


def _left_s(work: WorkPlan, reports: Sequence[UnitReport]) -> float | None:
    """The expected time of the units that were left [s]; None if there are none, or if that of any is not known."""
    left = {(report.submission, report.task) for report in reports if report.did is Did.LEFT}
    total = total_of(work.cost(p) for p in work.plan if (p.unit.submission.id, p.unit.name) in left)
    return None if not left or total.unknown else total.seconds


def in_words(summary: Summary) -> list[str]:
    """The result of a run and the next step, for a person."""
    counts = summary.counts
    done = [unit for unit in summary.units if unit.did in (Did.OBSERVED, Did.MEASURED)]
    if not summary.units and summary.skipped:
        return [f"There is nothing to judge with the driver {summary.driver}: the lines above say why."]
    if not summary.units:
        return ["There is nothing to judge: submit a model with lambench-submit IMAGE."]
    if counts[Did.NOTHING] == len(summary.units):
        n = len({unit.submission for unit in summary.units})
        results, submissions = count(len(summary.units), "result"), count(n, "submission")
        lines = [f"Nothing to do: all {results} of {submissions} in {summary.suite} exist."]
        return lines + _left_out(summary)
    words = {
        Did.OBSERVED: "judged",
        Did.MEASURED: "measured without a container",
        Did.NOTHING: "done before",
        Did.HELD: "held",
        Did.FAULT: "not judged by a fault of this machine",
        Did.ELSEWHERE: "left to another judge",
        Did.UNMEASURED: "observed, to be measured on a machine with the labels",
        Did.LEFT: "left, since the budget is used up",
        Did.WAITS: "waiting for others",
    }
    parts = [f"{counts[did]} {text}" for did, text in words.items() if counts[did]]
    lines = [f"Of {count(len(summary.units), 'unit')}: {', '.join(parts)}."]
    refused = Counter(unit.verdict for unit in done if unit.verdict is not Verdict.OK)
    if refused:
        lines.append("Not OK: " + ", ".join(f"{times} × {verdict}" for verdict, times in refused.items()) + ".")
    lines += _left_out(summary)
    if summary.exit_status:
        retry = " --retry-held" if counts[Did.HELD] else ""
        lines.append(f"Correct the faults above, then: {summary.command}{retry}")
    elif counts[Did.UNMEASURED]:
        lines.append(f"Next, on a machine with the labels and this store: {summary.command_for_all}")
    elif counts[Did.WAITS]:
        lines.append(f"To judge the units that wait, judge all tasks: {summary.command_for_all}")
    elif counts[Did.LEFT]:
        expected = "" if summary.left_s is None else f" (about {duration(summary.left_s)})"
        lines.append(f"To judge the units that are left{expected}: {summary.command}")
    else:
        lines.append(f"Next: judge site build{summary.suite_option}")
    return lines


def _left_out(summary: Summary) -> list[str]:
    names = ", ".join(summary.skipped_tasks)
    return [f"Not judged, since their data sets are missing: {names}."] if names else []
