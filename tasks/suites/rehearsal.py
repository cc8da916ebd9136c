"""A rehearsal: a run with a model that fails at everything shows whether kind, parameters and data set fit."""

from __future__ import annotations

import time

from tasks.datasets.dataset import Dataset
from tasks.kind import Kind, Parameters, Watch
from tasks.structures.frames import Frames
from tasks.structures.predictions import ALL_PROPERTIES, Cause, Predictions, Properties


class KnowsNothing:
    """A `BatchCalculator` that supports no structure."""

    properties: Properties = ALL_PROPERTIES
    max_atoms_per_batch = 1 << 40

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        return Predictions.unanswered(frames, properties, Cause.UNSUPPORTED)


def rehearse(kind: Kind, dataset: Dataset, parameters: Parameters) -> None:
    """Observes with such a model, and measures at each label set.

    Raises:
        ValueError: a condition, reference, unit or quantity that the kind needs is missing; one line.
    """
    observation = kind.observe(dataset.structures, parameters, KnowsNothing(), Watch(time.monotonic))
    for label_set in sorted(dataset.card.label_sets):
        kind.measure(observation, dataset, parameters, label_set)
