"""The shift of energies for the penalised error: one under which failing does not improve the error.

With y the differences of energies per atom, X the shares of the elements in each frame, s one constant per element and
W the failure cost, the charge of s is Σ min(|y − X s|, W)^p, p = 2 for RMSE and 1 for MAE, with W^p for a failed frame.
The penalised error has the shift with the least charge among

    the least-squares fit (`tasks.structures.composition`), if all frames are answered;
    the candidates, for whose charge the frame with the largest error counts W, as one that failed does.

Each candidate depends on the answers to a set of frames alone (`tasks.metrics.shift_candidates`), and exists if all of
them are answered. The sets are the same for every model. So a model that answers more has each candidate that it would
have if it failed, and no frame is charged more. Hence no failure improves the error, up to rounding, for any answers.
If all frames have one composition, the candidate is the number with the least charge, which is found exactly.
Among the sets are all frames but one (up to `LEAVE_ONE_OUT_WORK`), to which the fit for RMSE is repeated without the
errors above W until it converges. So an absurd answer at one frame has the RMSE of a failure there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tasks.metrics.shift_candidates import N_DESCENT, N_WITHIN, descent, fits, frame_sets
from tasks.structures.frames import Float

SAME_COMPOSITION = 1e-12  # shares of an element that differ by less are equal
N_CENTRES = 8  # of the centres with the lowest costs: their costs are computed again without rounding of large sums
N_AT_ONCE = 10**6  # errors in memory


@np.errstate(over="ignore", invalid="ignore")  # of energies near the largest number, which are worth W
def penalised_errors(
    counts: Float, differences: Float, fit_charge: float, failure_cost: float, power: int
) -> Float | None:
    """(n,) |error| of each frame [eV/atom] under the shift of the penalised error; None: that of the least-squares fit.

    A frame that counts W has that error or a larger one; one that failed has NaN.

    Args:
        counts: (n, k) atoms of each element.
        differences: (n,) predicted minus reference [eV/atom], NaN where failed.
        fit_charge: Σ min(|error|, W)^power under the least-squares fit; not read where a frame failed.
        failure_cost: W [eV/atom].
        power: 2 for the root of the mean square, 1 for the mean.
    """
    answered = np.isfinite(differences)
    everything, best = bool(answered.all()), None
    least = fit_charge if everything else np.inf
    if least <= failure_cost**power or not answered.any():
        return None
    counts = counts[:, counts.any(axis=0)]
    shares = counts / counts.sum(axis=1, keepdims=True)
    x, y = shares[answered], differences[answered]
    for some in candidates(counts, shares, differences, failure_cost, power):
        charges = _charges(x, y, some, failure_cost, power, everything)
        if charges.min() < least:
            best, least = some[charges.argmin()], charges.min()
    if everything and best is not None:
        lower = descent(x[None], y[None], best[None], failure_cost, power, N_DESCENT)
        if _charges(x, y, lower, failure_cost, power, everything)[0] < least:
            best = lower[0]
    if best is None:
        return None
    errors = np.abs(differences - shares @ best)
    if everything:
        errors[errors.argmax()] = max(errors.max(), failure_cost)
    return np.asarray(errors)


def clipped_sum(errors: Float, failure_cost: float, power: int) -> float:
    """Σ min(|error|, W)^power of `errors` (n,), none of which failed."""
    return float((np.minimum(np.abs(errors), failure_cost) ** power).sum())


def candidates(counts: Float, shares: Float, differences: Float, failure_cost: float, power: int) -> Iterator[Float]:
    """(c, k) constants per element, some at a time; the first, zeros, depend on no answer."""
    answered, k = np.isfinite(differences), shares.shape[1]
    yield np.zeros((1, k))
    if np.ptp(shares, axis=0).max() < SAME_COMPOSITION:
        yield np.repeat(centres(differences[answered], failure_cost, power)[:, None], k, axis=1)
        return
    for rows in frame_sets(counts):
        usable = rows[answered[rows].all(axis=1)]
        if usable.size:
            n_steps = N_DESCENT if power == 2 and rows.shape[1] >= len(shares) - 1 else N_WITHIN
            yield fits(shares[usable], differences[usable], failure_cost, power, n_steps)


def _charges(x: Float, y: Float, constants: Float, failure_cost: float, power: int, everything: bool) -> Float:
    """(c,) the charge of the answered frames, of which the one with the largest error counts W if none failed."""
    charges = []
    for some in np.array_split(constants, -(-len(constants) * len(y) // N_AT_ONCE)):
        errors = y - some @ x.T
        np.minimum(np.abs(errors, out=errors), failure_cost, out=errors)
        largest = errors.max(axis=1) if everything else failure_cost
        sums = np.einsum("cn,cn->c", errors, errors) if power == 2 else errors.sum(axis=1)
        charges.append(sums + failure_cost**power - largest**power)
    return np.asarray(np.nan_to_num(np.concatenate(charges), nan=np.inf))


def centres(values: Float, failure_cost: float, power: int) -> Float:
    """(at most 8,) numbers c, among them the one with the least Σ min(|values − c|, W)^power.

    The values within W of c follow one another in their order. As c moves, that window changes where a value comes
    within W of it or leaves. For each window the sum is least at the mean (or median) of its values. Those without
    the first and without the last value are there for the least sum in which the value farthest off counts W.
    """
    y = np.sort(values)
    n = len(y)
    changes = np.sort(np.concatenate([y - failure_cost, y + failure_cost]))
    between = 0.5 * (changes[1:] + changes[:-1])
    low, high = np.searchsorted(y, between - failure_cost), np.searchsorted(y, between + failure_cost)
    proper = (low < high) & (high - low < n)
    ends = ([0, 0, 1], [n, n - 1, n]) if n > 1 else ([0], [1])
    low, high = np.append(low[proper], ends[0]), np.append(high[proper], ends[1])
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
