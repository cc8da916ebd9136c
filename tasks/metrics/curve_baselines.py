"""The baselines of equations of state: how far PBE lies from experiment, or a constant from the references.

No trivial model has a volume, so the scale is how far the PBE reference itself lies from experiment: the median
deviation over the 58 elemental crystals for which ASE's `ase.collections.dcdft` has both (WIEN2k: K. Lejaeghere et al.,
Crit. Rev. Solid State Mater. Sci. 39, 1 (2014), doi:10.1080/10408436.2013.772503). A model farther than this from PBE
says less about a crystal than PBE does.

Of B0 and B0′ there is a trivial model: one number for all crystals. B0′ of most crystals is 4 to 5, so that a constant
may come closer to the references than PBE to experiment. Then the error of the best constant is the baseline: of B0′
the median of the references, of B0, whose errors are relative, their median weighted by 1/B0. It minimises the mean
error, so no other constant has a lower one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tasks.datasets.card import CurveReference
from tasks.datasets.dataset import Dataset
from tasks.structures.frames import Float

# By metric: its unit, and the median deviation of WIEN2k's PBE from experiment as above.
BASELINES = {
    "v0_mae_percent": ("%", 3.16),
    "b0_mae_percent": ("%", 12.7),
    "b0_prime_mae": ("", 0.638),
}
# With fewer curves, a constant that is fitted to them comes too close.
LEAST_CURVES = 5
PERCENT = 100.0
ROUNDING = 1e-9


def constant_errors(references: Sequence[CurveReference]) -> dict[str, float]:
    """By metric, the mean absolute error of the best constant, with which a model needs no chemistry.

    Empty for fewer than five curves.
    """
    if len(references) < LEAST_CURVES:
        return {}
    b0, b0_prime = np.array([[r.b0_gpa, r.b0_prime] for r in references]).T
    return {
        "b0_mae_percent": PERCENT * float(np.abs(weighted_median(b0, 1 / b0) / b0 - 1).mean()),
        "b0_prime_mae": float(np.abs(np.median(b0_prime) - b0_prime).mean()),
    }


def weighted_median(values: Float, weights: Float) -> float:
    """The one of `values` (k,) to which the sum of weighted distances is smallest."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])


def curve_baselines(references: Sequence[CurveReference]) -> dict[str, float]:
    """By metric, its baseline for curves with these references.

    A constant without any error (all references are the same) is left out.
    """
    errors = constant_errors(references)
    return {name: min(scale, errors.get(name) or scale) for name, (_, scale) in BASELINES.items()}


def stated_baseline_faults(dataset: Dataset) -> list[str]:
    """A line for each baseline of the card that is larger than the error of a constant."""
    faults = []
    for name in dataset.card.label_sets:
        stated: Mapping[str, float] = dataset.baselines(name)
        for metric, error in constant_errors([curve.reference[name] for curve in dataset.table.curves]).items():
            if metric in stated and stated[metric] > error * (1 + ROUNDING):
                faults.append(
                    f"baselines.{name}.{metric}: {stated[metric]:.4g} is larger than the error of one constant for all "
                    f"crystals, {error:.4g}, which would pass for a model: leave it out, or state at most this"
                )
    return faults
