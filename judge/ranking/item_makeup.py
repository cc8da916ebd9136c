"""What the items of a task are made of: their elements, and the class of their structures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from ase.data import chemical_symbols

from judge.ranking.drug_likeness import drug_like
from tasks.datasets.card import Item
from tasks.datasets.dataset import Dataset
from tasks.datasets.item_structures import structures_of_row
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.kind import DatasetPart
from tasks.metrics.measurement import Items
from tasks.structures.frames import Frames

_LIQUID = re.compile(r"\b(liquids?|water|melts?|molten|solutions?|solvents?|electrolytes?)\b", re.IGNORECASE)


class StructureClass(StrEnum):
    """The class of a structure, in the order in which readers choose among them."""

    MOLECULE = "molecule"
    DRUG_LIKE = "drug-like"
    CRYSTAL = "crystal"
    SURFACE = "surface"
    LIQUID = "liquid"


INCLUDED: Mapping[StructureClass, frozenset[StructureClass]] = {
    each: frozenset({each, StructureClass.DRUG_LIKE} if each is StructureClass.MOLECULE else {each})
    for each in StructureClass
}
"""The classes of structures that a reader means by a class: a drug-like molecule is a molecule."""


class Makeup(NamedTuple):
    """The elements of an item, sorted by symbol, and the class of its structures."""

    elements: tuple[str, ...]
    structure: StructureClass


def makeups(dataset: Dataset, part: DatasetPart, domain: str) -> dict[str, Makeup]:
    """The makeup of each item by its id. Items of one id share the union of their elements.

    A structure without periodicity is a molecule, and the item is drug-like if all its structures are
    (`judge.ranking.drug_likeness`). A periodic one is a surface if its domain is Catalysis or if it has
    an open direction. It is a liquid if its diffusion is measured, or if domain, title or group say so. Any other is a
    crystal.

    Args:
        part: of the data set, whose items a kind measures.
        domain: of the task.
    """
    structures: dict[str, list[int]] = {}
    liquids: set[str] = set()
    groups: dict[str, str] = {}
    for id, group, indices, is_liquid in items_of(dataset, part):
        structures.setdefault(id, []).extend(indices)
        groups.setdefault(id, group)
        if is_liquid:
            liquids.add(id)
    symbols, directions = _symbols(dataset.frames), dataset.frames.pbc.sum(axis=1)
    drugs = drug_like(dataset.frames)
    words = f"{dataset.card.title} {domain}"
    catalysis = "Catalysis" in (dataset.card.domain, domain)

    def class_of(id: str, indices: Sequence[int]) -> StructureClass:
        periodic = directions[list(indices)]
        if not periodic.any():
            return StructureClass.DRUG_LIKE if drugs[list(indices)].all() else StructureClass.MOLECULE
        if id in liquids or _LIQUID.search(f"{words} {groups[id]}"):
            return StructureClass.LIQUID
        is_slab = bool(((periodic > 0) & (periodic < 3)).any())
        return StructureClass.SURFACE if catalysis or is_slab else StructureClass.CRYSTAL

    return {
        id: Makeup(tuple(sorted(set().union(*(symbols[i] for i in indices)))), class_of(id, indices))
        for id, indices in structures.items()
    }


def makeup_of(items: Items, known: Mapping[str, Makeup]) -> list[Makeup] | None:
    """The makeup of each item; None if an item is not one of the data set's.

    An item of dynamics is called `system/analysis`; any text before a slash may be the system.
    """
    found = [known.get(id) or next((known[p] for p in _before_slashes(id) if p in known), None) for id in items.id]
    return None if None in found else [makeup for makeup in found if makeup is not None]


def _symbols(frames: Frames) -> list[frozenset[str]]:
    """The elements of each structure."""
    present = np.zeros((len(frames), len(chemical_symbols)), np.bool_)
    present[np.repeat(np.arange(len(frames)), frames.n_atoms), frames.numbers] = True
    rows, index = np.unique(present, axis=0, return_inverse=True)
    sets = [frozenset(chemical_symbols[z] for z in np.flatnonzero(row)) for row in rows]
    return [sets[i] for i in index.ravel().tolist()]


def _before_slashes(id: str) -> Iterator[str]:
    parts = id.split("/")
    return ("/".join(parts[:n]) for n in range(len(parts) - 1, 0, -1))


def items_of(dataset: Dataset, part: DatasetPart) -> Iterator[tuple[str, str, Sequence[int], bool]]:
    """Id, group, structures, and whether a diffusion is measured, of each item of a part of a data set."""
    table = dataset.table
    if not part.is_in_table:
        for index, (id, group) in enumerate(zip(table.id, table.group, strict=True)):
            yield id, group, (index,), False
    rows = table.differences if part is DatasetPart.GEOMETRIES else table.items.get(part.value, ())
    for row in rows:
        yield row.id, row.group, structures_of_row(dataset, row), _flows(row)


def _flows(row: Item) -> bool:
    return isinstance(row, SimulatedSystem) and any(analysis.measure == "diffusion" for analysis in row.analyses)
