"""The preflight's public structures. A model need not support all of them.

They obey the rules of test sets: every molecule states its charge and 2S+1, in `atoms.info` as a calculator gets them.
"""

from __future__ import annotations

import numpy as np
from ase import Atoms

SEED = 20_251
RATTLE = 0.05  # Å, standard deviation of each coordinate
CRYSTALS = ("copper crystal", "silicon crystal", "rock salt")
MOLECULES = ("ethanol", "water")
SLABS = ("platinum slab",)
IONS = ("hydroxide ion", "ammonium ion")
OPEN_SHELLS = ("methyl radical", "oxygen triplet")
STATED = (*IONS, *OPEN_SHELLS)  # molecules whose charge or 2S+1 is not that of most molecules


def public_structures() -> dict[str, Atoms]:
    """Small rattled structures, by name, of every kind in a suite."""
    from ase.build import bulk, fcc111  # it takes long to import

    structures = {
        "copper crystal": bulk("Cu", cubic=True),
        "silicon crystal": bulk("Si", cubic=True),
        "rock salt": bulk("NaCl", "rocksalt", a=5.64, cubic=True),
        "water": stated_molecule("H2O"),
        "ethanol": stated_molecule("CH3CH2OH"),
        "platinum slab": fcc111("Pt", (2, 2, 3), vacuum=6.0, periodic=True),
        "hydroxide ion": stated_molecule("OH", charge=-1),
        "ammonium ion": _ammonium(),
        "methyl radical": stated_molecule("CH3", multiplicity=2),
        "oxygen triplet": stated_molecule("O2", multiplicity=3),
    }
    rng = np.random.default_rng(SEED)
    for atoms in structures.values():
        atoms.positions += rng.normal(0.0, RATTLE, atoms.positions.shape)
    return structures


def stated_molecule(name: str, charge: int = 0, multiplicity: int = 1) -> Atoms:
    """A molecule of ASE with its charge [e] and 2S+1."""
    from ase.build import molecule  # it takes long to import

    return in_state(molecule(name), charge, multiplicity)


def in_state(atoms: Atoms, charge: int, multiplicity: int) -> Atoms:
    """`atoms` with nothing in `info` but its charge [e] and 2S+1."""
    atoms.info = {"charge": charge, "spin": multiplicity}
    atoms.set_initial_magnetic_moments(None)
    return atoms


def _ammonium() -> Atoms:
    """NH4+: a tetrahedron with N–H bonds of 1.03 Å."""
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    return in_state(Atoms("NH4", [[0, 0, 0], *(corners * 1.03 / np.sqrt(3.0))]), 1, 1)
