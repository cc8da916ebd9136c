"""The energy of two copies of a structure, which is twice that of one: else it is an energy per atom, for example.

Forces and stress that are derivatives of an energy per atom agree with it, so no other check shows the mistake.
"""

from __future__ import annotations

import numpy as np
from ase import Atoms

from submissions.preflight.batches import multiple
from submissions.preflight.probes import ENERGY_TOLERANCE, NOISE_MARGIN
from submissions.records import Check
from tasks.model.calculator import BatchCalculator
from tasks.structures.frames import Frames
from tasks.structures.known_mistakes import ENERGY_PER_ATOM

TWICE = "twice the size"


def twice_check(model: BatchCalculator, name: str, atoms: Atoms, noise: float) -> Check:
    """A row: whether two cells, or two molecules far apart, have twice the energy.

    Args:
        noise: largest difference between answers to one question [eV/atom].
    """
    passed, value = _finding(model, atoms, noise)
    return Check(name=f"{TWICE}, {name}", passed=passed, value=value)


def _finding(model: BatchCalculator, atoms: Atoms, noise: float) -> tuple[bool | None, str]:
    n, what = len(atoms), "cells" if atoms.pbc.any() else "molecules far apart"
    single, double = (
        float(model.compute(Frames.from_atoms([some]), ("energy",)).energy[0]) for some in (atoms, multiple(atoms, 2))
    )
    if not np.isfinite([single, double]).all():
        return None, "not measured: the model fails on two copies"
    error, tolerance = abs(double - 2.0 * single) / (2 * n), max(ENERGY_TOLERANCE, NOISE_MARGIN * noise)
    if error < tolerance:
        if tolerance > ENERGY_TOLERANCE:
            return None, "not measured: answers to one question differ as much"
        return True, f"two {what}: ΔE {error:.1g} eV/atom"
    if abs(double - single) / n < tolerance:
        return False, f"looks like {ENERGY_PER_ATOM}: two {what} have the energy of one, {single:.6g} eV"
    return False, f"two {what} have {double:.6g} eV, one has {single:.6g} eV: ΔE {error:.1g} eV/atom"
