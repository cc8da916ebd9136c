"""The forms of an energy profile: what is measured of one scan, and the metrics over all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from tasks.datasets.card import Scan
from tasks.metrics.averages import Average
from tasks.metrics.contributions import baseline_column, stored_column
from tasks.structures.frames import Float
from tasks.structures.units import ENERGY_UNITS, SURFACE_UNITS

KCAL_PER_MOL, MJ_PER_M2 = ENERGY_UNITS["kcal/mol"], SURFACE_UNITS["mJ/m²"]
POINTS = 200
# A curve lower than this share of its total energies is their rounding in double precision.
ROUNDING = 1e-12


def torsion(scan: Scan, energy: Float, reference: Float) -> dict[str, float]:
    """Sums over the points of a scan, and its barrier, in kcal/mol.

    Args:
        energy, reference: (m,) [eV] from any zero; all NaN gives NaN in all but count and reference.
    """
    predicted, right = ((e - e.min()) / KCAL_PER_MOL for e in (energy, reference))
    error = predicted - right
    return {
        "count": 1.0,
        "n_points": float(len(error)),
        "abs_sum": float(np.abs(error).sum()),
        "sq_sum": float((error**2).sum()),
        "barrier": float(predicted.max()),
        "barrier_reference": float(right.max()),
        "barrier_error": float(predicted.max() - right.max()),
    }


def stacking_fault(scan: Scan, energy: Float, reference: Float) -> dict[str, float]:
    """Mean absolute errors of γ [mJ/m²] and of its normalised slope over a scan, and the maxima of γ [mJ/m²].

    Args:
        energy, reference: as in `torsion`.
    """
    curves, slopes = zip(*(gamma_curve(scan, e) for e in (energy, reference)), strict=True)
    return {
        "count": 1.0,
        "energy_error": float(np.abs(curves[0] - curves[1]).mean()),
        "slope_error": float(np.abs(slopes[0] - slopes[1]).mean()),
        "maximum": float(curves[0].max()),
        "maximum_reference": float(curves[1].max()),
    }


def gamma_curve(scan: Scan, energy: Float) -> tuple[Float, Float]:
    """(200,) γ [mJ/m²] along the scan, and (199,) the slopes between them of γ / max γ over x from 0 to 1."""
    from scipy.interpolate import PchipInterpolator  # it takes long to import

    if not np.isfinite(energy).all():
        return np.full(POINTS, np.nan), np.full(POINTS - 1, np.nan)
    gamma = (energy - energy.min()) / ((scan.area or np.nan) * MJ_PER_M2)
    x = np.array(scan.x)
    curve = PchipInterpolator(x, gamma)(np.linspace(x[0], x[-1], POINTS))
    if np.ptp(energy) <= ROUNDING * np.abs(energy).max():
        return curve, np.zeros(POINTS - 1)
    return curve, np.diff(curve) * (POINTS - 1) / curve.max()


def conformers(scan: Scan, energy: Float, reference: Float) -> dict[str, float]:
    """Mean absolute and root mean square error [kcal/mol] of energies above the most stable conformer of the reference.

    That conformer itself is among the points, with an error of zero.

    Args:
        energy, reference: as in `torsion`.
    """
    lowest = int(np.argmin(reference))
    predicted, right = ((e - e[lowest]) / KCAL_PER_MOL for e in (energy, reference))
    error = predicted - right
    return {
        "count": 1.0,
        "n_points": float(len(error)),
        "conformer_mae": float(np.abs(error).mean()),
        "conformer_rmse": float(np.sqrt((error**2).mean())),
        "spread_reference": float(np.ptp(right)),
    }


def interaction(scan: Scan, energy: Float, reference: Float) -> dict[str, float]:
    """Interaction energy [kcal/mol]: the extremum of a profile less its last point, each profile at its own extremum.

    Args:
        energy, reference: as in `torsion`.
    """
    extremum = np.min if scan.extremum == "minimum" else np.max
    predicted, right = (float(extremum(e) - e[-1]) / KCAL_PER_MOL for e in (energy, reference))
    return {
        "count": 1.0,
        "interaction": predicted,
        "interaction_reference": right,
        "interaction_error": predicted - right,
    }


class ScanMean(NamedTuple):
    """A metric that is a mean over scans or their points, with the columns that it is computed from.

    Args:
        counts: the components of each scan; `count` is one a scan.
        root: whether it is the root of a mean of squares.
    """

    name: str
    unit: str
    sums: str
    counts: str
    root: bool = False


class ScanForm(NamedTuple):
    """The columns of a scan from its energies and the reference's (m,) [eV], and its metrics.

    Args:
        fewest: points of a scan.
    """

    evaluate: Callable[[Scan, Float, Float], dict[str, float]]
    means: tuple[ScanMean, ...]
    fewest: int = 2

    def averages(self, columns: Mapping[str, Float]) -> list[Average]:
        """The metrics from the columns of the items.

        Raises:
            ValueError: a column is missing.
        """
        return [
            Average(
                m.name,
                m.unit,
                np.abs(stored_column(columns, m.sums)),
                stored_column(columns, m.counts),
                root=m.root,
                baseline=columns.get(baseline_column(m.sums)),
            )
            for m in self.means
        ]


FORMS: Mapping[str, ScanForm] = {
    "energy": ScanForm(
        torsion,
        (
            ScanMean("profile_mae", "kcal/mol", "abs_sum", "n_points"),
            ScanMean("profile_rmse", "kcal/mol", "sq_sum", "n_points", root=True),
            ScanMean("barrier_mae", "kcal/mol", "barrier_error", "count"),
        ),
    ),
    "stacking_fault": ScanForm(
        stacking_fault,
        (
            ScanMean("energy_mae", "mJ/m²", "energy_error", "count"),
            ScanMean("slope_mae", "", "slope_error", "count"),
        ),
        fewest=3,
    ),
    "conformers": ScanForm(
        conformers,
        (
            ScanMean("conformer_mae", "kcal/mol", "conformer_mae", "count"),
            ScanMean("conformer_rmse", "kcal/mol", "conformer_rmse", "count"),
        ),
    ),
    "interaction": ScanForm(interaction, (ScanMean("interaction_mae", "kcal/mol", "interaction_error", "count"),)),
}
