"""Observes one training: a container learns, and a fresh one with what it left answers. Then all are joined.

Labels of what is learned go into the first container; labels of what is asked go nowhere. What the first container
prints is not kept. A training that was interrupted is run again as a whole.
"""

from __future__ import annotations

import time
from dataclasses import replace

from judge.evaluation.observe import ExecutionTarget, UnitStorage, check_gpu, kind_at_fault, question_of
from judge.evaluation.plan import Unit
from judge.records.attempts import ClaimedAttempt, read_history
from judge.records.model_file import model_path, store_model
from judge.records.observation_file import read_observation, store_observation
from judge.records.records import End, Peaks
from sandbox.driver import Image
from sandbox.events import Event, emit
from sandbox.training import TrainedModel
from sandbox.verdict import SubmissionFault, Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome, run_session
from sandbox.wire.training import TrainingOrder, run_training
from submissions.records import utc_now
from submissions.store.interface import Store
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.kind import Observation, Watch
from tasks.learning.training import FailedTraining, Training, TrainingFrames, joined, training_frames
from tasks.learning.training_folder import labels_of, write_training_folder
from tasks.observing.frames_observation import observe_frames
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Properties

ASKED: Properties = ("energy", "forces")
_CAUSES = {
    Verdict.UNSUPPORTED: Cause.UNSUPPORTED,
    Verdict.NON_FINITE: Cause.NON_FINITE,
    Verdict.WRONG_SHAPE: Cause.WRONG_SHAPE,
    Verdict.TIME_LIMIT: Cause.OVER_TIME,
    Verdict.STARTUP_TIMEOUT: Cause.OVER_TIME,
    Verdict.MEMORY_LIMIT: Cause.OUT_OF_MEMORY,
    Verdict.GPU_MEMORY_LIMIT: Cause.OUT_OF_MEMORY,
}


def observe_training(
    unit: Unit, training: Training, target: ExecutionTarget, place: UnitStorage, attempt: ClaimedAttempt
) -> End:
    """The end of the attempt, after a model was trained and asked. Model and answers are stored first, then the end.

    Raises:
        JudgeFault: this machine is at fault; the end is not written.
    """
    end = End(owner=attempt.process, ended=utc_now(), origin=target.origin)
    if isinstance(target.image, SubmissionFault):
        end = end.model_copy(update={"verdict": target.image.verdict, "sentence": target.image.sentence})
    else:
        end = _ended(end, unit, training, target, target.image, place)
    end = end.model_copy(update={"ended": utc_now()})
    attempt.write_end(end)
    return end


def _ended(end: End, unit: Unit, training: Training, target: ExecutionTarget, image: Image, place: UnitStorage) -> End:
    with kind_at_fault(unit):
        dataset = load_dataset(place.data / unit.task.dataset)
        frames = training_frames(dataset, training)
        labels_of(dataset.frames, dataset.labels(unit.measured_label_set), frames.learned)
    trained = _train(unit, training, target, image, dataset, frames)
    check_gpu(target)
    if trained.value is None:
        return end.model_copy(update=_fields(trained))
    model = store_model(place.store, trained.value)
    emit(Event.MODEL_STORED, unit=unit.prefix, key=model_path(model))
    answered = ask_trained(unit, target, image, trained.value, dataset.frames.take(frames.asked))
    check_gpu(target)
    fields = {**_fields(answered), "model": model}
    if answered.value is None:
        fields["sentence"] = f"{trained.sentence} Its model then failed: {answered.sentence}"
    else:
        digest = store_observation(place.store, answered.value)
        emit(Event.OBSERVATION_STORED, unit=unit.prefix, key=digest)
        fields |= {"observation": digest, "sentence": trained.sentence}
    return end.model_copy(update=fields)


def _train(
    unit: Unit,
    training: Training,
    target: ExecutionTarget,
    image: Image,
    dataset: Dataset,
    frames: TrainingFrames,
) -> SessionOutcome[TrainedModel]:
    order = TrainingOrder(
        lambda folder: write_training_folder(dataset, frames.learned, unit.measured_label_set, folder),
        training.wall_s,
        training.seed,
    )
    return run_training(target.driver, image, unit.limits, question_of(unit, target), order)


def ask_trained(
    unit: Unit, target: ExecutionTarget, image: Image, model: TrainedModel, frames: Frames
) -> SessionOutcome[Observation]:
    """The outcome of a fresh container with `model`, which was asked about `frames`."""

    def ask(remote: RemoteCalculator) -> Observation:
        deadline = time.monotonic() + unit.limits.task_s
        watch = Watch(clock=time.monotonic, deadline=deadline, failed_share=unit.task.failed_share)
        with kind_at_fault(unit):
            return observe_frames(frames, ASKED, remote, watch)

    question = question_of(unit, target)._replace(has_model=True)
    return run_session(target.driver, image, unit.limits, question, ask, model.place)


def _fields(outcome: SessionOutcome[TrainedModel] | SessionOutcome[Observation]) -> dict[str, object]:
    peaks = Peaks(wall_s=outcome.wall_s, startup_s=outcome.startup_s, memory_bytes=outcome.memory_bytes)
    return {"verdict": outcome.verdict, "sentence": outcome.sentence, "phase": outcome.phase, "peaks": peaks}


def join_trainings(unit: Unit, target: ExecutionTarget, place: UnitStorage, attempt: ClaimedAttempt) -> End:
    """The end of a unit whose trainings have all ended: their answers as one observation."""
    answers = {part.training.name: _answers(part, place.store) for part in unit.parts if part.training}
    digest = store_observation(place.store, joined(answers))
    emit(Event.OBSERVATION_STORED, unit=unit.prefix, key=digest)
    end = End(
        owner=attempt.process,
        ended=utc_now(),
        verdict=Verdict.OK,
        sentence="Completed.",
        observation=digest,
        parts=unit.part_keys,
        origin=target.origin,
    )
    attempt.write_end(end)
    return end


def _answers(part: Unit, store: Store) -> Observation | FailedTraining:
    end = read_history(store, part.prefix).end
    if end is None or end.observation is None:
        verdict, sentence = (end.verdict, end.sentence) if end else (None, "")
        return FailedTraining(_CAUSES.get(verdict or Verdict.CRASHED, Cause.ERROR), sentence)
    return replace(read_observation(store, end.observation), notes={})
