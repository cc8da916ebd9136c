"""Many jobs of ordinary ASE code at once over one model, so that a model with batches is kept busy.

Each job runs in its own thread with its own `BatchCalculator`. A question waits until every living job waits; then all
questions go to the model together, in the order of the jobs, in batches filled to its atom budget, and all jobs
continue. So the questions and their order follow from the jobs alone and not from the scheduling of threads: a second
run gives the same bytes. Only the calling thread talks to the model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from tasks.kind import Watch
from tasks.model.calculator import BatchCalculator, ItemFailed, compute_in_batches
from tasks.structures.frames import Frames, FramesError
from tasks.structures.predictions import RESULTS, Cause, Predictions, Properties

T = TypeVar("T")

# The number of jobs that live at once. An optimiser holds a few square matrices of three times the atoms, or more.
MAX_LIVING = 256
THREAD_NAME = "concurrent job"
MAX_HESSIAN_BYTES = 1 << 30
# Errors of ASE's algorithms that absurd answers of a model cause: they fail the item.
MODEL_ERRORS = (FramesError, np.linalg.LinAlgError, FloatingPointError, OverflowError, ZeroDivisionError)


class Job(NamedTuple, Generic[T]):
    """One item's algorithm.

    Args:
        n_atoms: of its largest structure; it limits how many jobs live at once.
        run: called with the model; raises `ItemFailed` if the item has no number.
    """

    n_atoms: int
    run: Callable[[BatchCalculator], T]


class Done(NamedTuple, Generic[T]):
    """The end of a job: a value, or the cause of its failure."""

    value: T | None
    cause: Cause


class _Stopped(BaseException):
    """Ends a job from outside; no `except Exception` in the code of the job catches it."""


class _Gate:
    """Counts the lanes that run, and wakes the waiting thread when none does."""

    def __init__(self) -> None:
        self._running = 0
        self._guard = threading.Lock()
        self._none = threading.Semaphore(0)

    def expect(self, lanes: int) -> None:
        """Announces the number of lanes that are about to run; called while none runs."""
        self._running = lanes

    def leave(self) -> None:
        with self._guard:
            self._running -= 1
            last = self._running == 0
        if last:
            self._none.release()

    def wait(self) -> None:
        """Waits until none of the expected lanes runs."""
        self._none.acquire()


@dataclass(eq=False)
class _Lane(Generic[T]):
    """A job, its thread, and the model as the job sees it (a `BatchCalculator`)."""

    job: Job[T]
    model: BatchCalculator
    gate: _Gate
    question: tuple[Frames, Properties] | None = None
    answer: Predictions | None = None
    stopped: bool = False
    done: Done[T] | None = None
    error: BaseException | None = None
    _wake: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._main, name=THREAD_NAME, daemon=True)

    @property
    def properties(self) -> Properties:
        return self.model.properties

    @property
    def max_atoms_per_batch(self) -> int:
        return self.model.max_atoms_per_batch

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        """As `BatchCalculator.compute`: returns once all other jobs wait as well."""
        if self.stopped:
            raise _Stopped
        self.question = (frames, properties)
        self.gate.leave()
        self._wake.acquire()
        self.question, answer = None, self.answer
        if self.stopped or answer is None:
            raise _Stopped
        return answer

    def go_on(self) -> None:
        """Starts the job, or wakes it with its answer. Called once the gate expects it."""
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._wake.release()

    def stop(self) -> None:
        """Ends the job, whether it waits, is about to, or runs. `join` waits for its end."""
        self.stopped = True
        self._wake.release()

    def join(self) -> None:
        """Waits until the job has ended, if it was ever started."""
        if self._thread.ident is not None:
            self._thread.join()

    def _main(self) -> None:
        try:
            self.done = Done(self.job.run(self), Cause.NONE)
        except ItemFailed as failed:
            self.done = Done(None, failed.cause)
        except MODEL_ERRORS:
            self.done = Done(None, Cause.NOT_CONVERGED)
        except _Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it again
            self.error = error
        finally:
            self.gate.leave()


def run_concurrently(
    jobs: Sequence[Job[T]], model: BatchCalculator, watch: Watch, unit: str = "items"
) -> list[Done[T]]:
    """The ends of `jobs`, in their order.

    Jobs that are not done at the watch's deadline are stopped: OVER_TIME. Once more than the watch's share of them has
    failed (`RESULTS` are no failures), the remaining jobs are MISSING.

    Raises:
        Any error of `model.compute`, and any error of a job that is not its item's failure; all jobs are ended first.
    """
    # If many threads each called a multi-threaded BLAS, they would wait for each other a hundred times as long as they
    # compute; and with one BLAS thread the numbers do not depend on the number of cores.
    with threadpool_limits(1, user_api="blas"):
        return _run(jobs, model, watch, unit)


def _run(jobs: Sequence[Job[T]], model: BatchCalculator, watch: Watch, unit: str) -> list[Done[T]]:
    gate = _Gate()
    lanes: list[_Lane[T]] = []
    living: list[_Lane[T]] = []
    left = Cause.MISSING
    try:
        while len(lanes) < len(jobs) or living:
            _answer(living, model, watch)
            fresh = [_Lane(job, model, gate) for job in _admitted(jobs[len(lanes) :], living, model)]
            lanes += fresh
            living += fresh
            _let_go_on(living, gate)
            living = [lane for lane in living if lane.done is None]
            watch.progress(len(lanes) - len(living), len(jobs), unit)
            for lane in living:
                if lane.error is not None:
                    raise lane.error
            if watch.clock() > watch.deadline:
                left = Cause.OVER_TIME
                break
            failed = sum(lane.done.cause not in (Cause.NONE, *RESULTS) for lane in lanes if lane.done)
            if failed > watch.failed_share * len(jobs):
                break
    finally:
        # Without the gate: Ctrl-C can come at any moment, also while some lanes run.
        for lane in lanes:
            lane.stop()
        for lane in lanes:
            lane.join()
    ended = [lane.done or Done(None, left) for lane in lanes]
    return ended + [Done(None, left)] * (len(jobs) - len(lanes))


def _admitted(jobs: Sequence[Job[T]], living: Sequence[_Lane[T]], model: BatchCalculator) -> list[Job[T]]:
    """The next of `jobs` that may live beside the living: at least one if none lives."""
    n, atoms = len(living), sum(lane.job.n_atoms for lane in living)
    hessians = sum(_hessian_bytes(lane.job) for lane in living)
    admitted: list[Job[T]] = []
    for job in jobs:
        atoms, hessians = atoms + job.n_atoms, hessians + _hessian_bytes(job)
        crowded = n >= MAX_LIVING or atoms > model.max_atoms_per_batch or hessians > MAX_HESSIAN_BYTES
        if n and crowded:
            break
        n += 1
        admitted.append(job)
    return admitted


def _hessian_bytes(job: Job[T]) -> int:
    return 8 * (3 * job.n_atoms) ** 2


def _answer(living: Sequence[_Lane[T]], model: BatchCalculator, watch: Watch) -> None:
    """Answers the questions of the living: those for the same properties go to the model together.

    Questions that are not asked before the watch's deadline are OVER_TIME.
    """
    by_properties: dict[Properties, list[tuple[_Lane[T], Frames]]] = {}
    for lane in living:
        if lane.question is not None:
            frames, properties = lane.question
            by_properties.setdefault(properties, []).append((lane, frames))
    for properties, questions in by_properties.items():
        together = Frames.concatenate([frames for _, frames in questions])
        answer = compute_in_batches(model, together, properties, in_time=watch.in_time)
        frame = atom = 0
        for lane, frames in questions:
            lane.answer = answer.between(frame, frame + len(frames), atom, atom + len(frames.numbers))
            frame, atom = frame + len(frames), atom + len(frames.numbers)


def _let_go_on(lanes: Sequence[_Lane[T]], gate: _Gate) -> None:
    """Lets all of `lanes` run until each waits again or has ended."""
    if lanes:
        gate.expect(len(lanes))
        for lane in lanes:
            lane.go_on()
        gate.wait()
