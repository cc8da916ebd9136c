"""The quickstart dataset of relaxed structures: crystals of metals by WIEN2k, and published vacancies.

- A crystal is perfect, at the volume of the all-electron calculation (`tasks.quickstart.crystals`), which is its
  reference, too: the task draws where relaxations begin.
- A vacancy is one atom less in 32. Its formation energy is E(31 atoms) − 31 E(atom of the crystal), both relaxed, atoms
  and cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from ase import Atoms

from tasks.datasets.card import Difference, Summand
from tasks.datasets.dataset import Dataset
from tasks.datasets.geometries import Geometries
from tasks.quickstart.crystals import PBE, crystal, wien2k
from tasks.quickstart.dataset import Named, dataset_of, stated_card


class Metal(NamedTuple):
    """An fcc metal with its vacancy formation energy by PBE [eV] (doi:10.1088/1367-2630/16/1/015018, table A1)."""

    element: str
    vacancy_ev: float


METALS = (
    Metal("Al", 0.61),
    Metal("Cu", 1.07),
    Metal("Ag", 0.68),
    Metal("Au", 0.40),
    Metal("Pd", 1.16),
    Metal("Pt", 0.61),
)


def build_relaxed_metals() -> Dataset:
    """A crystal, which is its own reference, and a vacancy, of each metal."""
    structures: list[Named] = []
    references: list[Atoms | None] = []
    differences = []
    for metal in METALS:
        start, perfect = len(structures), crystal(metal.element, wien2k(metal.element).v0)
        vacancy = perfect.repeat(2)[1:]
        structures.append(Named(metal.element, "fcc", perfect, metal.element))
        structures.append(Named(f"{metal.element} vacancy", "vacancy", vacancy, metal.element))
        references += [perfect, None]
        terms = (
            Summand(structure=start + 1, coefficient=1.0),
            Summand(structure=start, coefficient=-len(vacancy) / len(perfect)),
        )
        differences.append(
            Difference(
                id=f"{metal.element} vacancy formation",
                group="vacancy",
                cluster=metal.element,
                terms=terms,
                reference={PBE: metal.vacancy_ev},
            )
        )
    geometries = {PBE: geometries_of_atoms([entry.atoms for entry in structures], references)}
    return dataset_of(stated_card("relaxed-metals"), structures, geometries=geometries, differences=differences)


def geometries_of_atoms(structures: list[Atoms], references: list[Atoms | None]) -> Geometries:
    """The geometries of `references`, NaN for None."""
    pairs = list(zip(structures, references, strict=True))
    positions = [np.full((len(s), 3), np.nan) if r is None else r.positions for s, r in pairs]
    cells = [np.full((3, 3), np.nan) if r is None else r.cell.array for _, r in pairs]
    return Geometries(np.concatenate(positions), np.array(cells))
