"""The structures of an item of a data set, by its id."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.datasets.card import Conductivity, Crystal, Curve, Difference, Item, MinimumEnergyPath, Scan
from tasks.datasets.dataset import Dataset
from tasks.datasets.diatomic_pairs import Diatomic
from tasks.datasets.simulated_systems import SimulatedSystem

_WITHOUT_TABLE = frozenset({"structures", "labels", "geometries"})
"""Parts whose items are the structures themselves; of geometries, differences of energies are items, too."""


def structures_of(dataset: Dataset, part: str, item: str) -> tuple[int, ...]:
    """The indices of the structures of an item, each once; empty if the data set has no such item.

    Args:
        part: of the data set, whose items a kind measures (`tasks.kind.DatasetPart`).
        item: its id.
    """
    table = dataset.table
    if part in _WITHOUT_TABLE and item in table.id:
        return (table.id.index(item),)
    rows = table.items.get("differences" if part == "geometries" else part, ())
    return tuple(dict.fromkeys(index for row in rows if row.id == item for index in structures_of_row(dataset, row)))


def structures_of_row(dataset: Dataset, row: Item) -> Sequence[int]:
    """The indices of the structures of a row of a data set's tables; a structure may be there more than once."""
    match row:
        case Difference():
            return [index for term in row.terms for index in (term.structure, *term.alternatives)]
        case Curve() | Scan() | Diatomic():
            return row.structures
        case Crystal() | Conductivity() | SimulatedSystem():
            return (row.structure,)
        case MinimumEnergyPath():
            chosen: list[int] = np.flatnonzero(dataset.structures.condition("path") == row.path).tolist()
            return chosen
