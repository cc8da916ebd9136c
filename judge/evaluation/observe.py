"""Observes one unit: asks the model in a container; then stores its answers and, after them, the end of the attempt.

No label is read here.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from judge.evaluation.checkpoint_file import checkpoint_of
from judge.evaluation.judged_answers import judged_answers
from judge.evaluation.moving_checkpoint import MovingCheckpoint
from judge.evaluation.plan import Unit
from judge.records.attempts import ClaimedAttempt
from judge.records.observation_file import store_observation
from judge.records.probe_secret import order_secret
from judge.records.records import End, Origin, Peaks
from judge.records.signing import SigningKey
from sandbox.driver import Driver, Image, Question
from sandbox.drivers.gpu import still_has_gpu
from sandbox.events import Event, emit
from sandbox.evidence import Phase
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome, run_session
from submissions.records import utc_now
from submissions.store.interface import Store
from tasks.datasets.dataset import Structures, load_structures
from tasks.kind import HostTooNoisy, Observation, Rechecking, Watch
from tasks.model.calculator import BatchCalculator
from tasks.model.dispersion import DispersionCorrected, check_elements, d3_in_words, d3_parameters
from tasks.observing.shards import observe_shard

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class ExecutionTarget:
    """The driver, image and device that a unit is run with.

    Args:
        image: to run, or the reason why it cannot be run.
        origin: this machine, as the end of the attempt states it.
        gpu: UUID; None for the CPU.
    """

    driver: Driver
    image: Image | SubmissionFault
    origin: Origin
    gpu: str | None


class UnitStorage(NamedTuple):
    """The store, the data sets, the signing key, and the folder of kept solutions.

    Args:
        key: None if results are not signed.
        solutions: as `tasks.simulation.solution_cache` has them; None: none are kept.
    """

    store: Store
    data: Path
    key: SigningKey | None = None
    solutions: Path | None = None


@dataclass(frozen=True)
class Observed:
    """An attempt in which the model was asked, before anything of it is stored.

    Args:
        end: without the observation.
        observation: None unless the verdict is OK.
        checkpoint: that is not needed any more once the end is stored.
    """

    end: End
    observation: Observation | None = None
    checkpoint: MovingCheckpoint | None = None

    def store(self, unit: Unit, place: UnitStorage, attempt: ClaimedAttempt) -> End:
        """The end of the attempt, stored after the answers.

        Raises:
            JudgeFault: CLAIM_LOST or STORE; the end is not written.
        """
        digest = None if self.observation is None else store_observation(place.store, self.observation)
        if digest is not None:
            emit(Event.OBSERVATION_STORED, unit=unit.prefix, key=digest)
        end = self.end.model_copy(update={"observation": digest})
        attempt.write_end(end)
        if self.checkpoint is not None:
            self.checkpoint.remove()
        return end


def observe_unit(
    unit: Unit, target: ExecutionTarget, place: UnitStorage, attempt: ClaimedAttempt, progress: Progress
) -> Observed:
    """The answers of the model, and the verdict. Stores nothing.

    Raises:
        JudgeFault: this machine is at fault.
    """
    if isinstance(target.image, SubmissionFault):
        refused = target.image
        return Observed(
            End(
                owner=attempt.process,
                ended=utc_now(),
                verdict=refused.verdict,
                sentence=refused.sentence,
                phase=Phase.START,
                origin=target.origin,
            )
        )
    # From here to the end of the session only the structures of the data set are read.
    with kind_at_fault(unit):
        structures = load_structures(place.data / unit.task.dataset)
        _check_correction(unit, structures)
    prefix, run_dir = unit.prefix, target.driver.run_dir.root
    file = checkpoint_of(run_dir, prefix, unit.submission.id, target.origin.hardware)
    checkpoint = MovingCheckpoint(file, place.store, prefix, attempt.n)
    secret = secret_of(unit, structures, place)
    session = _UnitSession(unit, target, target.image, structures, progress, checkpoint, place, secret)
    try:
        outcome = session.outcome()
    except BaseException:
        checkpoint.leave()
        raise
    check_gpu(target)
    peaks = Peaks(wall_s=outcome.wall_s, startup_s=outcome.startup_s, memory_bytes=outcome.memory_bytes)
    end = End(
        owner=attempt.process,
        ended=utc_now(),
        verdict=outcome.verdict,
        sentence=outcome.sentence,
        phase=outcome.phase,
        peaks=peaks,
        resumed=session.resumed,
        origin=target.origin,
    )
    return Observed(end, outcome.value, checkpoint)


def secret_of(unit: Unit, structures: Structures, place: UnitStorage) -> bytes:
    """The secret on which the questions depend; empty if everybody may know them.

    What a consistency check asks, and what a kind draws, must be unknown also where the structures are public.
    """
    draws = structures.hidden or isinstance(unit.kind, Rechecking) or unit.kind.traits.draws
    return order_secret(place.store) if draws else b""


@dataclass
class _UnitSession:
    """The sessions with a model in one attempt: one with all questions, and of some kinds a second one for a
    consistency check.

    Attributes:
        resumed: whether the observation went on from the checkpoint.
    """

    unit: Unit
    target: ExecutionTarget
    image: Image
    structures: Structures
    progress: Progress
    checkpoint: MovingCheckpoint
    place: UnitStorage
    secret: bytes = field(default=b"", repr=False)
    resumed: bool = field(default=False, init=False)

    def outcome(self) -> SessionOutcome[Observation]:
        """The outcome of the first session; of a kind that rechecks, of it and a second, fresh start together."""
        first = self._session(self._observe)
        kind = self.unit.kind
        if first.value is None or not isinstance(kind, Rechecking):
            return first
        before = first.value

        def recheck(remote: RemoteCalculator) -> Observation:
            judged = judged_answers(self.unit, self.place.store, self.place.data)
            watch = replace(self._watch(remote), judged=judged)
            return kind.recheck(before, self.structures, self.unit.parameters, self._model(remote), watch)

        second = self._session(recheck)
        if second.verdict is not Verdict.OK:
            second = second._replace(sentence=f"In the consistency check, after a fresh start: {second.sentence}")
        memory = [peak for peak in (first.memory_bytes, second.memory_bytes) if peak is not None]
        return second._replace(
            wall_s=first.wall_s + second.wall_s,
            startup_s=first.startup_s,
            memory_bytes=max(memory, default=None),
        )

    def _session(self, body: Callable[[RemoteCalculator], Observation]) -> SessionOutcome[Observation]:
        """The outcome of `body` with a fresh start of the model, which gets the whole time of the task."""

        def guarded(remote: RemoteCalculator) -> Observation:
            with kind_at_fault(self.unit):
                return body(remote)

        question = question_of(self.unit, self.target)
        return run_session(self.target.driver, self.image, self.unit.limits, question, guarded)

    def _observe(self, remote: RemoteCalculator) -> Observation:
        unit = self.unit
        watch = replace(self._watch(remote), checkpoint=self.checkpoint, resumed=self._mark_resumed)
        model = self._model(remote)
        try:
            if unit.shard:
                return observe_shard(unit.kind, self.structures, unit.parameters, model, watch, unit.shard)
            observation = unit.kind.observe(self.structures, unit.parameters, model, watch)
        except _OUR_OWN:
            self.checkpoint.remove()  # it may have caused the error: the next try starts without it
            raise
        return with_correction_noted(unit, observation)

    def _mark_resumed(self) -> None:
        self.resumed = True

    def _model(self, remote: RemoteCalculator) -> BatchCalculator:
        d3 = self.unit.correction.d3
        return DispersionCorrected(remote, d3.functional, d3.damping) if d3 else remote

    def _watch(self, remote: RemoteCalculator) -> Watch:
        return Watch(
            clock=time.monotonic,
            deadline=time.monotonic() + allowed_s(self.unit),
            progress=self.progress,
            echo=remote.echo,
            failed_share=self.unit.task.failed_share,
            secret=self.secret,
        )


def with_correction_noted(unit: Unit, observation: Observation) -> Observation:
    """`observation` with a note of the dispersion that was added to its answers."""
    d3 = unit.correction.d3
    if d3 is None:
        return observation
    return replace(observation, notes={**observation.notes, "dispersion": d3_in_words(d3.functional, d3.damping)})


def question_of(unit: Unit, target: ExecutionTarget) -> Question:
    """The settings with which the calculator is created."""
    return Question(unit.task.model_domain, unit.label_set, target.origin.device, target.gpu)


def check_gpu(target: ExecutionTarget) -> None:
    """Returns if the GPU still works. Called after every attempt: answers missing after a GPU died look like failures.

    Raises:
        JudgeFault: the GPU that the attempt ran on is no longer there.
    """
    if target.gpu and not still_has_gpu(target.gpu):
        remedy = f"GPU {target.gpu} was lost while a model ran on it: look at nvidia-smi and the kernel's log"
        raise JudgeFault(FaultCause.GPU, remedy, faulty_resource=f"gpu {target.gpu}")


def _check_correction(unit: Unit, structures: Structures) -> None:
    """Returns if the dispersion correction can be computed. Called before anything is started.

    Raises:
        ValueError: the correction that the data set states cannot be computed for its structures.
    """
    if unit.correction.d3 is not None:
        d3_parameters(unit.correction.d3.functional, unit.correction.d3.damping)
        check_elements(structures.frames)


def allowed_s(unit: Unit) -> float:
    """The time after which a task should end by itself: shortly before the session is cut off [s]."""
    task_s = unit.limits.task_s
    return task_s - min(30.0, 0.05 * task_s)


def fault_end(attempt: ClaimedAttempt, fault: JudgeFault, origin: Origin) -> End:
    """The end of an attempt that this machine spoilt."""
    return End(
        owner=attempt.process,
        ended=utc_now(),
        fault=fault.cause,
        sentence=fault.remedy,
        culprit=fault.faulty_resource,
        origin=origin,
    )


_OUR_OWN = (
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    LookupError,
    MemoryError,
    OSError,  # a file that is gone; a store or checkpoint that cannot be written raises a JudgeFault already
    RuntimeError,
)
# With these numbers an OSError is a fault of the disk, not of our code.
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)


@contextmanager
def kind_at_fault(unit: Unit) -> Iterator[None]:
    """Turns an error of our own code in a task kind, of a disk, or of a noisy host into a JudgeFault of this unit."""
    name = f"{unit.submission.id} {unit.name}"
    try:
        yield
    except HostTooNoisy as noisy:
        remedy = f"{name}: this host disturbs timings ({noisy}): let nothing else run on it meanwhile"
        raise JudgeFault(FaultCause.NOISY_HOST, remedy) from noisy
    except _OUR_OWN as error:
        text = " ".join(str(error).split())
        if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
            raise JudgeFault(FaultCause.DISK, f"{name}: {text}: free some space, or check the disk") from error
        remedy = f"{name}: {type(error).__name__}: {text}: see it with --debug"
        raise JudgeFault(FaultCause.MEASURE, remedy, faulty_resource=f"dataset {unit.task.dataset}") from error
