"""F1 and RMSD over relaxed crystals, from a model's own predictions: the discovery part of Matbench Discovery.

A crystal is stable if its distance to the convex hull is at most 0 eV/atom. F1 is over unique prototypes; a crystal
without a prediction is predicted to be unstable. RMSD is over all crystals; one without a match counts 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

UNMATCHED = 1.0
Floats = NDArray[np.float64]


class Discovery(NamedTuple):
    """Both metrics; F1 is NaN if no crystal is stable, nor predicted to be."""

    f1: float
    rmsd: float


def discovery(reference: Floats, predicted: Floats, unique: NDArray[np.bool_], rmsd: Floats) -> Discovery:
    """The metrics over n crystals.

    Args:
        reference, predicted: (n,) distances to the hull [eV/atom]; a prediction may be NaN.
        unique: (n,) whether the crystal is the one of its prototype.
        rmsd: (n,) of the relaxed structure from the reference's, in units of (V/N)^(1/3); NaN without a match.
    """
    is_stable, said = reference[unique] <= 0.0, predicted[unique] <= 0.0  # false for NaN
    right = int(np.count_nonzero(is_stable & said))
    all_said = int(np.count_nonzero(is_stable)) + int(np.count_nonzero(said))
    f1 = 2.0 * right / all_said if all_said else np.nan
    return Discovery(f1, float(np.where(np.isfinite(rmsd), rmsd, UNMATCHED).mean()))


def hull_distances(reference: Floats, formation: Floats, reference_formation: Floats) -> Floats:
    """(n,) predicted distances to the hull of the reference, from formation energies; all in eV/atom."""
    return reference + formation - reference_formation
