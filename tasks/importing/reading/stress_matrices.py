"""Stresses that a file states as matrices of nine numbers: σ_ij and σ_ji are averaged, as ASE does, and compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ase.units import GPa

from tasks.structures.frames import Float

# xx, yy, zz, yz, xz, xy of nine components, by rows or by columns.
_VOIGT, _TRANSPOSED = [0, 4, 8, 5, 2, 1], [0, 4, 8, 7, 6, 3]
# Of the largest component, and [eV/Å³] (1.6 MPa): the rounding of what programs print.
ROUNDING_SHARE, ROUNDING = 1e-3, 1e-5


def voigt_stress(matrices: Float) -> Float:
    """(n, 6) the symmetric part of matrices (n, 9), in Voigt order xx, yy, zz, yz, xz, xy."""
    return np.asarray((matrices[:, _VOIGT] + matrices[:, _TRANSPOSED]) / 2)


def asymmetry(matrices: Float) -> Float:
    """(n,) the largest |σ_ij − σ_ji| of matrices (n, 9)."""
    return np.asarray(np.abs(matrices[:, _VOIGT] - matrices[:, _TRANSPOSED]).max(axis=1))


def doubtful_matrices(asymmetries: Float, stress: Float | None, names: Sequence[str]) -> list[str]:
    """At most one line: the frame whose stress is farthest from symmetric, and how many are not.

    Args:
        asymmetries: (n,) as from `asymmetry` [eV/Å³]; 0 without a matrix.
        stress: (n, 6) [eV/Å³].
    """
    if stress is None:
        return []
    bounds = np.maximum(ROUNDING, ROUNDING_SHARE * np.abs(np.nan_to_num(stress)).max(axis=1))
    beyond = np.flatnonzero(asymmetries > bounds)
    if not beyond.size:
        return []
    worst = int(beyond[np.argmax(asymmetries[beyond])])
    more = f" ({beyond.size} frames in all)" if beyond.size > 1 else ""
    size = f"{asymmetries[worst]:.4g} eV/Å³ ({asymmetries[worst] / GPa:.4g} GPa)"
    return [
        f"stress: {names[worst]}: σ_ij and σ_ji differ by up to {size}{more}, and were averaged, but a stress is "
        "symmetric: correct it, or leave it out: --without stress"
    ]
