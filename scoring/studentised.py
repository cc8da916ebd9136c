"""Draws of a mean whose middle 95 % cover its true value, also for few clusters and for heavy tails.

The spread of resampled means is too small if clusters are few, or if a few of them hold most of the sum: then the
standard error is small wherever the mean is small. So each resample is studentised: its deviation is divided by its own
standard error and multiplied by that of the test set, and it is turned about the value, on a logarithmic scale (a logit
where the mean has a largest value). Middle and ends of such draws are those of the bootstrap-t interval.

A standard error is itself uncertain, the more so the heavier the tails, and then mostly too small. Here it is taken
one of its own standard errors higher.

Source: Davison and Hinkley, Bootstrap Methods and their Application, Cambridge 1997, sections 2.7.2 (variance of a
ratio), 5.2.1 (studentised intervals) and 5.2.2 (transformed scales).
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from scoring.tree import Float

SMALLEST_SPREAD = 1e-6
"""A resample with less than this share of the spread has, but for rounding, one value throughout."""
_NORMAL = 1.959963984540054  # the 97.5 % quantile of a normal distribution
_FARTHEST = 700.0  # exp(_FARTHEST) is about the largest number


class Totals(NamedTuple):
    """(B,) sums over the clusters drawn, of residuals u = sum − mean · count and of counts n.

    Args:
        u_n: None if all counts are equal; then neither this nor `n_n` is needed.
    """

    u: Float
    n: Float
    u_u: Float
    u_n: Float | None = None
    n_n: Float | None = None


def studentised(mean: float, residuals: Float, counts: Float, totals: Totals, limit: float) -> Float:
    """(B,) draws of the mean Σ sums / Σ counts; the mean itself where a resample has no item.

    All but the counts in one unit, such as the largest residual, so that no square is too large or too small.

    Args:
        mean: of the test set, finite.
        residuals: (C,) sum − mean · count of each cluster with items.
        counts: (C,) of these clusters, all positive.
        limit: the largest mean that is possible; inf if there is none. With a negative mean there is no scale, and
            deviations are taken as they are.
    """
    size, total = len(counts), counts.sum()
    squares = residuals**2
    spread = math.sqrt(squares.sum()) / total
    drawn = np.where(totals.n > 0, totals.n, 1.0)
    deviation = totals.u / drawn
    if totals.u_n is None or totals.n_n is None:
        u_n, n_n = counts[0] * totals.u, counts[0] * totals.n
    else:
        u_n, n_n = totals.u_n, totals.n_n
    squared = totals.u_u - 2.0 * deviation * u_n + deviation**2 * n_n
    spreads = np.sqrt(np.maximum(squared, 0.0)) / drawn
    varies = spreads > SMALLEST_SPREAD * spread
    scale = _Scale.of(mean, limit)
    centre = scale.to(mean)
    moved = np.where(varies, mean + deviation, mean)
    own = np.where(varies, spreads * scale.slope(moved), 1.0)
    constant = 0.0 if varies.all() else _wider_by(size) * deviation / spread
    t = np.where(varies, (scale.to(moved) - centre) / own, constant)
    kurtosis = size * (squares**2).sum() / squares.sum() ** 2
    raised = 1.0 + math.sqrt(max(kurtosis - 1.0, 0.0) / (4.0 * size))
    error = math.sqrt(size / (size - 1)) * raised * spread * scale.slope(mean)
    return np.where(totals.n > 0, scale.back(centre - error * t), mean)


def binomial_interval(share: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a probability, from the share of n items that failed.

    Of all numbers between 0 and 1 with the same mean, zeros and ones vary most. So the interval is also wide enough for
    the mean of other numbers, and no draw needs to lie outside. A resample that misses the few failed items has almost
    no standard error of its own; without these bounds, its draw would be the failure cost.

    Args:
        share: from 0 to 1.
        n: not necessarily an integer.

    Source: Clopper and Pearson, Biometrika 26, 404 (1934).
    """
    from scipy.special import betaincinv  # long to import

    failed = share * n
    low = betaincinv(failed, n - failed + 1, 0.025) if share > 0 else 0.0
    high = betaincinv(failed + 1, n - failed, 0.975) if share < 1 else 1.0
    return float(low), float(high)


@cache
def _wider_by(size: int) -> float:
    """The 97.5 % quantile of Student's t of `size` values over that of a normal distribution."""
    from scipy.special import stdtrit  # long to import, and rarely needed

    return float(stdtrit(size - 1, 0.975)) / _NORMAL


class _Scale(NamedTuple):
    """y ↦ log y; with a limit L, y ↦ log (y / (L − y)); for a negative mean y itself."""

    limit: float
    linear: bool

    @classmethod
    def of(cls, mean: float, limit: float) -> _Scale:
        return cls(limit, mean <= 0)

    def to(self, values: Float | float) -> Float:
        if self.linear:
            return np.asarray(values)
        positive = np.maximum(values, np.finfo(np.float64).tiny)
        if math.isinf(self.limit):
            return np.log(positive)
        return np.log(positive) - np.log(np.maximum(self.limit - positive, 1e-16 * self.limit))

    def slope(self, values: Float | float) -> Float:
        if self.linear:
            return np.ones(np.shape(values))
        positive = np.maximum(values, np.finfo(np.float64).tiny)
        if math.isinf(self.limit):
            return 1.0 / positive
        return 1.0 / positive + 1.0 / np.maximum(self.limit - positive, 1e-16 * self.limit)

    def back(self, values: Float) -> Float:
        if self.linear:
            return values
        grown = np.exp(np.clip(values, -_FARTHEST, _FARTHEST))
        return grown if math.isinf(self.limit) else self.limit * (grown / (1.0 + grown))
