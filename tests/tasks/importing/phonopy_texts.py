"""Files as phonopy writes them, with the forces of EMT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT
from phonopy import Phonopy
from phonopy.structure.atoms import PhonopyAtoms

FACE_CENTRED = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
DOUBLED = np.array([[2, 0, 0], [0, 2, 0], [0, 0, 2]])


def computed(atoms: Atoms, primitive: Any, calculator: Calculator | None = None, supercell: Any = DOUBLED) -> Phonopy:
    """`atoms` with the forces of EMT on phonopy's displaced supercells."""
    cell = PhonopyAtoms(symbols=atoms.get_chemical_symbols(), cell=atoms.cell.array, positions=atoms.positions)
    phonon = Phonopy(cell, supercell_matrix=supercell, primitive_matrix=primitive)
    phonon.generate_displacements(distance=0.01)
    displaced: Any = phonon.supercells_with_displacements
    forces = []
    for s in displaced:
        made = Atoms(numbers=s.numbers, positions=s.positions, cell=s.cell, pbc=True, calculator=calculator or EMT())
        forces.append(made.get_forces())
    phonon.forces = np.array(forces)
    return phonon


def copper() -> Phonopy:
    return computed(bulk("Cu", a=3.589826, cubic=True), FACE_CENTRED)


def text_of(phonon: Phonopy, folder: Path) -> str:
    """What `Phonopy.save` writes."""
    path = folder / "saved.txt"
    phonon.save(path, settings={"force_sets": True, "displacements": True})
    text = path.read_text()
    path.unlink()
    return text
