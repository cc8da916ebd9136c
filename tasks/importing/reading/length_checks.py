"""Doubtful lengths, compared with sums of covalent radii: nm or bohr taken for Å."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.structures.frames import Float

# In r_i + r_j. Bonds have 0.8 to 1.2 of it, atoms in rare gases up to 2.7, and thermal motion takes off a few per cent.
SHORTEST, FARTHEST = 0.45, 3.0
# Of half the structures. Å taken for bohr is 1.89 of what is meant, and bohr taken for Å the inverse.
DENSE_SET, SPARSE_SET = 0.62, 1.4


def doubtful_lengths(nearest: Float, ids: Sequence[str]) -> list[str]:
    """A line each for structures, or half of all, whose atoms are too near or too far from each other.

    Args:
        nearest: (n,) shortest distances in the sum of covalent radii, as from `tasks.importing.reading.nearest_atoms`.
    """
    lines = []
    near, far = np.flatnonzero(nearest < SHORTEST), np.flatnonzero(nearest > FARTHEST)
    if near.size:
        worst = int(near[np.argmin(nearest[near])])
        lines.append(
            f"positions: {ids[worst]}: a shortest distance of {nearest[worst]:.2f} times the sum of the covalent "
            f"radii{_more(near.size)} is less than {SHORTEST}: nm taken for Å, Å taken for bohr, or atoms that overlap?"
        )
    if far.size:
        lines.append(
            f"positions: {ids[int(far[0])]}: no two atoms{_more(far.size)} are within {FARTHEST:g} times the sum of "
            "their covalent radii: Å taken for nm, bohr taken for Å, or fragments far apart?"
        )
    middle = float(np.median(nearest[~np.isnan(nearest)])) if (~np.isnan(nearest)).any() else 1.0
    begin = (
        f"positions: half of the structures have shortest distances of {middle:.2f} times the sum of the covalent radii"
    )
    if middle < DENSE_SET and 2 * near.size < len(nearest):
        lines.append(f"{begin} and less: Å taken for bohr (1.89)?")
    if SPARSE_SET < middle <= FARTHEST:
        lines.append(f"{begin} and more: bohr taken for Å (1.89)?")
    return lines


def _more(n: int) -> str:
    return f" ({n} structures in all)" if n > 1 else ""
