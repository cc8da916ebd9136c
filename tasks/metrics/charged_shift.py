"""The shift of energies for the penalised error: one under which failing does not improve the error.

With y the differences of energies per atom of the answered frames, X the shares of the elements in each frame, s one
constant per element and W the failure cost, the cost of s is Σ min(|y − X s|, W)^p, p = 2 for RMSE and 1 for MAE. The
penalised error takes

    the cost of the least-squares fit (`tasks.structures.composition`), or, if this is lower,
    the least cost of any s, where the frame with the largest error counts W.

A model that fails at some frames pays W for each, and at best the least cost of the others. The second line offers the
same s to a model that answers, and asks W for one frame only. So the error of a model never improves when it fails at
more frames. The least-squares fit counts wherever no frame is worth W, as in any set without errors near W.

This is proved where the least cost is exact: if all frames have one composition or one element; and where the cost of
the fit is at most W^p, since one failure costs as much. With several constants it is the lowest cost that
`tasks.metrics.shift_search` finds.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tasks.metrics.shift_search import candidates
from tasks.structures.frames import Bool, Float

SAME_COMPOSITION = 1e-12  # shares of an element that differ by less are equal
N_CENTRES = 8  # of the centres with the lowest costs: their costs are computed again without rounding of large sums


def penalised_errors(shares: Float, differences: Float, fit: Float, failure_cost: float, power: int) -> Float | None:
    """(n,) |error| of each frame [eV/atom] under the shift of the penalised error; None: `fit` is that shift.

    A frame that counts W has that error or a larger one; one that failed has NaN.

    Args:
        shares: (n, k) the share of each element in the atoms of each frame.
        differences: (n,) predicted minus reference [eV/atom], NaN where failed.
        fit: (n,) the shift of the least-squares fit [eV/atom].
        failure_cost: W [eV/atom].
        power: 2 for the root of the mean square, 1 for the mean.
    """
    errors = differences - fit
    answered = np.isfinite(errors)
    limit = clipped_sum(errors[answered], failure_cost, power)
    if limit <= failure_cost**power:
        return None
    least = None
    for shift in _shifts(shares, errors, answered, failure_cost, power):
        shifted = np.abs(errors - shift)
        largest = np.nanargmax(shifted)
        shifted[largest] = max(shifted[largest], failure_cost)
        if (value := clipped_sum(shifted[answered], failure_cost, power)) < limit:
            least, limit = shifted, value
    return least


def clipped_sum(errors: Float, failure_cost: float, power: int) -> float:
    """Σ min(|error|, W)^power of `errors` (n,), none of which failed."""
    return float((np.minimum(np.abs(errors), failure_cost) ** power).sum())


def _shifts(shares: Float, errors: Float, answered: Bool, failure_cost: float, power: int) -> Iterable[Float | float]:
    """Shifts among which one has the least cost, each (n,) or the same for all frames [eV/atom]."""
    if np.ptp(shares[answered], axis=0).max() < SAME_COMPOSITION:
        return centres(errors[answered], failure_cost, power)
    return (shares @ constants for constants in candidates(shares, errors, answered, failure_cost, power))


def centres(values: Float, failure_cost: float, power: int) -> Float:
    """(at most 8,) numbers c, among them the one with the least Σ min(|values − c|, W)^power where one value counts W.

    The values within W of c follow one another in their order. As c moves, that window changes where a value comes
    within W of it or leaves. For each window the sum is least at the mean (or median) of its values. In place of the
    window of all values, which counts no value as W, there are those without the first and without the last.
    """
    y = np.sort(values)
    n = len(y)
    changes = np.sort(np.concatenate([y - failure_cost, y + failure_cost]))
    between = 0.5 * (changes[1:] + changes[:-1])
    low, high = np.searchsorted(y, between - failure_cost), np.searchsorted(y, between + failure_cost)
    proper = (low < high) & (high - low < n)
    low, high = np.append(low[proper], [0, 1]), np.append(high[proper], [n - 1, n])
    costs = _costs_within(y, low, high, failure_cost, power)
    best = np.argsort(costs, kind="stable")[:N_CENTRES]
    centre = np.mean if power == 2 else np.median
    return np.array([centre(y[low[i] : high[i]]) for i in best])


def _costs_within(y: Float, low: Float, high: Float, failure_cost: float, power: int) -> Float:
    """(w,) the cost of each window of the sorted `y` (n,) from index `low` to before `high`, with W for the others."""
    # No window spans a gap of 2 W. Values relative to the last gap are small, so that their sums lose no digits.
    gaps = np.concatenate([[True], np.diff(y) > 2 * failure_cost])
    near = y - y[np.maximum.accumulate(np.where(gaps, np.arange(len(y)), 0))]
    sums, squares = (np.concatenate([[0.0], np.cumsum(v)]) for v in (near, near**2))
    size, total = high - low, sums[high] - sums[low]
    outside = (len(y) - size) * failure_cost**power
    if power == 2:
        return np.asarray(squares[high] - squares[low] - total**2 / np.maximum(size, 1) + outside)
    middle = np.minimum((low + high) // 2, len(y) - 1)
    below = (middle - low) * near[middle] - (sums[middle] - sums[low])
    above = sums[high] - sums[middle] - (high - middle) * near[middle]
    return np.asarray(below + above + outside)
