"""Fields that may repeat a label: the free energy, the energies of the atoms. They repeat it only if they are equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tasks.structures.frames import Bool, Float

# In the file's unit of energy: texts of atoms' energies have eight decimals.
SAME_ENERGY, SAME_SHARE = 1e-5, 1e-9
KEYS = "--keys energy=free_energy"


def is_same(value: Float, label: Float) -> Bool:
    """(n,) whether values are equal to labels, but for their last decimals; never where one is missing (NaN)."""
    return np.asarray(np.abs(value - label) <= SAME_ENERGY + SAME_SHARE * np.abs(label))


def not_repeated(energy: Float, free_energy: Float, sum_of_energies: Float, *, stress_missing: bool) -> Counter[str]:
    """By field that repeats no label, the number of frames.

    Args:
        energy: (n,) labels, NaN where there is none; so of the others.
        stress_missing: whether these frames have stresses of their atoms, and no stress.
    """
    values = {"free_energy": free_energy, "energies": sum_of_energies}
    counts = {name: int((~np.isnan(value) & ~is_same(value, energy)).sum()) for name, value in values.items()}
    counts["stresses"] = len(energy) if stress_missing else 0
    return Counter({name: count for name, count in counts.items() if count})


def doubtful_free_energies(free_energy: Float, energy: Float, ids: Sequence[str], factor: float) -> list[str]:
    """A line where free energies are no repetition of energies.

    Args:
        free_energy, energy: (n,) in the file's unit, NaN where there is none.
        factor: from that unit to eV.
    """
    known = ~np.isnan(free_energy)
    alone = np.flatnonzero(known & np.isnan(energy))
    lines = []
    if alone.size:
        lines.append(
            f"energy: {ids[alone[0]]}: is missing, and free_energy is there ({alone.size} frames in all): if it is the "
            f"label, say {KEYS}"
        )
    gap = np.where(known & ~np.isnan(energy) & ~is_same(free_energy, energy), np.abs(free_energy - energy), 0.0)
    if gap.any():
        worst = int(np.argmax(gap))
        lines.append(
            f"energy: {ids[worst]}: differs from free_energy by {gap[worst] * factor:.4g} eV "
            f"({np.count_nonzero(gap)} frames in all): forces of electrons at a temperature belong to the free energy: "
            f"if it is meant, say {KEYS}"
        )
    return lines
