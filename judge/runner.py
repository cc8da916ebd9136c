"""Runs a plan: units one after another, each under a claim, judge's faults tried again and then held.

A container is started, and its engine spoken to, only once there is something to observe.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from judge.attempts import MAX_TRIES, Attempt, DeathWatch, History, Life, claim, read_history
from judge.budget import Budget
from judge.plan import Planned, Step, Unit, next_step
from judge.provenance import origin
from judge.records import End, Result
from judge.report import Did, UnitReport, line_of
from judge.unit import Bench, Place, fault_end, measure_unit, observe_unit
from sandbox.driver import Driver, Image
from sandbox.gpu import Gpu, hold_gpu
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from submissions.progress import Reporter
from submissions.records import Submission

WAIT_S = 0.5
RETRY_S = 1.0


@dataclass
class Runner:
    """Runs units one after another.

    Args:
        open_sandbox: opens the driver; called once there is something to observe, and not before.
        hardware: class of this machine with the GPU of that number, or without one.
        stopped: why no more containers can be started in this run.
        budget: beyond which no container is started; None: there is none.
        suite_option: what a command must add to be about the same suite.
    """

    place: Place
    open_sandbox: Callable[[], Driver]
    hardware: Callable[[Gpu | None], str]
    gpus: Sequence[Gpu]
    reporter: Reporter
    beat_s: float
    watch: DeathWatch
    retry_held: bool = False
    stopped: JudgeFault | None = None
    budget: Budget | None = None
    suite_option: str = ""
    _driver: Driver | None = None
    _images: dict[str, Image | SubmissionFault | JudgeFault] = field(default_factory=dict)
    _turn: int = 0
    _stop_told: bool = False

    def run(self, plan: Sequence[Planned]) -> list[UnitReport]:
        """What was done about each unit of `plan`; those that another judge has claimed come last."""
        reports = []
        waiting: deque[Planned] = deque()
        for planned in plan:
            report = self._attend(planned)
            if report is None:
                waiting.append(planned)
            else:
                reports.append(self._told(report))
        if waiting:
            self.reporter.say(f"{len(waiting)} units are claimed by another judge: looking whether it lives …")
        while waiting:
            planned = waiting.popleft()
            report = self._attend(planned)
            if report is None:
                waiting.append(planned)
                time.sleep(WAIT_S)
            else:
                reports.append(self._told(report))
        return reports

    def _told(self, report: UnitReport) -> UnitReport:
        """Says what was done, if anything; why nothing more can be is said once."""
        repeated = self.stopped is not None and self._stop_told and report.sentence == self.stopped.mend
        if report.did is not Did.NOTHING and not repeated:
            self.reporter.say(line_of(report))
        self._stop_told = self.stopped is not None
        return report

    def _attend(self, planned: Planned) -> UnitReport | None:
        """What was done about a unit; None if it is not known yet whether its claim is dead."""
        unit = planned.unit
        try:
            match planned.step:
                case Step.DONE:
                    return self._report(unit, Did.NOTHING)
                case Step.MEASURE if planned.history.end:
                    with self.reporter.unit(f"{unit.submission.id} {unit.task.name}"):
                        return self._measure(unit, planned.history.end, Did.MEASURED)
                case _:
                    return self._observe(unit)
        except JudgeFault as fault:
            if fault.cause is FaultCause.CLAIM_LOST:
                return self._report(unit, Did.ELSEWHERE, sentence=fault.mend)
            if fault.cause is FaultCause.STORE:
                raise  # nothing can be recorded any more
            return self._report(unit, Did.FAULT, fault=fault.cause, sentence=fault.mend)

    def _observe(self, unit: Unit) -> UnitReport | None:
        """As `_attend`, for a unit that was not done when the plan was made: looked at anew before each try."""
        retry = self.retry_held
        for _ in range(MAX_TRIES + 1):
            history = read_history(self.place.store, unit.prefix)
            step = next_step(unit, history, self.place.store.exists, retry)
            if step is Step.DONE:
                return self._report(unit, Did.ELSEWHERE, sentence="another judge has finished it")
            if step is Step.MEASURE and history.end:
                return self._measure(unit, history.end, Did.MEASURED)
            if step is Step.HELD and history.held:
                return self._held(unit, history.held)
            if step is Step.OPEN and history.open:
                life = self.watch.look(unit.prefix, history.open)
                if life is not Life.DEAD:
                    return None if life is Life.UNKNOWN else self._report(unit, Did.ELSEWHERE)
            over = self.budget.refuses(unit.prefix) if self.budget else None
            if over:
                return self._report(unit, Did.LEFT, sentence=over)
            end = self._try(unit, history)
            if end is not None and end.verdict is not None:
                return self._measure(unit, end, Did.OBSERVED)
            retry = False
        return self._report(unit, Did.ELSEWHERE)

    def _try(self, unit: Unit, history: History) -> End | None:
        """One attempt; None if another judge claimed it first.

        Raises:
            JudgeFault: no container can be started; or the attempt showed that the engine is gone.
        """
        if self.stopped:
            raise self.stopped
        gpu = self.gpus[self._turn % len(self.gpus)] if self.gpus else None
        self._turn += 1
        uuid = gpu.uuid if gpu else None
        driver = self._sandbox()
        bench = Bench(driver, self._image(unit.submission), origin(driver, self.hardware(gpu), uuid, ""), uuid)
        if gpu:
            with hold_gpu(gpu.uuid, bench.driver.run_dir.root / "gpus"):
                return self._claimed_try(unit, history.attempts, bench)
        return self._claimed_try(unit, history.attempts, bench)

    def _claimed_try(self, unit: Unit, attempts: Sequence[Attempt], bench: Bench) -> End | None:
        claimed = claim(self.place.store, unit.prefix, attempts, self.beat_s)
        if claimed is None:
            return None
        with claimed, self.reporter.unit(f"{unit.submission.id} {unit.task.name}") as progress:
            try:
                return observe_unit(unit, bench, self.place, claimed, progress)
            except JudgeFault as fault:
                if fault.cause in (FaultCause.CLAIM_LOST, FaultCause.STORE):
                    raise
                end = fault_end(claimed, fault, bench.origin)
                claimed.write_end(end)
                self.reporter.say(f"! {unit.submission.id} {unit.task.name}: this machine: {fault}")
                self._look_at_engine(bench.driver)
                time.sleep(RETRY_S)
                return end

    def _look_at_engine(self, driver: Driver) -> None:
        """Stops the run if the engine itself is gone: further tries would only burn other units' attempts."""
        try:
            driver.reap()
        except JudgeFault as fault:
            self.stopped = fault
            raise

    def _sandbox(self) -> Driver:
        if self._driver is None:
            try:
                self._driver = self.open_sandbox()
                removed = self._driver.reap()
            except JudgeFault as fault:
                self.stopped = fault
                raise
            if removed:
                self.reporter.say(f"Removed {removed} containers that a judge left behind.")
        return self._driver

    def _image(self, submission: Submission) -> Image | SubmissionFault:
        """The image of `submission`, by its ID; resolved once a run.

        Raises:
            JudgeFault: this machine has it no more: no fault of its author, who got it past the preflight.
        """
        if submission.id not in self._images:
            self._images[submission.id] = resolve_image(self._sandbox(), submission)
        image = self._images[submission.id]
        if isinstance(image, JudgeFault):
            raise image
        return image

    def _measure(self, unit: Unit, end: End, did: Did) -> UnitReport:
        result = measure_unit(unit, end, self.place)
        return self._report(unit, did, result)

    def _held(self, unit: Unit, end: End) -> UnitReport:
        again = f"judge evaluate {unit.submission.id} --task {unit.task.name}{self.suite_option} --retry-held"
        sentence = f"{end.sentence}; then: {again}"
        return self._report(unit, Did.HELD, fault=end.fault, sentence=sentence)

    def _report(
        self,
        unit: Unit,
        did: Did,
        result: Result | None = None,
        *,
        fault: FaultCause | None = None,
        sentence: str = "",
    ) -> UnitReport:
        return UnitReport(
            submission=unit.submission.id,
            task=unit.task.name,
            did=did,
            verdict=result.verdict if result else None,
            fault=fault,
            sentence=result.sentence if result else sentence,
        )


def resolve_image(driver: Driver, submission: Submission) -> Image | SubmissionFault | JudgeFault:
    """The image that was submitted, or whose fault it is that it cannot be run."""
    record = submission.image
    reference = record.id if driver.name == "docker" else record.reference
    try:
        image = driver.resolve(reference)
    except SubmissionFault as fault:
        if fault.verdict is Verdict.IMAGE_INVALID:
            return JudgeFault(
                FaultCause.REGISTRY, f"{record.reference} of {submission.id} cannot be had here ({fault.sentence})"
            )
        return fault
    except JudgeFault as fault:
        return fault
    if image.id != record.id:
        return JudgeFault(
            FaultCause.REGISTRY, f"{record.reference} has changed since {submission.id} was submitted: submit it again"
        )
    return image
