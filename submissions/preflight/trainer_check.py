"""Tries a trainer for a short time on public frames: a container learns, and a fresh one answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sandbox.driver import Driver, Image, Question
from sandbox.limits import MIB, Limits
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from sandbox.wire.training import TrainingOrder, run_training
from submissions.preflight.trainer_data import THEORY, public_training_frames
from submissions.records import Check
from tasks.learning.training_folder import labels_of, write_frames
from tasks.structures.predictions import Predictions

TRAINED_S = 20.0  # that the trainer has, imports included
ASKED = 6  # of the frames are kept for the question
NAME = "learns"


class TrainerTrial(NamedTuple):
    """A row of the preflight, and what both containers printed."""

    check: Check
    printed: str


def try_trainer(driver: Driver, image: Image, limits: Limits, question: Question) -> TrainerTrial:
    """Whether the image's trainer leaves a model whose forces are better than none. It refuses no image.

    Raises:
        JudgeFault: the judge's machine failed.
    """
    frames, labels = public_training_frames()
    learned, asked = np.arange(len(frames) - ASKED), np.arange(len(frames) - ASKED, len(frames))
    order = TrainingOrder(
        lambda folder: write_frames(frames.take(learned), labels_of(frames, labels, learned), THEORY, folder),
        TRAINED_S,
        seed=1,
    )
    trained = run_training(driver, image, limits, question, order)
    if trained.value is None:
        return TrainerTrial(_row(False, f"{trained.verdict}: {trained.sentence}"), trained.private)
    reference = labels_of(frames, labels, asked).forces
    size = sum(map(len, trained.value.files.values())) / MIB
    left = f"{len(trained.value.files)} files of {size:.1f} MiB after {trained.wall_s:.0f} s"

    def ask(remote: RemoteCalculator) -> Predictions:
        return remote.compute(frames.take(asked), ("energy", "forces"))

    answered = run_session(driver, image, limits, question._replace(has_model=True), ask, trained.value.place)
    printed = "\n".join(filter(None, (trained.private, answered.private)))
    if answered.verdict is not Verdict.OK or answered.value is None:
        return TrainerTrial(_row(False, f"left {left}, but its model failed: {answered.sentence}"), printed)
    forces = answered.value.forces
    if forces is None or reference is None or not np.isfinite(forces).all():
        return TrainerTrial(_row(False, f"left {left}, but its model has no forces"), printed)
    error, baseline = np.abs(forces - reference).mean(), np.abs(reference).mean()
    found = f"left {left}; force MAE {error:.3g} eV/Å, of zero forces {baseline:.3g}"
    return TrainerTrial(_row(bool(error < baseline), found), printed)


def _row(passed: bool, value: str) -> Check:
    return Check(name=NAME, passed=passed, value=value)
