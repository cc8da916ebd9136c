"""The third-order Birch–Murnaghan equation of state, and its fit as in the Delta project.

    E(V) = E0 + (9/16) V0 B0 { [(V0/V)^(2/3) − 1]³ B0' + [(V0/V)^(2/3) − 1]² [6 − 4 (V0/V)^(2/3)] }

which is a cubic polynomial in V^(−2/3), so that the fit is linear least squares. Source: F. Birch, Phys. Rev. 71, 809
(1947), doi:10.1103/PhysRev.71.809; the fit: K. Lejaeghere et al., Science 351, aad3000 (2016),
doi:10.1126/science.aad3000.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from ase.units import GPa

from tasks.structures.frames import Float

N_PARAMETERS = 4
# A minimum farther than this beyond the volumes is an extrapolation, not a measurement.
LOWEST, HIGHEST = 0.5, 1.5
# [GPa] The softest crystals, of noble gases and molecules, have about 1 GPa.
SMALLEST_B0 = 0.05
# Curves lower than this share of their energies are rounding: in double precision, and, if no smooth curve passes
# within a thousandth of their height, in single precision.
ROUNDING, SINGLE_ROUNDING, SMOOTH = 1e-12, 1e-6, 1e-3


class EquationOfState(NamedTuple):
    """The minimum of the energy, and the stiffness there.

    Args:
        v0: [Å³], of a cell or an atom, as the volumes.
        b0_gpa: bulk modulus [GPa].
        b0_prime: its pressure derivative.
        e0: energy at v0 [eV].
    """

    v0: float
    b0_gpa: float
    b0_prime: float
    e0: float = 0.0


def energy(volume: Float, eos: EquationOfState) -> Float:
    """E(V) [eV] at `volume` (k,) [Å³]."""
    x = (eos.v0 / volume) ** (2 / 3)
    return eos.e0 + 9 / 16 * eos.v0 * eos.b0_gpa * GPa * ((x - 1) ** 3 * eos.b0_prime + (x - 1) ** 2 * (6 - 4 * x))


def pressure(volume: Float, eos: EquationOfState) -> Float:
    """P(V) = −dE/dV [eV/Å³] at `volume` (k,) [Å³]; the stress in ASE's sign is −P."""
    x = (eos.v0 / volume) ** (1 / 3)
    return 1.5 * eos.b0_gpa * GPa * (x**7 - x**5) * (1 + 0.75 * (eos.b0_prime - 4) * (x**2 - 1))


def fit(volumes: Float, energies: Float) -> EquationOfState | None:
    """The equation of state through `energies` (k,) [eV] at `volumes` (k,) [Å³].

    None if there are fewer than four different volumes, if the energies differ by rounding alone, if the polynomial has
    no minimum between 0.5 times the smallest and 1.5 times the largest volume, if it bends down in the middle of the
    volumes, or if the bulk modulus is below 0.05 GPa.
    """
    if len(np.unique(volumes)) < N_PARAMETERS or not (np.isfinite(energies).all() and np.isfinite(volumes).all()):
        return None
    # Volumes in units of their mean keep the powers of x near 1.
    unit = float(np.mean(volumes))
    scaled = volumes / unit
    polynomial = np.polynomial.Polynomial.fit(scaled ** (-2 / 3), energies, 3, domain=[-1, 1], window=[-1, 1])
    if _is_rounding(energies, energies - polynomial(scaled ** (-2 / 3))):
        return None
    first, second, third = (polynomial.deriv(m) for m in (1, 2, 3))
    minimum = None
    for root in np.atleast_1d(first.roots()):
        if abs(root.imag) > 0 or not root.real > 0 or not second(root.real) > 0:
            continue
        v0 = float(root.real) ** -1.5
        if LOWEST * scaled.min() <= v0 <= HIGHEST * scaled.max():
            # A cubic term that vanishes, at B0' = 4, leaves few digits to the root: a step of Newton brings them back.
            minimum = float(root.real - first(root.real) / second(root.real))
    # d²E/dV² in the middle of the volumes, where x = 1: a curve that bends down there shows no minimum.
    if minimum is None or not 4 / 9 * second(1.0) + 10 / 9 * first(1.0) > 0:
        return None
    # d²E/dV² and d³E/dV³ at the minimum, where dE/dx = 0, with x = V^(−2/3).
    d2 = 4 / 9 * minimum**5 * second(minimum)
    d3 = -20 / 9 * minimum**6.5 * second(minimum) - 8 / 27 * minimum**7.5 * third(minimum)
    v0 = minimum**-1.5
    b0_gpa = float(v0 * d2) / unit / GPa  # V d²E/dV²
    if not b0_gpa >= SMALLEST_B0:
        return None
    return EquationOfState(v0 * unit, b0_gpa, float(-1 - v0 * d3 / d2), float(polynomial(minimum)))


def _is_rounding(energies: Float, residuals: Float) -> bool:
    """Whether energies (k,) that a smooth curve meets up to `residuals` (k,) [eV] differ by rounding alone."""
    height, size = float(np.ptp(energies)), float(np.abs(energies).max())
    is_smooth = np.sqrt(np.mean(residuals**2)) <= SMOOTH * height
    return height <= ROUNDING * size or (height <= SINGLE_ROUNDING * size and not is_smooth)
