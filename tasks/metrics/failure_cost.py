"""The failure cost of an item. One law: a model never improves its score by failing.

A penalised mean clips the error of each item at the failure cost W, and counts W for an item that failed.
"""

from __future__ import annotations

import numpy as np

from tasks.structures.frames import Float

# A failed item costs this many times the trivial model's error.
COST_IN_BASELINES = 10.0
# Below this (in any unit here) the trivial model is exact up to rounding, and sets no scale.
SMALLEST_BASELINE = 1e-9


def failure_cost(metric: str, baseline: float) -> float:
    """W: the cost of one failed item of `metric`; errors are clipped at W, too.

    The baseline is the trivial model's error over all items, not that of the failed item: for an item on which the
    trivial model happens to be right the error is zero, and a failure would cost nothing.

    Raises:
        ValueError: the baseline is zero or not finite, so that errors cannot be compared with it.
    """
    if not SMALLEST_BASELINE < baseline < np.inf:
        raise ValueError(f"{metric}: the baseline is {baseline:g}: state one under [baselines] in card.toml")
    return COST_IN_BASELINES * baseline


def penalised_sums(sums: Float, counts: Float, cost: float) -> Float:
    """(k,) `sums` with the mean of each item clipped at `cost`, and `cost` where it failed; 0 where `counts` is 0.

    Args:
        sums: (k,) by item the sum over its components; NaN where it failed.
        counts: (k,) by item its components; 0: the item takes no part.
        cost: of an item that failed, in the unit of the mean.
    """
    takes_part = counts > 0
    mean = np.divide(sums, counts, out=np.zeros(len(sums)), where=takes_part)
    # fmin takes the cost where the mean is NaN: NaN loses.
    return np.where(takes_part, np.fmin(mean, cost) * counts, 0.0)
