"""S22, judged by whatever answers: molecules with charge 0 and 2S+1 = 1, as all judged molecules state theirs."""

from __future__ import annotations

import time

from tasks.kind import Watch
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import BatchCalculator
from tasks.quickstart.molecules import build_s22


def judge_s22(model: BatchCalculator) -> Measurement:
    """The measurement of the 22 interaction energies."""
    kind, dataset = KINDS["energy_differences"], build_s22()
    observation = kind.observe(dataset.structures, kind.parameters(), model, Watch(time.monotonic))
    return kind.measure(observation, dataset, kind.parameters(), dataset.label_set(None))
