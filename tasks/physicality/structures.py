"""The dataset *physicality*: small structures without labels, made from a seed.

Crystals of several elements and structure types, an alloy, ionic crystals, molecules and a slab, of elements that most
models know. All are rattled, and those that are periodic are strained, so that no force or stress is zero by symmetry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from ase import Atoms
from ase.build import add_adsorbate, bulk, fcc111, molecule
from ase.spacegroup import crystal

from tasks.datasets.card import Card, Table
from tasks.datasets.dataset import Dataset
from tasks.structures.frames import Frames
from tasks.structures.rotations import random_rotation

RATTLE = 0.05  # Å, standard deviation of each coordinate
STRAIN = 0.03  # largest component


PUBLIC_SINCE = "2026"  # the year in which this file published these procedural structures


class Recipe(NamedTuple):
    """A structure before it is rattled.

    Args:
        group: under which it is reported.
    """

    id: str
    group: str
    make: Callable[[np.random.Generator], Atoms]


def build_physicality(seed: int = 0, version: str = "1") -> Dataset:
    """The structures of `seed`, as physicality@`version`: another seed needs another version.

    The structures of the default seed are public: anybody can make them.
    """
    rng = np.random.default_rng(seed)
    structures = [_disturbed(recipe.make(rng), rng) for recipe in RECIPES]
    card = Card(
        name="physicality",
        version=version,
        title="Procedural structures for tests of physicality",
        domain="Inorganic Materials",
        periodic=False,
        licence="LGPL-2.1-or-later (ASE)",
        public_since="" if seed else PUBLIC_SINCE,
    )
    names = tuple(recipe.id for recipe in RECIPES)
    table = Table(id=names, group=tuple(recipe.group for recipe in RECIPES), cluster=names)
    return Dataset(card, Frames.from_atoms(structures), table, {})


def _disturbed(atoms: Atoms, rng: np.random.Generator) -> Atoms:
    if atoms.pbc.all():
        strain = rng.uniform(-STRAIN, STRAIN, (3, 3))
        atoms.set_cell(atoms.cell.array @ (np.eye(3) + (strain + strain.T) / 2.0), scale_atoms=True)
    else:
        atoms.positions = atoms.positions @ random_rotation(rng).T
    atoms.positions += rng.normal(0.0, RATTLE, atoms.positions.shape)
    return atoms


def _cubic(symbol: str, repeat: tuple[int, int, int] = (1, 1, 1)) -> Callable[[np.random.Generator], Atoms]:
    return lambda _: bulk(symbol, cubic=True).repeat(repeat)


def _rock_salt(formula: str, a: float) -> Callable[[np.random.Generator], Atoms]:
    return lambda _: bulk(formula, "rocksalt", a=a, cubic=True)


def _titanium(_: np.random.Generator) -> Atoms:
    atoms: Atoms = bulk("Ti").repeat((2, 2, 1))
    return atoms


def _rutile(_: np.random.Generator) -> Atoms:
    """TiO2 as measured by S. C. Abrahams and J. L. Bernstein, J. Chem. Phys. 55, 3206 (1971), doi:10.1063/1.1676569."""
    cell = [4.594, 4.594, 2.959, 90, 90, 90]
    atoms: Atoms = crystal(("Ti", "O"), [(0, 0, 0), (0.305, 0.305, 0)], spacegroup=136, cellpar=cell)
    return atoms


def _alloy(rng: np.random.Generator) -> Atoms:
    """A solid solution of three copper and one gold, on an fcc lattice of about its constant."""
    atoms: Atoms = bulk("Cu", "fcc", a=3.75, cubic=True).repeat((2, 2, 1))
    atoms.numbers[rng.permutation(len(atoms))[: len(atoms) // 4]] = 79
    return atoms


def _slab(_: np.random.Generator) -> Atoms:
    slab: Atoms = fcc111("Pt", (2, 2, 3), vacuum=6.0, periodic=True)
    add_adsorbate(slab, "O", 1.2, "fcc")
    slab.info.clear()
    slab.center(vacuum=6.0, axis=2)
    return slab


def _molecule(name: str) -> Callable[[np.random.Generator], Atoms]:
    def make(_: np.random.Generator) -> Atoms:
        atoms: Atoms = molecule(name)
        atoms.info["spin"] = 1
        return atoms

    return make


RECIPES = (
    Recipe("Al", "crystal", _cubic("Al")),
    Recipe("Cu", "crystal", _cubic("Cu", (2, 1, 1))),
    Recipe("Fe", "crystal", _cubic("Fe", (2, 2, 1))),
    Recipe("Ti", "crystal", _titanium),
    Recipe("Si", "crystal", _cubic("Si")),
    Recipe("Cu3Au", "alloy", _alloy),
    Recipe("NaCl", "ionic crystal", _rock_salt("NaCl", 5.64)),
    Recipe("MgO", "ionic crystal", _rock_salt("MgO", 4.21)),
    Recipe("TiO2", "ionic crystal", _rutile),
    Recipe("H2O", "molecule", _molecule("H2O")),
    Recipe("C2H5OH", "molecule", _molecule("CH3CH2OH")),
    Recipe("C6H6", "molecule", _molecule("C6H6")),
    Recipe("O/Pt(111)", "slab", _slab),
)
