"""Mistaken units of energies in MLIPAudit's files: eV, kcal/mol and hartree beside each other.

Total energies show their unit: by all-electron methods they are sums of energies of atoms, to less than 2 %. Relative
energies show it only in a whole file, by the median of their sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tasks.datasets.card import DatasetError
from tasks.structures.units import ENERGY_UNITS

# Energies of atoms [hartree] to four digits: exact ones to Cl (S. J. Chakravorty et al., Phys. Rev. A 47, 3649 (1993),
# doi:10.1103/PhysRevA.47.3649), Br by density functionals.
ATOMS: Mapping[str, float] = {
    "H": -0.5, "B": -24.65, "C": -37.84, "N": -54.59, "O": -75.07, "F": -99.73, "Si": -289.4, "P": -341.3, "S": -398.1,
    "Cl": -460.1, "Br": -2574.0,
}  # fmt: skip
SAME_TOTAL = 0.04
# A median of fewer differences says little about a unit.
MANY = 10


def check_total(energy: float, symbols: Sequence[str], unit: str, where: str) -> None:
    """A total energy has the unit that the file should have; energies that are no totals pass.

    Raises:
        DatasetError: it has another unit; the line begins with `where`.
    """
    of_atoms = sum(ATOMS.get(symbol, np.nan) for symbol in symbols) * ENERGY_UNITS["hartree"]
    for other, size in ENERGY_UNITS.items():
        if other != unit and abs(energy * size / of_atoms - 1) < SAME_TOTAL:
            raise DatasetError(
                f"{where}: {energy:.8g} is the energy of these atoms in {other}; the file must have {unit}: convert it"
            )


def check_sizes(sizes: Sequence[float], unit: str, largest: float, medians: tuple[float, float], where: str) -> None:
    """Relative energies are of the size that the unit gives them.

    Args:
        sizes: in `unit`.
        largest: that any can be.
        medians: between which the median of a whole file is.

    Raises:
        DatasetError: they are not; the line begins with `where`.
    """
    worst, median = max(sizes), float(np.median(sizes))
    if worst > largest:
        raise DatasetError(
            f"{where}: {worst:.4g} {unit} is impossible, above {largest:g}: another unit taken for {unit}? Convert it"
        )
    low, high = medians
    if len(sizes) >= MANY and not low < median < high:
        raise DatasetError(
            f"{where}: the median of {len(sizes)} is {median:.4g} {unit}, not between {low:g} and {high:g}: another "
            f"unit taken for {unit}? Convert them"
        )
