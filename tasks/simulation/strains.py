"""Strained cells of a crystal, and the elastic tensor and the moduli from their stresses. Pure functions.

Strains are Green–Lagrange strains E = (FᵀF − 1)/2 of a deformation x → F x with F upper triangular, and stresses are
Cauchy stresses, as a calculator gives them: the definitions of matcalc 0.7.0 and LAMBench (elastic.py at commit
09304fc), whose strains are finite (0.06 in shear). In the limit of small strains about a cell without stress the choice
makes no difference.

Six-component strains are (xx, yy, zz, 2yz, 2xz, 2xy), with the factor of two of engineering shear; stresses are in
ASE's order (xx, yy, zz, yz, xz, xy), positive in tension. So σ = C e, and C44 is σ_yz over 2 E_yz.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from ase import Atoms

from tasks.structures.frames import Float

# A stiffness below this share of the largest is rounding: the crystal yields to that strain.
SMALLEST_STIFFNESS = 1e-9


class Moduli(NamedTuple):
    """Bulk and shear modulus of a polycrystal, in the unit of the elastic tensor."""

    k_voigt: float
    k_reuss: float
    g_voigt: float
    g_reuss: float

    @property
    def k_vrh(self) -> float:
        """Hill's mean of the two bounds of the bulk modulus."""
        return (self.k_voigt + self.k_reuss) / 2

    @property
    def g_vrh(self) -> float:
        """Hill's mean of the two bounds of the shear modulus."""
        return (self.g_voigt + self.g_reuss) / 2


def voigt_strains(normal: Sequence[float], shear: Sequence[float]) -> Float:
    """(s, 6) strains of one component each: zero first, then xx by each of `normal`, …, xy by each of `shear`.

    Args:
        shear: components E_yz = E_zy of the tensor: half of those in the six-component vector.
    """
    rows = [np.zeros(6)]
    for component in range(6):
        for amount in normal if component < 3 else shear:
            row = np.zeros(6)
            row[component] = amount if component < 3 else 2 * amount
            rows.append(row)
    return np.array(rows)


def deformation(strain: Float) -> Float:
    """(3, 3) the upper triangular F with (FᵀF − 1)/2 the tensor of `strain` (6,)."""
    xx, yy, zz, yz, xz, xy = strain
    green_lagrange = np.array([[xx, xy / 2, xz / 2], [xy / 2, yy, yz / 2], [xz / 2, yz / 2, zz]])
    return np.linalg.cholesky(np.eye(3) + 2 * green_lagrange).T


def strained(atoms: Atoms, strain: Float) -> Atoms:
    """`atoms` with cell and positions deformed alike by `strain` (6,)."""
    deformed: Atoms = atoms.copy()
    # Rows of the cell are its vectors: a → F a is cell → cell Fᵀ.
    deformed.set_cell(atoms.cell.array @ deformation(strain).T, scale_atoms=True)
    return deformed


def elastic_tensor(strains: Float, stresses: Float) -> Float:
    """(6, 6) the symmetric part of C in the best fit of σ = σ₀ + C e.

    Args:
        strains: (s, 6) of voigt_strains.
        stresses: (s, 6) in any unit.
    """
    # σ₀ is fitted as well, so that the stress that a relaxation leaves does not count as a response.
    columns = np.column_stack([np.ones(len(strains)), strains])
    slopes = np.linalg.lstsq(columns, stresses, rcond=None)[0][1:]
    return np.asarray((slopes + slopes.T) / 2)


def is_stable(tensor: Float) -> bool:
    """Whether every strain costs energy (Born's condition): all eigenvalues of `tensor` (6, 6) are positive.

    Source: F. Mouhat and F.-X. Coudert, Phys. Rev. B 90, 224104 (2014), doi:10.1103/PhysRevB.90.224104.
    """
    stiffnesses = np.linalg.eigvalsh(tensor)
    return bool(stiffnesses[0] > SMALLEST_STIFFNESS * abs(stiffnesses[-1]))


def moduli(tensor: Float) -> Moduli:
    """Voigt's and Reuss's bounds from the elastic `tensor` (6, 6) of a stable crystal, in its unit.

    Source: R. Hill, Proc. Phys. Soc. A 65, 349 (1952), doi:10.1088/0370-1298/65/5/307; written out for any symmetry in
    M. de Jong et al., Sci. Data 2, 150009 (2015), doi:10.1038/sdata.2015.9.
    """
    c_diagonal, c_mixed, c_shear = _sums(tensor)
    s_diagonal, s_mixed, s_shear = _sums(np.asarray(np.linalg.inv(tensor), np.float64))
    return Moduli(
        k_voigt=(c_diagonal + 2 * c_mixed) / 9,
        k_reuss=1 / (s_diagonal + 2 * s_mixed),
        g_voigt=(c_diagonal - c_mixed + 3 * c_shear) / 15,
        g_reuss=15 / (4 * (s_diagonal - s_mixed) + 3 * s_shear),
    )


def _sums(m: Float) -> tuple[float, float, float]:
    """m11 + m22 + m33, m12 + m13 + m23 and m44 + m55 + m66."""
    return float(m[0, 0] + m[1, 1] + m[2, 2]), float(m[0, 1] + m[0, 2] + m[1, 2]), float(m[3, 3] + m[4, 4] + m[5, 5])
