"""How often a quantity has which value, over frames, replicas, and bonds of a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Float

N_PARTS = 30


class DistributionRange(NamedTuple):
    """The values that a distribution covers."""

    low: float
    high: float

    @property
    def middles(self) -> Float:
        """(30,) the middles of its equal parts."""
        return self.low + (np.arange(N_PARTS) + 0.5) * (self.high - self.low) / N_PARTS


# By measure. Planarities [Å]; bond lengths less the reference [Å], so that bonds of all lengths have one axis.
RANGES: Mapping[str, DistributionRange] = {
    "planarity": DistributionRange(0.0, 0.3),
    "bond_length": DistributionRange(-0.3, 0.3),
}


def distribution(values: Sequence[Float], within: DistributionRange) -> Float:
    """(30,) the share of the values in each equal part of the range [%]; what lies beyond is in the first or last."""
    together = np.concatenate([np.ravel(each) for each in values])
    counts, _ = np.histogram(np.clip(together, within.low, within.high), N_PARTS, (within.low, within.high))
    return np.asarray(100.0 * counts / len(together))
