"""g(r) of runs, averaged over the replicas of a system, beside that of a reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.datasets.analysis import CurveLabel
from tasks.datasets.pair_analyses import (
    DrawnAnalysis,
    FirstPeakAnalysis,
    PairAnalysis,
    RadialDistributionRmseAnalysis,
)
from tasks.structures.frames import Float
from tasks.trajectories.radial_distribution import RadialBins, RadialDistribution, highest_peak, radial_distribution
from tasks.trajectories.trajectory import Trajectory


class PairCurve(NamedTuple):
    """(k,) each: distances [Å], g(r) of the model and of the reference, NaN where there is none.

    Args:
        also: further curves by name.
    """

    r: Float
    g: Float
    reference: Float
    also: tuple[tuple[str, Float], ...] = ()


def distribution_of(analysis: PairAnalysis, r_max: float, trajectories: Sequence[Trajectory]) -> RadialDistribution:
    """g(r) averaged over replicas; 1, that of an ideal gas, beyond half of the smallest box of the runs."""
    n_bins = max(1, int(r_max / analysis.bin_width + 1e-9))
    start = -analysis.bin_width / 2 if analysis.centred else 0.0
    bins = RadialBins(start, start + n_bins * analysis.bin_width, n_bins)
    each = [
        radial_distribution(trajectory, analysis.first, analysis.second, bins, beyond_half_cell=True)
        for trajectory in trajectories
    ]
    right = min(distribution.largest_right for distribution in each)
    g = np.mean([distribution.g for distribution in each], axis=0)
    beyond = each[0].r + analysis.bin_width / 2 > right * (1 + 1e-9)
    return each[0]._replace(g=np.where(beyond, 1.0, g), largest_right=right)


def first_peak(analysis: FirstPeakAnalysis, trajectories: Sequence[Trajectory]) -> float:
    """The r [Å] of the highest g(r) in the range; NaN if there is no pair in it.

    Raises:
        ValueError: no bin lies in the range.
    """
    distribution = distribution_of(analysis, analysis.up_to, trajectories)
    inside = (distribution.r > analysis.above) & (distribution.r <= analysis.up_to)
    if not inside.any():
        raise ValueError(f"no bin of {analysis.bin_width:g} Å between above and up_to: widen them")
    if not distribution.g[inside].max() > 0:
        return np.nan
    return highest_peak(distribution, analysis.above, analysis.up_to)


def curves(analysis: DrawnAnalysis, trajectories: Sequence[Trajectory], label_set: str) -> PairCurve:
    """g(r), and the reference and further curves at its distances.

    Raises:
        ValueError: the reference has no point up to `r_max`.
    """
    label = analysis.reference[label_set]
    r, g, *_ = distribution_of(analysis, analysis.r_max, trajectories)
    reference = _at(r, label)
    if not np.isfinite(reference).any():
        raise ValueError(f"reference: has no point up to r_max, {analysis.r_max:g} Å")
    return PairCurve(r, g, reference, tuple((name, _at(r, other)) for name, other in analysis.also.items()))


def _at(r: Float, curve: CurveLabel) -> Float:
    return np.asarray(np.interp(r, curve.x, curve.y, left=np.nan, right=np.nan))


def at_points(analysis: RadialDistributionRmseAnalysis, drawn: PairCurve, label_set: str) -> PairCurve:
    """g(r) at the points of the reference in the range, between whose values lines are drawn.

    Args:
        drawn: of `curves`.
    """
    label = analysis.reference[label_set]
    x, y = np.array(label.x), np.array(label.y)
    inside = (x > analysis.above) & (x < analysis.up_to)
    return PairCurve(x[inside], np.interp(x[inside], drawn.r, drawn.g), y[inside])
