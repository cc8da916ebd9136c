"""What a failed item costs. One law: nothing that a model can do by failing improves its score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Float

# A failed item is charged as much as one that is off by this many times the trivial model's error.
COST_IN_BASELINES = 10.0
# Below this (in any unit here) the trivial model is exact up to rounding, and measures nothing.
SMALLEST_BASELINE = 1e-9


class ChargedMean(NamedTuple):
    """A mean over the items that succeeded (None: none did), and the mean with failures charged."""

    value: float | None
    charged: float


def failure_cost(metric: str, baseline: float) -> float:
    """W: what one failed item of `metric` is charged, and at which every error is clipped.

    The baseline is the trivial model's error over all items, not over the one that failed: of an item on which the
    trivial model happens to be right it is zero, and to fail there would cost nothing.

    Raises:
        ValueError: the baseline is zero or not finite, so that nothing can be held against it.
    """
    if not SMALLEST_BASELINE < baseline < np.inf:
        raise ValueError(f"{metric}: the baseline is {baseline:g}: state one under [baselines] in card.toml")
    return COST_IN_BASELINES * baseline


def charged_mean(sums: Float, counts: Float, cost: float) -> ChargedMean:
    """Mean over components, and the same with each item's mean clipped at `cost` and failed items charged `cost`.

    Args:
        sums: (k,) by item the sum over its components; NaN where it failed.
        counts: (k,) by item its components; 0: it does not take part.
        cost: of an item that failed, in the unit of the mean.
    """
    taking_part = counts > 0
    sums, counts = sums[taking_part], counts[taking_part]
    finite = np.isfinite(sums)
    value = float(sums[finite].sum() / counts[finite].sum()) if finite.any() else None
    return ChargedMean(value, float(charged_sums(sums, counts, cost).sum() / counts.sum()))


def charged_sums(sums: Float, counts: Float, cost: float) -> Float:
    """(k,) `sums` with each item's mean clipped at `cost` and failed items charged `cost`; 0 where `counts` is 0.

    Args:
        sums, counts, cost: as in `charged_mean`.
    """
    there = counts > 0
    mean = np.divide(sums, counts, out=np.zeros(len(sums)), where=there)
    # fmin takes the cost where the mean is NaN: NaN loses.
    return np.where(there, np.fmin(mean, cost) * counts, 0.0)
