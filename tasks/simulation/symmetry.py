"""The space group of a crystal."""

from __future__ import annotations

import spglib
from ase import Atoms


def space_group(atoms: Atoms, symprec: float) -> int:
    """The number of the space group within `symprec` [Å]; 0 if none is found."""
    found = symmetry(atoms, symprec)
    return 0 if found is None else int(found.number)


def symmetry(atoms: Atoms, symprec: float) -> spglib.SpglibDataset | None:
    """The symmetry of a crystal within `symprec` [Å]; None if none is found."""
    cell = (atoms.cell.array, atoms.get_scaled_positions(), atoms.numbers)
    try:
        return spglib.get_symmetry_dataset(cell, symprec=symprec)
    except spglib.SpglibError:
        return None
