"""Judges with workers on a Dask cluster, each of them one `judge work` at a time.

Dask knows nothing of units. If a worker is lost, a new `judge work` is started, and the claims in the store say what is
left. At the end one more says what has become of each unit, and judges what lost workers left.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from distributed import CancelledError, Future

from judge.cluster.engine import Engine
from judge.cluster.work_process import NO_WORK, WorkOrder, WorkOutcome, read_summary, stop, topic_of, work
from judge.config import UsageError
from judge.evaluation.evaluate import Summary
from judge.evaluation.unit_report import UnitReport
from judge.evaluation.workers import joined, reports_in
from submissions.progress import duration

POLL_S = 0.3
KEEP_UP_S = 10.0
NO_WORKER_S = 300.0
"""So long without any Dask worker, a line says where to look."""
SCHEDULER_GONE_S = 60.0
STOP_S = 60.0
MAX_LOST = 5
"""A worker that is lost so often in a row, each time within `SHORT_S`, is not started again."""
SHORT_S = 600.0
FIRST_WAIT_S = 2.0
"""So long the third start waits after the second, and each further one twice as long."""


class ClusterFault(Exception):
    """The cluster failed; one line with the remedy."""


@dataclass
class _Slot:
    """One worker of the run: a `judge work`, and after a loss the next one."""

    number: int
    future: Future[str] | None = None
    begun: float = 0.0
    due: float = 0.0
    lost: int = 0


@dataclass
class ClusterRun:
    """The `judge work` processes of one command.

    Args:
        folder: with `judge.toml`, as workers see it.
        store: the setting of the same name.
        until: when the budget is used up [s since 1970].
        say: called with each line for a person.
    """

    engine: Engine
    folder: str
    store: str
    until: float | None
    say: Callable[[str], None]
    name: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    _reports: list[UnitReport] = field(default_factory=list)
    _seen: float = field(default_factory=time.monotonic)
    _kept_up: float = field(default_factory=time.monotonic)
    _last_worker: float = field(default_factory=time.monotonic)

    def run(self, first: Sequence[str], then: Sequence[str]) -> Summary:
        """What has become of each unit.

        Args:
            first: arguments of `judge work` of the workers.
            then: those of a worker that replaces a lost one, and of the last one.

        Raises:
            UsageError: `judge work` says that it was called wrongly.
            ClusterFault: the scheduler is gone, or the last worker ended without a summary.
        """
        self.engine.client.subscribe_topic(topic_of(self.name), self._show)
        self._finish([_Slot(number + 1) for number in range(self.engine.jobs)], first, then)
        (outcome,) = self._finish([_Slot(0)], then, then)
        given = read_summary(outcome.summary)
        if given is None:
            raise ClusterFault(
                f"the last worker, on {outcome.host}, ended with exit status {outcome.status}: {outcome.last_line}"
            )
        summary = Summary.model_validate({name: given[name] for name in Summary.model_fields if name in given})
        return summary.model_copy(update={"units": joined(summary.units, self._reports)})

    def _finish(self, slots: Sequence[_Slot], first: Sequence[str], then: Sequence[str]) -> list[WorkOutcome]:
        """The outcomes of all slots, once they have ended. A lost worker is started again."""
        try:
            for slot in slots:
                self._submit(slot, first)
            left, outcomes = list(slots), []
            while left:
                time.sleep(POLL_S)
                if not self._answers():
                    continue
                self._keep_up()
                for slot in [slot for slot in left if slot.future is None and time.monotonic() >= slot.due]:
                    self._submit(slot, then)
                for slot in [slot for slot in left if slot.future and slot.future.done()]:
                    outcome = self._outcome_of(slot)
                    slot.future = None  # Dask runs a task again if the worker that holds its result is lost
                    self._reports += reports_in(outcome.summary)
                    if not outcome.lost or not self._again(slot, outcome):
                        left.remove(slot)
                        outcomes.append(outcome)
            return outcomes
        except BaseException:
            self._stop(slots)
            raise

    def _outcome_of(self, slot: _Slot) -> WorkOutcome:
        """How a worker ended.

        Raises:
            UsageError: it says that it was called wrongly.
        """
        future = slot.future
        if future is None or future.status != "finished":
            return WorkOutcome(host="?", status=-1, last_line="its Dask worker was lost")
        try:
            outcome = WorkOutcome.model_validate_json(future.result(timeout=STOP_S))
        except (OSError, TimeoutError, CancelledError):  # the worker was lost before its result came over
            return WorkOutcome(host="?", status=-1, last_line="its Dask worker was lost")
        if outcome.status == NO_WORK:
            raise UsageError(f"a worker on {outcome.host}: {outcome.last_line.removeprefix('judge: ')}")
        return outcome

    def _again(self, slot: _Slot, outcome: WorkOutcome) -> bool:
        """Whether a lost worker is started again: at once, or after others were lost soon, later and later."""
        now = time.monotonic()
        slot.lost = 1 if now - slot.begun >= SHORT_S else slot.lost + 1
        if slot.lost > MAX_LOST:
            self.say(f"! Worker {slot.number} was lost {slot.lost} times in a row, and is not started again")
            return False
        slot.due = now + FIRST_WAIT_S * (2 ** (slot.lost - 1) - 1)
        self.say(f"! Worker {slot.number} was stopped or lost ({outcome.last_line}): another one goes on")
        return True

    def _submit(self, slot: _Slot, arguments: Sequence[str]) -> None:
        order = WorkOrder(
            run=self.name,
            number=slot.number,
            folder=self.folder,
            store=self.store,
            arguments=tuple(arguments),
            until=self.until,
        )
        key = f"judge-work-{self.name}-{slot.number}-{uuid.uuid4().hex[:8]}"
        slot.begun = time.monotonic()
        slot.future = self.engine.client.submit(work, order.model_dump_json(), key=key, pure=False)

    def _answers(self) -> bool:
        """Whether the scheduler answers. While it does not, all tasks look as if they were lost.

        Raises:
            ClusterFault: the scheduler is gone.
        """
        status, now = self.engine.client.status, time.monotonic()
        if status == "running":
            self._seen = now
        elif status == "closed" or self.engine.is_gone() or now - self._seen > SCHEDULER_GONE_S:
            raise ClusterFault("the Dask scheduler is gone; what was judged is kept: run the same command again")
        return status == "running"

    def _keep_up(self) -> None:
        """Replaces lost Dask workers, and says so if none comes."""
        now = time.monotonic()
        if now - self._kept_up < KEEP_UP_S:
            return
        self._kept_up = now
        with suppress(OSError, TimeoutError):  # the scheduler is being lost
            if line := self.engine.keep_up():
                self.say(line)
            if self.engine.client.scheduler_info(n_workers=-1).get("workers"):
                self._last_worker = now
        if now - self._last_worker > NO_WORKER_S:
            self._last_worker = now
            self.say(f"! There has been no Dask worker for {duration(NO_WORKER_S)}: {self.engine.hint}")

    def _show(self, event: tuple[float, Mapping[str, str]]) -> None:
        """Says a line of a worker."""
        _, message = event
        self.say(f"[{message['number']}] {message['line']}")

    def _stop(self, slots: Sequence[_Slot]) -> None:
        """Ends all processes of this run in good order."""
        client, until = self.engine.client, time.monotonic() + STOP_S
        if client.status != "running":
            return  # they end by themselves
        with suppress(Exception):  # the cluster may be gone
            client.cancel([slot.future for slot in slots if slot.future is not None])
            while any(int(count) for count in client.run(stop, self.name, on_error="ignore").values()):
                if time.monotonic() > until:
                    break
                time.sleep(POLL_S)
