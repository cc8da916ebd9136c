"""The error of a question-only adversary in a task, over the task's baseline."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tasks.adversaries.family import ADVERSARIES, PublicFacts
from tasks.datasets.dataset import Dataset
from tasks.kind import Kind, Watch
from tasks.metrics.failure_cost import SMALLEST_BASELINE
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import ALL_PROPERTIES, Cause, Predictions, Properties


class AdversaryTask(NamedTuple):
    """A task in which an adversary is asked."""

    kind: Kind
    dataset: Dataset
    parameters: Any


class _Listener:
    """A `BatchCalculator` that keeps what it is asked, and answers nothing."""

    properties: Properties = ALL_PROPERTIES
    max_atoms_per_batch = 1 << 40

    def __init__(self) -> None:
        self.heard: list[Frames] = []

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.heard.append(frames)
        return Predictions.unanswered(frames, properties, Cause.UNSUPPORTED)


def public_facts(task: AdversaryTask) -> PublicFacts:
    """The structures of the task's data set, and the first questions about them without a secret."""
    listener, stored = _Listener(), task.dataset.frames
    task.kind.observe(task.dataset.structures, task.parameters, listener, Watch(time.monotonic))
    return PublicFacts(stored, Frames.concatenate(listener.heard) if listener.heard else stored.take([]))


def measured(task: AdversaryTask, adversary: str, secret: bytes = b"", facts: PublicFacts | None = None) -> Measurement:
    """What the task measures of an adversary, a key of `ADVERSARIES`.

    Args:
        secret: of the store.
        facts: as from `public_facts`, for a caller with many secrets.

    Raises:
        ValueError: kind, parameters and data set do not fit.
    """
    known = public_facts(task) if facts is None else facts
    model = InProcessCalculator(ADVERSARIES[adversary].make(known), domain=task.dataset.card.domain)
    watch = Watch(time.monotonic, secret=secret)
    observation = task.kind.observe(task.dataset.structures, task.parameters, model, watch)
    return task.kind.measure(observation, task.dataset, task.parameters, task.dataset.card.default_label_set)


def shares(measurement: Measurement) -> dict[str, float]:
    """By metric that has a baseline, the penalised value over it; a metric of one group alone is left out."""
    return {
        name: metric.charged / metric.baseline
        for name, metric in measurement.metrics.items()
        if metric.charged is not None
        and metric.baseline is not None
        and metric.baseline > SMALLEST_BASELINE
        and ":" not in name
    }


class MeanOverSecrets(NamedTuple):
    """The mean over secrets, with the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


def mean_over_secrets(values: Sequence[float]) -> MeanOverSecrets:
    """Student's interval of the mean of at least one value (Student, Biometrika 6, 1 (1908)); of one, a point."""
    from scipy.stats import t

    array: Float = np.asarray(values, np.float64)
    n, mean = len(array), float(array.mean())
    half = float(t.ppf(0.975, n - 1) * array.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    return MeanOverSecrets(mean, mean - half, mean + half)
