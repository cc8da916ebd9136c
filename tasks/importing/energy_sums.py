"""Structures, and sums of their energies with a reference, as importers collect them: most benchmarks are these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from ase import Atoms

from tasks.datasets.card import Card, DatasetError, Difference, Summand, Table
from tasks.datasets.dataset import Dataset
from tasks.importing.labelled_import import with_periodicity
from tasks.structures.frames import Frames
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
        self.labels: Labels | None = None

    def structure(
        self, name: str, atoms: Atoms, charge: int = 0, multiplicity: int | None = None, group: str = ""
    ) -> str:
        """Adds a structure, and returns its name. One that is there stays.

        Args:
            multiplicity: 2S+1; None: the lowest that the number of electrons allows, of a molecule.
        """
        if name not in self.structures:
            copy = Atoms(atoms.numbers, atoms.positions, cell=atoms.cell, pbc=atoms.pbc)
            lowest = 1 + (int(copy.numbers.sum()) - charge) % 2
            spin = multiplicity if multiplicity is not None else (0 if copy.pbc.all() else lowest)
            copy.info |= {"charge": charge, "spin": spin}  # as `Frames.from_atoms` reads 2S+1
            self.structures[name] = copy
            self.groups[name] = group
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
    ) -> None:
        """Adds an item.

        Args:
            terms: coefficients by name of structure.
            reference: in the unit of the sums.
            alternatives: by a structure of the terms, others of which the lowest takes part.
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

    def dataset(self, card: Card) -> Dataset:
        """The data set, at the card's default label set.

        Raises:
            DatasetError: there are no items.
        """
        if not self.rows:
            raise DatasetError(f"{card.name}: has no items")
        level = str(card.default_label_set)
        rows = tuple(row.model_copy(update={"reference": {level: row.reference[LEVEL]}}) for row in self.rows)
        frames = Frames.from_atoms(list(self.structures.values()))
        names = tuple(self.structures)
        table = Table(id=names, group=tuple(self.groups[name] for name in names), cluster=names, differences=rows)
        labels = {} if self.labels is None else {level: self.labels}
        return Dataset(with_periodicity(card, frames), frames, table, labels)


def mean_of_others(names: Sequence[str], index: int) -> dict[str, float]:
    """The terms of a structure's energy above the mean over all of `names`."""
    share = 1.0 / len(names)
    return {name: (1.0 - share if i == index else -share) for i, name in enumerate(names)}


def counts_of(atoms: Atoms) -> Mapping[int, int]:
    """The number of atoms by element."""
    numbers, counts = np.unique(atoms.numbers, return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))
