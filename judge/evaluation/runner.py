"""Runs a plan: one unit after another, each under a claim. After a fault of the judge a unit is tried again, then held.

The engine is opened only once there is something to observe. While the next unit is observed, the answers of the last
one are stored and measured; its attempt stays claimed until then.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from judge.evaluation.budget import Budget
from judge.evaluation.join_shards import decisive_ends, observe_joined, parts_left
from judge.evaluation.judged_answers import waits_for
from judge.evaluation.machine import Machine
from judge.evaluation.measure import measure_unit
from judge.evaluation.observe import ExecutionTarget, Observed, UnitStorage, fault_end, observe_unit
from judge.evaluation.others_work import OthersWork
from judge.evaluation.plan import Planned, Step, Unit, next_step
from judge.evaluation.quarantine import MIN_SUBMISSIONS, Quarantine, bad_datasets, bad_gpus
from judge.evaluation.train import join_trainings, observe_training
from judge.evaluation.unit_report import Did, UnitReport, line_of
from judge.records.attempts import (
    MAX_DEATHS,
    MAX_TRIES,
    Attempt,
    ClaimedAttempt,
    DeathWatch,
    History,
    Life,
    claim,
    deaths,
    read_history,
)
from judge.records.records import End, Origin, Result
from sandbox.drivers.gpu import hold_gpu
from sandbox.drivers.host_turn import host_turn
from sandbox.events import Event, emit
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.progress import Reporter

WAIT_S = 0.5
RETRY_S = 1.0
T = TypeVar("T")


class _Unstored(NamedTuple):
    """A unit that was observed, whose answers are not stored yet.

    Args:
        held: ends the claim.
    """

    observed: Observed
    claimed: ClaimedAttempt
    held: ExitStack


@dataclass
class Runner:
    """Runs units one after another.

    Args:
        retry_held: try held units and quarantined resources once more.
        observe_only: measure nothing that needs labels; another machine has them.
        budget: after which no unit is started; None for no budget.
        options: by which another command judges the same suite in the same way, with a space before each.
        command: that runs these units, for the line that says how to try one again.
        worker: the identity of this process among others that run the same plan; empty: it is the only one. What others
            have taken is left to them.
    """

    place: UnitStorage
    machine: Machine
    reporter: Reporter
    beat_s: float
    watch: DeathWatch
    retry_held: bool = False
    observe_only: bool = False
    budget: Budget | None = None
    options: str = ""
    command: str = "judge evaluate"
    worker: str = ""
    _units: dict[str, Unit] = field(default_factory=dict)
    _wholes: dict[str, Unit] = field(default_factory=dict)  # by the prefixes of their shards
    _histories: dict[str, History] = field(default_factory=dict)
    _datasets: Mapping[str, Quarantine] = field(default_factory=dict)
    _gpus: Mapping[str, Quarantine] = field(default_factory=dict)
    _met: set[str] = field(default_factory=set)  # prefixes of units that another worker claimed first
    _reports: list[UnitReport] = field(default_factory=list)
    _finishing: ThreadPoolExecutor = field(init=False)
    _others: OthersWork = field(init=False)
    _pending: Future[UnitReport] | None = None
    _stop_announced: bool = False
    _spoilt: dict[FaultCause, set[str]] = field(default_factory=dict)  # submissions, since the last verdict

    def run(self, plan: Sequence[Planned]) -> list[UnitReport]:
        """A report for each unit of `plan`; units that another judge has claimed come last."""
        self._units = {planned.unit.prefix: planned.unit for planned in plan}
        self._wholes = {part.prefix: unit for unit in self._units.values() if unit.is_cut for part in unit.parts}
        self._histories = {planned.unit.prefix: planned.history for planned in plan}
        self._reports = []
        self._update_quarantine()
        self.machine.clear()
        remaining, waiting = deque(plan), deque[Planned]()
        with ThreadPoolExecutor(1, "finish") as self._finishing:
            self._others = OthersWork(self.place.store, self.worker)
            while remaining := self._not_taken(remaining, waiting):
                planned = remaining.popleft()
                report = self._attend(planned)
                if report is None or self._may_still_come(report):
                    waiting.append(planned)
                    self._others.met(planned)
                elif isinstance(report, UnitReport):
                    self._add(report)
            self._collect()
            waiting = self._not_judged(waiting)
            if waiting:
                self.reporter.say(f"{len(waiting)} units are claimed by another judge: checking whether it is alive …")
            while waiting:
                planned = waiting.popleft()
                report = self._attend(planned)
                if report is None or (self._may_still_come(report) and self._others.goes_on()):
                    waiting.append(planned)
                    time.sleep(WAIT_S)
                elif isinstance(report, UnitReport):
                    self._add(report)
            self._collect()
        return self._reports

    def _not_taken(self, plan: Iterable[Planned], waiting: deque[Planned]) -> deque[Planned]:
        """`plan`, with the unit to try next at its head; what others have claimed meanwhile goes to `waiting`."""
        left, others = self._others.arranged(plan)
        self._met.update(planned.unit.prefix for planned in others)
        waiting.extend(others)
        return deque(left)

    def _not_judged(self, plan: Sequence[Planned]) -> deque[Planned]:
        """The units of `plan` that are left, after a report for each that others have judged."""
        left, judged = self._others.without_judged(plan)
        self._reports += [self._report(planned.unit, Did.NOTHING) for planned in judged]
        return deque(left)

    def _may_still_come(self, report: UnitReport | Future[UnitReport]) -> bool:
        """Whether a unit waits for units that other workers may be about to judge."""
        return bool(self.worker) and isinstance(report, UnitReport) and report.did is Did.WAITS

    def _add(self, report: UnitReport) -> None:
        self._collect()  # the reports keep the order of the units
        self._reports.append(self._announced(report))

    def _collect(self) -> None:
        """Adds the report of the unit that is being stored and measured, when it is there."""
        if self._pending is not None:
            pending, self._pending = self._pending, None
            self._add(pending.result())

    def _announced(self, report: UnitReport) -> UnitReport:
        """Prints a line about the unit, if anything was done; the reason why the run has stopped only once."""
        stopped = self.machine.stopped
        repeated = stopped is not None and self._stop_announced and report.sentence == stopped.remedy
        if report.did is not Did.NOTHING and not repeated:
            self.reporter.say(line_of(report))
        self._stop_announced = stopped is not None
        return report

    def _attend(self, planned: Planned) -> UnitReport | Future[UnitReport] | None:
        """The report about a unit, also one that is still to come; None if it is not known yet whether the judge that
        claimed it is dead.
        """
        return self._guarded(planned.unit, lambda: self._attended(planned))

    def _guarded(self, unit: Unit, work: Callable[[], T]) -> T | UnitReport:
        """What `work` returns, or the report about its fault.

        Raises:
            JudgeFault: STORE, nothing can be recorded any more.
        """
        try:
            return work()
        except JudgeFault as fault:
            if fault.cause is FaultCause.CLAIM_LOST:
                return self._report(unit, Did.ELSEWHERE, sentence=fault.remedy)
            if fault.cause is FaultCause.STORE:
                raise
            return self._report(unit, Did.FAULT, fault=fault.cause, sentence=fault.remedy)

    def _attended(self, planned: Planned) -> UnitReport | Future[UnitReport] | None:
        unit = planned.unit
        match planned.step:
            case Step.DONE:
                return self._report(unit, Did.NOTHING)
            case Step.MEASURE if planned.history.end:
                with self.reporter.unit(f"{unit.submission.id} {unit.name}"):
                    return self._measure(unit, planned.history.end, Did.MEASURED)
            case _:
                return self._observe(unit)

    def _observe(self, unit: Unit) -> UnitReport | Future[UnitReport] | None:
        """As `_attend`, for a unit that was not done when the plan was made. Its attempts are read before each try,
        except before the first one of all: a claim that somebody else has made meanwhile is refused by the store.
        """
        retry = self.retry_held
        if self._is_timed(unit) or unit.labelled or unit.parts or unit.shard:
            self._collect()  # nothing may disturb a timing; what a unit needs, or makes needless, must be there
        for n_read in range(MAX_TRIES + 1):
            if n_read or self._histories[unit.prefix].attempts or unit.prefix in self._met:
                self._histories[unit.prefix] = read_history(self.place.store, unit.prefix)
            history = self._histories[unit.prefix]
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
                many = history.unended >= MAX_DEATHS  # only then each is looked at
                if many and not retry and deaths(self.place.store, unit.prefix, history) >= MAX_DEATHS:
                    self._give_up(unit, history)
                    continue
            if unit.testset.name in self._datasets:
                return self._quarantined(unit, self._datasets[unit.testset.name])
            if unit.shard and decisive_ends(self._wholes[unit.prefix], self.place.store):
                return self._report(unit, Did.NOTHING)  # another shard has failed, which decides
            waits = waits_for(unit, self.place.store) or self._waits_for_parts(unit)
            if waits:
                return self._report(unit, Did.WAITS, sentence=waits)
            over = self.budget.refuses(unit.prefix) if self.budget else None
            if over:
                return self._report(unit, Did.LEFT, sentence=over)
            end = self._try(unit, history)
            if isinstance(end, _Unstored) or (end is not None and end.verdict is not None):
                return self._finish_meanwhile(unit, end)
            if end is None and self.worker and unit.prefix not in self._met:
                self._met.add(unit.prefix)  # another worker was faster: looked at when nothing else is left
                return None
            retry = False
        return self._report(unit, Did.ELSEWHERE)

    def _finish_meanwhile(self, unit: Unit, end: End | _Unstored) -> Future[UnitReport]:
        """The report about a unit that is stored and measured while the next one is observed. At most one is."""
        try:
            self._collect()
        except BaseException:
            if isinstance(end, _Unstored):
                end.held.close()  # others may take the unit over at once
            raise
        self._pending = self._finishing.submit(self._guarded, unit, partial(self._finish, unit, end))
        return self._pending

    def _finish(self, unit: Unit, end: End | _Unstored) -> UnitReport:
        if isinstance(end, _Unstored):
            with end.held:
                end = end.observed.store(unit, self.place, end.claimed)
        return self._measure(unit, end, Did.OBSERVED)

    def _waits_for_parts(self, unit: Unit) -> str:
        """Why a training, or a task of parts, cannot be observed now; empty if it can."""
        if unit.training and self.observe_only:
            return "a trainer learns from labels: judge it on a machine that has them, without --observe-only"
        if unit.is_cut and decisive_ends(unit, self.place.store):
            return ""
        left = parts_left(unit, self.place.store)
        return (
            f"{left} of its {len(unit.parts)} {'shards' if unit.is_cut else 'trainings'} have no end yet"
            if left
            else ""
        )

    def _try(self, unit: Unit, history: History) -> End | _Unstored | None:
        """One attempt; None if another judge claimed it first.

        Raises:
            JudgeFault: no container can be started; or the attempt showed that the engine is gone.
        """
        target = self._target(unit, history)
        locks = target.driver.run_dir.root
        on_device = hold_gpu(target.gpu, locks / "gpus") if target.gpu else nullcontext()
        with host_turn(locks / "turns", alone=self._is_timed(unit) and not target.gpu), on_device:
            return self._claimed_try(unit, history.attempts, target)

    def _is_timed(self, unit: Unit) -> bool:
        """Whether other work on this host would change the outcome. A trainer gets further in the same time alone."""
        return unit.kind.traits.times or unit.training is not None

    def _target(self, unit: Unit, history: History) -> ExecutionTarget:
        """The target of the next attempt: no quarantined GPU, and if possible another GPU than at the last fault."""
        spoilt_by = history.faults[-1].culprit.removeprefix("gpu ") if history.faults else ""
        try:
            return self.machine.target(unit.submission, self._gpus, spoilt_by)
        except JudgeFault as fault:
            if fault.cause is not FaultCause.DOCKER or self.machine.stopped:
                raise
            self.machine.look_at_engine()
            return self.machine.target(unit.submission, self._gpus, spoilt_by)

    def _claimed_try(self, unit: Unit, attempts: Sequence[Attempt], target: ExecutionTarget) -> End | _Unstored | None:
        with ExitStack() as held:
            claimed = claim(self.place.store, unit.prefix, attempts, self.beat_s)
            if claimed is None:
                return None
            held.enter_context(claimed)  # at once: before this, an interrupt leaves the claim to nobody
            with self.reporter.unit(f"{unit.submission.id} {unit.name}") as progress:
                try:
                    if attempts and attempts[-1].end is None:
                        target.driver.reap()  # the containers of the dead judge whose claim is taken over
                    if unit.training:
                        done: End | _Unstored = observe_training(unit, unit.training, target, self.place, claimed)
                    elif unit.is_cut:
                        done = observe_joined(unit, self.place, claimed)
                    elif unit.parts:
                        done = join_trainings(unit, target, self.place, claimed)
                    else:
                        observed = observe_unit(unit, target, self.place, claimed, progress)
                        done = _Unstored(observed, claimed, held.pop_all())
                    self._spoilt.clear()
                    return done
                except JudgeFault as fault:
                    if fault.cause in (FaultCause.CLAIM_LOST, FaultCause.STORE):
                        raise
                    if fault.cause is FaultCause.GPU and target.gpu and not fault.faulty_resource:
                        fault = JudgeFault(fault.cause, fault.remedy, faulty_resource=f"gpu {target.gpu}")
                    end = fault_end(claimed, fault, target.origin)
                    claimed.write_end(end)
                    self._stop_if_it_goes_on(unit, fault)
        self.reporter.say(f"! {unit.submission.id} {unit.name}: this machine: {end.fault}: {end.sentence}")
        self._histories[unit.prefix] = read_history(self.place.store, unit.prefix)
        self._update_quarantine()
        self.machine.look_at_engine()
        time.sleep(RETRY_S)
        return end

    def _give_up(self, unit: Unit, history: History) -> None:
        """Ends an attempt at a unit during which many judges died, so that the unit is held."""
        claimed = claim(self.place.store, unit.prefix, history.attempts, self.beat_s)
        if claimed is not None:
            n = deaths(self.place.store, unit.prefix, history)
            remedy = (
                f"the judge died or was killed {n} times during this unit: find what kills it (memory? see the "
                "kernel's log), or let it run to its end"
            )
            claimed.write_end(fault_end(claimed, JudgeFault(FaultCause.MEASURE, remedy), Origin()))

    def _stop_if_it_goes_on(self, unit: Unit, fault: JudgeFault) -> None:
        """Stops the run once the engine or a disk spoils attempts of two submissions, with no verdict between them."""
        if fault.cause not in (FaultCause.DOCKER, FaultCause.DISK):
            return
        spoilt = self._spoilt.setdefault(fault.cause, set())
        spoilt.add(unit.submission.id)
        if len(spoilt) >= MIN_SUBMISSIONS and self.machine.stopped is None:
            remedy = f"nothing more is started, since attempts of two submissions were spoilt: {fault.remedy}"
            self.machine.stopped = JudgeFault(fault.cause, remedy)

    def _update_quarantine(self) -> None:
        """Finds data sets and GPUs that spoilt attempts of several submissions, and reports the new ones."""
        if self.retry_held:
            return
        datasets = bad_datasets(self._units.values(), self._histories)
        gpus = bad_gpus(self._histories)
        for new in [
            *(datasets[d] for d in datasets.keys() - self._datasets),
            *(gpus[g] for g in gpus.keys() - self._gpus),
        ]:
            emit(Event.QUARANTINED, culprit=new.resource, fault=str(new.end.fault))
            self.reporter.say(f"! Quarantined, since it spoilt more than one attempt: {new.resource}")
        self._datasets, self._gpus = datasets, gpus

    def _measure(self, unit: Unit, end: End, did: Did) -> UnitReport:
        if unit.is_part:
            return self._report(unit, did, verdict=end.verdict, sentence=end.sentence)
        if self.observe_only and end.observation is not None:
            return self._report(unit, Did.UNMEASURED, sentence="observed; to be measured on a machine with the labels")
        result = measure_unit(unit, end, self.place)
        return self._report(unit, did, result)

    def _held(self, unit: Unit, end: End) -> UnitReport:
        emit(Event.HELD, unit=unit.prefix, fault=str(end.fault))
        again = f"{self.command} {unit.submission.id} --task {unit.task.name}{self.options} --retry-held"
        sentence = f"{end.sentence}; then: {again}"
        return self._report(unit, Did.HELD, fault=end.fault, sentence=sentence)

    def _quarantined(self, unit: Unit, quarantine: Quarantine) -> UnitReport:
        emit(Event.HELD, unit=unit.prefix, fault=str(quarantine.end.fault), culprit=quarantine.resource)
        again = f"{self.command} --all --task {unit.task.name}{self.options} --retry-held"
        failed = " and ".join(quarantine.submissions)
        sentence = f"{quarantine.resource} is quarantined, since it spoilt attempts of {failed}"
        return self._report(
            unit,
            Did.HELD,
            fault=quarantine.end.fault,
            sentence=f"{sentence} ({quarantine.end.sentence}); then: {again}",
        )

    def _report(
        self,
        unit: Unit,
        did: Did,
        result: Result | None = None,
        *,
        verdict: Verdict | None = None,
        fault: FaultCause | None = None,
        sentence: str = "",
    ) -> UnitReport:
        return UnitReport(
            submission=unit.submission.id,
            task=unit.name,
            did=did,
            verdict=result.verdict if result else verdict,
            fault=fault,
            sentence=result.sentence if result else sentence,
        )
