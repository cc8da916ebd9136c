"""The compression of crystals by a model without chemistry: all have one bulk modulus.

It is asked about a crystal that begins at a drawn share of its volume, and takes this for the volume at zero pressure.
Its pressure derivative is 4.5, as of most crystals.
"""

from __future__ import annotations

import numpy as np
from ase.units import GPa

from tasks.simulation.birch_murnaghan import EquationOfState, pressure
from tasks.structures.frames import Float

DERIVATIVE = 4.5
MODULI_GPA = np.geomspace(5.0, 1000.0, 107)  # in steps of 5 %, which change a compression by a tenth of that
_SHARES = np.linspace(1.15, 0.15, 4001)  # of the volume at zero pressure, in the order of increasing pressure
_PRESSURES = pressure(_SHARES, EquationOfState(1.0, 1.0, DERIVATIVE)) / GPa  # at 1 GPa


def compressed(pressures_gpa: Float, bulk_modulus_gpa: float) -> Float:
    """(k,) the shares of the volume at zero pressure that are left at the pressures (k,)."""
    return np.asarray(np.interp(pressures_gpa / bulk_modulus_gpa, _PRESSURES, _SHARES))


def least_errors(volumes: Float, pressures_gpa: Float, references: Float, start_shares: Float) -> Float:
    """(k,) the mean error of the volume of each crystal by the bulk modulus with which they are least on average.

    Args:
        volumes: (k,) at zero pressure.
        references: (k,) volumes at the pressures (k,) [GPa], in the same unit.
        start_shares: (m,) equally likely shares of `volumes` at which the model is asked first.
    """
    starts = volumes[:, None] * start_shares
    errors = [
        np.abs(starts * compressed(pressures_gpa, modulus)[:, None] - references[:, None]).mean(axis=1)
        for modulus in MODULI_GPA
    ]
    return min(errors, key=lambda each: float(np.nanmean(each)))
