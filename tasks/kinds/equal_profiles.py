"""Energy profiles of a model without chemistry: flat ones, or the same humps for all scans.

A model that gets the structures of a scan can put them in order, since neighbours are alike. So it can answer one, two
or three humps over the scan, of one height, whatever the atoms are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tasks.datasets.card import Scan
from tasks.kinds.scan_forms import FORMS, MJ_PER_M2
from tasks.metrics.constant_baseline import FEWEST_REFERENCES, ROUNDING
from tasks.structures.frames import Float

N_HUMPS, PHASES = (1, 2, 3), (0.0, 0.5)
# In steps of a third. A dip is a hump whose height is negative.
HEIGHTS = np.geomspace(0.005, 1.5, 21)  # eV
FAULT_HEIGHTS = np.geomspace(20.0, 3000.0, 19)  # mJ/m²

Table = Mapping[str, Float]


def table_of(rows: Sequence[Mapping[str, float]]) -> dict[str, Float]:
    """By name, (k,) the values of the rows of k scans."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def trivial_tables(quantity: str, scans: Sequence[Scan], references: Sequence[Float]) -> list[Table]:
    """The columns of all trivial models, the flat one first; of fewer than four scans that one alone.

    The order of conformers tells nothing, so that of them there is no other.

    Args:
        references: (m,) [eV] of each scan.
    """
    profiles = [[np.zeros(len(reference)) for reference in references]]
    if len(scans) >= FEWEST_REFERENCES and quantity != "conformers":
        signs = (1.0, -1.0) if quantity == "interaction" else (1.0,)
        profiles += [
            [height * hump for height, hump in zip(heights, humps, strict=True)]
            for humps in _humps(scans)
            for sign in signs
            for heights in (sign * _heights(quantity, scans))
        ]
    evaluate = FORMS[quantity].evaluate
    return [
        table_of([evaluate(*row) for row in zip(scans, energies, references, strict=True)]) for energies in profiles
    ]


def constants_off(barriers: Float, tolerance: float) -> list[Float]:
    """(k,) each: 1 where a barrier is off by more than the tolerance, for no barrier, then for one barrier for all.

    As many barriers as possible are within the tolerance of a constant if one of them is at the end of that range.
    """
    constants = [0.0]
    if len(barriers) >= FEWEST_REFERENCES:
        constants += (barriers + (1.0 - ROUNDING) * tolerance).tolist()
    return [(np.abs(barriers - constant) > tolerance).astype(np.float64) for constant in constants]


def smallest(errors: Sequence[Float]) -> Float:
    """The errors (k,) with the smallest sum, of those of all trivial models, the flat one first.

    A model that has all references up to rounding sets no scale.
    """
    sums = np.array([column.sum() for column in errors])
    sums[1:][sums[1:] <= ROUNDING * sums[0]] = np.inf
    return errors[int(np.argmin(sums))]


def _humps(scans: Sequence[Scan]) -> list[list[Float]]:
    """By shape, the humps over each scan, from 0 to 1."""
    places = [np.linspace(0.0, 1.0, len(scan.structures)) for scan in scans]
    return [[np.sin(np.pi * (n * place + phase)) ** 2 for place in places] for n in N_HUMPS for phase in PHASES]


def _heights(quantity: str, scans: Sequence[Scan]) -> Float:
    """(h, k) the heights [eV] for k scans."""
    if quantity != "stacking_fault":
        return np.repeat(HEIGHTS[:, None], len(scans), axis=1)
    return FAULT_HEIGHTS[:, None] * MJ_PER_M2 * np.array([scan.area for scan in scans], np.float64)
