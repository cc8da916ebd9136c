"""A task run once with a model that fails at everything: do kind, parameters and data set fit each other at all?"""

from __future__ import annotations

import time

import numpy as np

from tasks.datasets.dataset import Dataset
from tasks.kind import Kind, Parameters, Watch
from tasks.structures.frames import Frames
from tasks.structures.predictions import ALL_PROPERTIES, Cause, Predictions, Properties


class KnowsNothing:
    """A `BatchCalculator` to which every structure is unknown."""

    properties: Properties = ALL_PROPERTIES
    max_atoms_per_batch = 1 << 40

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        n, total = len(frames), len(frames.numbers)
        return Predictions(
            energy=np.full(n, np.nan),
            forces=np.full((total, 3), np.nan) if "forces" in properties else None,
            stress=np.full((n, 6), np.nan) if "stress" in properties else None,
            failure=np.full(n, Cause.UNSUPPORTED, np.int8),
        )


def rehearse(kind: Kind, dataset: Dataset, parameters: Parameters) -> None:
    """Observes with a model that knows nothing, and measures at each label set.

    Raises:
        ValueError: a condition, reference, unit or quantity that the kind needs is not there; one line.
    """
    observation = kind.observe(dataset.structures, parameters, KnowsNothing(), Watch(time.monotonic))
    for label_set in sorted(dataset.card.label_sets):
        kind.measure(observation, dataset, parameters, label_set)
