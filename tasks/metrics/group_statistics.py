"""Statistics of the order of values in groups: conformers of a molecule, polymorphs of a crystal, adsorption sites.

A group in which a member failed counts as the worst there is in a penalised value: its other members say nothing about
the place of the one that is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tasks.metrics.metric import Metric
from tasks.structures.frames import Float

GroupStatistic = Callable[[Float, Float], float | None]
"""Of predicted and reference values (k,); None: the group has no such number."""


def average_ranks(values: Float) -> Float:
    """(k,) the ranks of `values` from 1 on; equal values have the mean of their ranks."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[index])


def spearman(predicted: Float, reference: Float) -> float | None:
    """Spearman's rank correlation, with mean ranks for equal values; None if the reference has no order.

    Predictions that are all equal have no order, and are not correlated: 0.
    """
    ours, theirs = (average_ranks(values) for values in (predicted, reference))
    ours, theirs = ours - ours.mean(), theirs - theirs.mean()
    if not theirs.any():
        return None
    size = float(np.sqrt((ours @ ours) * (theirs @ theirs)))
    return float(ours @ theirs) / size if size else 0.0


def lowest_found(predicted: Float, reference: Float) -> float | None:
    """The share of the members predicted lowest that are lowest at the reference; None for one member.

    It is 1 or 0, or between them where several are predicted to be equally low.
    """
    if len(reference) < 2:
        return None
    chosen = predicted == predicted.min()
    return float((reference[chosen] == reference.min()).mean())


def highest_found(predicted: Float, reference: Float) -> float | None:
    """The share of the members predicted highest that are highest at the reference; None for one member."""
    return lowest_found(-predicted, -reference)


def ranking_error(predicted: Float, reference: Float) -> float | None:
    """1 − ½ × lowest found − ½ × highest found; None for one member."""
    lowest, highest = lowest_found(predicted, reference), highest_found(predicted, reference)
    return None if lowest is None or highest is None else 1.0 - 0.5 * lowest - 0.5 * highest


def lowest_at_reference(reference: Float, count: int) -> NDArray[np.int64]:
    """The indices of the `count` lowest of `reference` (k,), in the order of the values."""
    return np.argsort(reference, kind="stable")[:count]


def highest_at_reference(reference: Float, count: int) -> NDArray[np.int64]:
    """The indices of the `count` highest of `reference` (k,), in the order of the values."""
    return np.argsort(reference, kind="stable")[-count:]


def over_groups(
    statistic: GroupStatistic, groups: Sequence[tuple[Float, Float]], worst: float, scale: float = 1.0, unit: str = ""
) -> Metric | None:
    """The mean of a statistic over groups; None if no group has that number.

    Args:
        groups: predicted, NaN where a member failed, and reference values of each.
        worst: the number of a group with a failed member, in the penalised value.
    """
    values = []
    for predicted, reference in groups:
        # The reference in place of the predictions says whether the group has such a number at all.
        if statistic(reference, reference) is None:
            continue
        value = statistic(predicted, reference) if np.isfinite(predicted).all() else None
        values.append(np.nan if value is None else scale * value)
    return mean_with_worst(np.array(values), scale * worst, unit) if values else None


def mean_with_worst(values: Float, worst: float, unit: str = "") -> Metric:
    """The mean of `values` (k,), NaN where failed; in the penalised value a failed one is `worst`."""
    answered = np.isfinite(values)
    value = float(values[answered].mean()) if answered.any() else None
    charged = float(np.where(answered, values, worst).mean())
    return Metric(value, unit, len(values), int((~answered).sum()), charged)
