"""Structures, and sums of their energies with a reference, as importers collect them: most benchmarks are these.

Their files cannot state what is meant: sums that lack bare protons, and molecules without 2S+1, are taken as such and
shown as doubts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from ase import Atoms
from ase.data import ground_state_magnetic_moments

from tasks.datasets.card import Card, DatasetError, Difference, Summand, Table
from tasks.datasets.dataset import Dataset
from tasks.importing.checks.set_faults import balance_of, checked_set, guessed_multiplicities, without_protons
from tasks.importing.labelled_import import with_periodicity
from tasks.importing.reading.stated_states import stated_state
from tasks.model.states import lowest_spin
from tasks.structures.frames import MOMENTS, STATED_MOMENTS, Frames
from tasks.structures.predictions import Labels
from tasks.structures.units import Unit, unit_size

LEVEL = "reference"  # the label set until the card is known


class Sums:
    """Structures by name, and differences of their energies.

    Args:
        unit: of the references.
    """

    def __init__(self, unit: Unit = "kcal/mol") -> None:
        self.unit = unit
        self.structures: dict[str, Atoms] = {}
        self.groups: dict[str, str] = {}
        self.rows: list[Difference] = []
        self.guessed: list[str] = []  # molecules that state no 2S+1
        self.labels: Labels | None = None

    def structure(
        self, name: str, atoms: Atoms, charge: int | None = None, multiplicity: int | None = None, group: str = ""
    ) -> str:
        """Adds a structure, and returns its name. One that is there stays.

        Args:
            charge: [e]; None: as `info` of the atoms states it, else 0.
            multiplicity: 2S+1; None: as `info` states it, else the lowest that the number of electrons allows, of a
                molecule.

        Raises:
            DatasetError: the name is that of other atoms, or of another state.
        """
        stated_charge, stated_spin = stated_state(atoms.info, name)
        charge, spin = stated_charge if charge is None else charge, multiplicity or stated_spin
        if not (spin or atoms.pbc.any()):
            spin = lowest_spin(atoms.numbers, charge)
            if name not in self.structures:
                self.guessed.append(name)
        state = {"charge": charge, "spin": spin}  # as `Frames.from_atoms` reads 2S+1
        if name not in self.structures:
            copy = Atoms(atoms.numbers, atoms.positions, cell=atoms.cell, pbc=atoms.pbc)
            copy.info |= state
            if atoms.has(MOMENTS) and atoms.get_initial_magnetic_moments().any():
                copy.set_initial_magnetic_moments(atoms.get_initial_magnetic_moments())
                copy.info[STATED_MOMENTS] = True
            self.structures[name] = copy
            self.groups[name] = group
        first = self.structures[name]
        if not np.array_equal(first.numbers, atoms.numbers) or not state.items() <= first.info.items():
            raise DatasetError(f"{name}: is there twice, with other atoms or another state: give each its own name")
        return name

    def add(
        self,
        id: str,
        terms: Mapping[str, float],
        reference: float,
        *,
        group: str = "",
        cluster: str = "",
        quantity: str = "",
        area: float | None = None,
        weight: float | None = None,
        alternatives: Mapping[str, Sequence[str]] | None = None,
        unbalanced: bool = False,
    ) -> None:
        """Adds an item.

        Args:
            terms: coefficients by name of structure.
            reference: in the unit of the sums.
            alternatives: by a structure of the terms, others of which the lowest takes part.
            unbalanced: whether atoms or charges appear or vanish on purpose.
        """
        index = {name: i for i, name in enumerate(self.structures)}
        others = alternatives or {}
        summands = tuple(
            Summand(
                structure=index[name], coefficient=value, alternatives=tuple(index[o] for o in others.get(name, ()))
            )
            for name, value in terms.items()
        )
        size = unit_size(self.unit, area is not None)
        row = Difference(
            id=id,
            group=group,
            cluster=cluster or id,
            quantity=quantity,
            area=area,
            unbalanced=unbalanced,
            weight=weight,
            terms=summands,
            reference={LEVEL: reference * size},
        )
        self.rows.append(row)

    def relative(
        self, names: Sequence[str], energies: Sequence[float], origin: int, group: str, quantity: str = ""
    ) -> None:
        """Adds the energies of structures above that of the structure `origin` of them, as one group and cluster."""
        for name, energy in zip(names, energies, strict=True):
            if name != names[origin]:
                terms = {name: 1.0, names[origin]: -1.0}
                self.add(name, terms, energy - energies[origin], group=group, cluster=group, quantity=quantity)

    def dataset(self, card: Card, where: object = None) -> Dataset:
        """The data set, at the card's default label set.

        Args:
            where: the file at fault, for the error; None: the card's name.

        Raises:
            DatasetError: there are no items, or the set has one of `tasks.importing.checks.set_faults`.
        """
        if not self.rows:
            raise DatasetError(f"{card.name}: has no items")
        level = str(card.default_label_set)
        frames = Frames.from_atoms(list(self.structures.values()))
        sums = [(row.id, balance_of(row, frames)) for row in self.rows if not row.unbalanced]
        protons = {id: balance for id, balance in sums if balance.is_of_protons}
        rows = tuple(_at_level(row, level, row.unbalanced or row.id in protons) for row in self.rows)
        names = tuple(self.structures)
        table = Table(id=names, group=tuple(self.groups[name] for name in names), cluster=names, differences=rows)
        labels = {} if self.labels is None else {level: self.labels}
        doubts: tuple[str, ...] = (self._guesses(),) if self.guessed else ()
        doubts += (without_protons(list(protons.items())),) if protons else ()
        dataset = Dataset(with_periodicity(card, frames), frames, table, labels, doubts=doubts)
        return checked_set(dataset, card.name if where is None else where)

    def _guesses(self) -> str:
        """A line about the molecules that state no 2S+1."""
        known = [(name, spin) for name in self.guessed if (spin := ground_state(self.structures[name]))]
        higher = [(name, spin) for name, spin in known if spin != self.structures[name].info["spin"]]
        return guessed_multiplicities(self.guessed, higher)


def _at_level(row: Difference, level: str, unbalanced: bool) -> Difference:
    return row.model_copy(update={"reference": {level: row.reference[LEVEL]}, "unbalanced": unbalanced})


def ground_state(molecule: Atoms) -> int:
    """2S+1 of a neutral atom by Hund's rules, or of O2; 0 of any other molecule, whose ground state is not known."""
    if molecule.info.get("charge", 0):
        return 0
    if len(molecule) == 1:
        return round(float(ground_state_magnetic_moments[molecule.numbers[0]])) + 1
    return 3 if molecule.numbers.tolist() == [8, 8] else 0


def mean_of_others(names: Sequence[str], index: int) -> dict[str, float]:
    """The terms of a structure's energy above the mean over all of `names`."""
    share = 1.0 / len(names)
    return {name: (1.0 - share if i == index else -share) for i, name in enumerate(names)}


def counts_of(atoms: Atoms) -> Mapping[int, int]:
    """The number of atoms by element."""
    numbers, counts = np.unique(atoms.numbers, return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))
