"""Datasets of crystals with properties, and of structures alone: `structures.extxyz`, and `crystals.json` beside it.

Structures are named by `name` in their comment line. The table has one entry an item, for each kind of task:

    {"crystals": [{"id": "Cu at 25 GPa", "structure": "Cu", "group": "fcc", "cluster": "Cu", "pressure_gpa": 25.0,
                   "reference": {"volume_per_atom": 10.49}},
                  {"id": "Si", "structure": "Si", "supercell": [[2, 0, 0], [0, 2, 0], [0, 0, 2]],
                   "references": {"PBE": {"k_vrh_gpa": 88.6}, "r2SCAN": {"k_vrh_gpa": 96.1}}}]}

A property's unit is in its name: `k_vrh_gpa` and `g_vrh_gpa` (elasticity), `volume_per_atom` in Å³ (compression),
`max_frequency_k`, `entropy_j_per_mol_k`, `free_energy_kj_per_mol` and `heat_capacity_j_per_mol_k` (phonons), with
`mean_frequency_k` and `min_frequency_k`; `c11_gpa` to `c66_gpa` (elastic tensor). The
reference is `reference`, of the card's default label set, or `references`, by label set of the card. Conditions
(`pressure_gpa`, `supercell`, `primitive`) are stated for all crystals or for none. A crystal may state the
`uncertainty` of its references, by property, and `bands`, its frequencies at the card's default label set
(`tasks.datasets.card.Bands`). Items of one `cluster` are correlated; without one each stands for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat

from tasks.datasets.card import Bands, Card, CardPart, Crystal, DatasetError, Positive, Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.dataset_checks import CONDITIONS
from tasks.importing.importers import read_molecules, read_structures
from tasks.importing.labelled_import import with_periodicity
from tasks.importing.stated_tables import (
    StatedItem,
    check_label_sets,
    check_names,
    read_stated,
    references_by_label_set,
)

STRUCTURES, CRYSTALS = "structures.extxyz", "crystals.json"
PROPERTIES = (
    "k_vrh_gpa",
    "g_vrh_gpa",
    "volume_per_atom",
    "max_frequency_k",
    "entropy_j_per_mol_k",
    "free_energy_kj_per_mol",
    "heat_capacity_j_per_mol_k",
    "mean_frequency_k",
    "min_frequency_k",
    *(f"c{i}{j}_gpa" for i in range(1, 7) for j in range(i, 7)),
)
# Of a matrix of whole cells.
NO_VOLUME = 1e-8
Row = tuple[FiniteFloat, FiniteFloat, FiniteFloat]
Matrix = tuple[Row, Row, Row]


class StatedCrystal(StatedItem):
    """A structure with its properties, and the conditions of its relaxation."""

    id: Annotated[str, Field(min_length=1)]
    structure: str
    pressure_gpa: FiniteFloat | None = None
    supercell: tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]] | None = None
    primitive: Matrix | None = None
    reference: dict[str, FiniteFloat] | None = None
    references: dict[str, dict[str, FiniteFloat]] | None = None
    uncertainty: dict[str, Positive] | None = None
    bands: Bands | None = None


class StatedCrystals(CardPart):
    """`crystals.json`."""

    crystals: Annotated[tuple[StatedCrystal, ...], Field(min_length=1)]


def import_crystals(folder: Path, card: Card) -> Dataset:
    """A data set with one structure a crystal, from `structures.extxyz` and `crystals.json` in `folder`.

    Raises:
        DatasetError: one line that names file, crystal and field.
    """
    structures = read_structures(folder / STRUCTURES, named=True)
    path = folder / CRYSTALS
    stated = read_stated(path, StatedCrystals).crystals
    check_names([crystal.id for crystal in stated], f"{path}: crystals")
    index = {name: i for i, name in enumerate(structures.id)}
    for i, crystal in enumerate(stated):
        if crystal.structure not in index:
            raise DatasetError(f"{path}: crystals.{i} ({crystal.id}): there is no structure {crystal.structure!r}")
    crystals = [_crystal(c, i, card, f"{path}: crystals.{i} ({c.id})") for i, c in enumerate(stated)]
    frames = structures.frames.take([index[crystal.structure] for crystal in stated])
    if not frames.periodic.all():
        bad = stated[int(np.flatnonzero(~frames.periodic)[0])]
        raise DatasetError(
            f"{folder / STRUCTURES}: {bad.structure}: pbc: is no crystal, which is periodic in all directions"
        )
    conditions = _conditions(stated, path)
    return Dataset(with_periodicity(card, frames), frames, crystal_table(crystals), {}, conditions)


def crystal_table(crystals: Sequence[Crystal]) -> Table:
    """The table of a data set with one structure a crystal, in the order of the crystals."""
    return Table(
        id=tuple(crystal.id for crystal in crystals),
        group=tuple(crystal.group for crystal in crystals),
        cluster=tuple(crystal.cluster for crystal in crystals),
        crystals=tuple(crystals),
    )


def _crystal(stated: StatedCrystal, structure: int, card: Card, where: str) -> Crystal:
    by_label_set = references_by_label_set(stated.reference, stated.references, card, where)
    check_label_sets(by_label_set, card, where)
    for values in by_label_set.values():
        unknown = sorted(values.keys() - set(PROPERTIES))
        if unknown or not values:
            raise DatasetError(f"{where}: reference: {unknown[0] if unknown else 'nothing'} is not of {PROPERTIES}")
    uncertainty = stated.uncertainty or {}
    if strange := sorted(uncertainty.keys() - set(PROPERTIES)):
        raise DatasetError(f"{where}: uncertainty: {strange[0]} is not of {PROPERTIES}")
    return Crystal(
        id=stated.id,
        group=stated.group,
        cluster=stated.cluster or stated.id,
        structure=structure,
        reference=dict(by_label_set),
        uncertainty=dict.fromkeys(by_label_set, uncertainty) if uncertainty else {},
        bands={} if stated.bands is None else {str(card.default_label_set): stated.bands},
    )


def _conditions(stated: Sequence[StatedCrystal], path: Path) -> dict[str, NDArray[Any]]:
    """The conditions that are stated, as arrays with one row a crystal."""
    conditions = {}
    for name in ("pressure_gpa", "supercell", "primitive"):
        dtype, shape, _ = CONDITIONS[name]
        values = [getattr(crystal, name) for crystal in stated]
        missing = [crystal.id for crystal, value in zip(stated, values, strict=True) if value is None]
        if len(missing) == len(stated):
            continue
        if missing:
            raise DatasetError(f"{path}: {missing[0]}: {name}: is missing, which other crystals state")
        conditions[name] = np.array(values, dtype)
        flat = np.flatnonzero(np.abs(np.linalg.det(conditions[name])) < NO_VOLUME) if shape else np.zeros(0, np.int64)
        if flat.size:
            raise DatasetError(f"{path}: crystals.{flat[0]} ({stated[int(flat[0])].id}): {name}: has no volume")
    return conditions


def import_structures(path: Path, card: Card, multiplicity: int | None = None) -> Dataset:
    """A data set of structures alone, for dynamics and timing, from a file that ASE can read, without label sets.

    Args:
        multiplicity: 2S+1 of every molecule that states none.

    Raises:
        DatasetError: one line that names file, frame and field.
    """
    structures = read_molecules(path, multiplicity)
    unlabelled = card.model_copy(update={"label_sets": {}, "default_label_set": None})
    return Dataset(with_periodicity(unlabelled, structures.frames), structures.frames, structures.table(), {})
