"""Datasets of crystals with properties, and of structures alone: `structures.extxyz`, and `crystals.json` beside it.

Structures are named by `name` in their comment line. The table has one entry an item, whatever the kind of task:

    {"crystals": [{"id": "Cu at 25 GPa", "structure": "Cu", "group": "fcc", "cluster": "Cu", "pressure_gpa": 25.0,
                   "reference": {"volume_per_atom": 10.49}},
                  {"id": "Si", "structure": "Si", "supercell": [[2, 0, 0], [0, 2, 0], [0, 0, 2]],
                   "references": {"PBE": {"k_vrh_gpa": 88.6}, "r2SCAN": {"k_vrh_gpa": 96.1}}}]}

A property's unit is in its name: `k_vrh_gpa` and `g_vrh_gpa` (elasticity), `volume_per_atom` in Å³ (compression),
`max_frequency_k`, `entropy_j_per_mol_k`, `free_energy_kj_per_mol` and `heat_capacity_j_per_mol_k` (phonons). The
reference is `reference`, at the card's default label set, or `references`, at each of the card's. What a crystal is to
be put under (`pressure_gpa`, `supercell`, `primitive`) is stated for all crystals or for none. Items of one `cluster`
are correlated; without one each stands for itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from tasks.datasets.card import Card, Crystal, DatasetError, Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.dataset_checks import CONDITIONS
from tasks.importing.import_checks import check_multiplicity, check_names
from tasks.importing.importers import read_structures, with_periodicity
from tasks.importing.labelled_import import with_multiplicity
from tasks.structures.validation_errors import one_line

STRUCTURES, CRYSTALS = "structures.extxyz", "crystals.json"
PROPERTIES = (
    "k_vrh_gpa",
    "g_vrh_gpa",
    "volume_per_atom",
    "max_frequency_k",
    "entropy_j_per_mol_k",
    "free_energy_kj_per_mol",
    "heat_capacity_j_per_mol_k",
)
# Of a matrix of whole cells.
NO_VOLUME = 1e-8
Row = tuple[FiniteFloat, FiniteFloat, FiniteFloat]
Matrix = tuple[Row, Row, Row]


class _Stated(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _StatedCrystal(_Stated):
    id: Annotated[str, Field(min_length=1)]
    structure: str
    group: str = ""
    cluster: str = ""
    pressure_gpa: FiniteFloat | None = None
    supercell: tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]] | None = None
    primitive: Matrix | None = None
    reference: dict[str, FiniteFloat] | None = None
    references: dict[str, dict[str, FiniteFloat]] | None = None


class _StatedCrystals(_Stated):
    crystals: Annotated[tuple[_StatedCrystal, ...], Field(min_length=1)]


def import_crystals(folder: Path, card: Card) -> Dataset:
    """A dataset with one structure a crystal, from `structures.extxyz` and `crystals.json` in `folder`.

    Raises:
        DatasetError: one line that names file, crystal and field.
    """
    found = read_structures(folder / STRUCTURES, named=True)
    path = folder / CRYSTALS
    try:
        stated = _StatedCrystals.model_validate_json(path.read_bytes()).crystals
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise DatasetError(f"{path}: {one_line(error)}") from None
    check_names([crystal.id for crystal in stated], f"{path}: crystals")
    index = {name: i for i, name in enumerate(found.id)}
    for i, crystal in enumerate(stated):
        if crystal.structure not in index:
            raise DatasetError(f"{path}: crystals.{i} ({crystal.id}): there is no structure {crystal.structure!r}")
    crystals = [_crystal(c, i, card, f"{path}: crystals.{i} ({c.id})") for i, c in enumerate(stated)]
    frames = found.frames.take([index[crystal.structure] for crystal in stated])
    if not frames.periodic.all():
        bad = stated[int(np.flatnonzero(~frames.periodic)[0])]
        raise DatasetError(
            f"{folder / STRUCTURES}: {bad.structure}: pbc: is no crystal, which is periodic in all directions"
        )
    table = Table(
        id=tuple(c.id for c in crystals),
        group=tuple(c.group for c in crystals),
        cluster=tuple(c.cluster for c in crystals),
        crystals=tuple(crystals),
    )
    return Dataset(with_periodicity(card, frames), frames, table, {}, _conditions(stated, path))


def _crystal(stated: _StatedCrystal, structure: int, card: Card, where: str) -> Crystal:
    if (stated.reference is None) == (stated.references is None):
        raise DatasetError(f"{where}: reference: state reference or references, one of both")
    if card.default_label_set is None:
        raise DatasetError(f"{where}: reference: the card names no label set for it")
    by_set = stated.references or {card.default_label_set: stated.reference or {}}
    if by_set.keys() != card.label_sets.keys():
        known, there = ", ".join(sorted(card.label_sets)), ", ".join(sorted(by_set))
        raise DatasetError(f"{where}: references: has {there}, but the card's label sets are {known}")
    for values in by_set.values():
        unknown = sorted(values.keys() - set(PROPERTIES))
        if unknown or not values:
            raise DatasetError(f"{where}: reference: {unknown[0] if unknown else 'nothing'} is not of {PROPERTIES}")
    cluster = stated.cluster or stated.id
    return Crystal(id=stated.id, group=stated.group, cluster=cluster, structure=structure, reference=by_set)


def _conditions(stated: tuple[_StatedCrystal, ...], path: Path) -> dict[str, NDArray[Any]]:
    """The conditions that are stated, as arrays with one row a crystal."""
    found = {}
    for name, (dtype, shape) in CONDITIONS.items():
        values = [getattr(crystal, name) for crystal in stated]
        missing = [crystal.id for crystal, value in zip(stated, values, strict=True) if value is None]
        if len(missing) == len(stated):
            continue
        if missing:
            raise DatasetError(f"{path}: {missing[0]}: {name}: is missing, which other crystals state")
        found[name] = np.array(values, dtype)
        flat = np.flatnonzero(np.abs(np.linalg.det(found[name])) < NO_VOLUME) if shape else np.zeros(0, np.int64)
        if flat.size:
            raise DatasetError(f"{path}: crystals.{flat[0]} ({stated[int(flat[0])].id}): {name}: has no volume")
    return found


def import_structures(path: Path, card: Card, multiplicity: int | None = None) -> Dataset:
    """A dataset of structures alone, for dynamics and timing, from a file that ASE can read. Its card has no label set.

    Args:
        multiplicity: 2S+1 of every molecule that states none.

    Raises:
        DatasetError: one line that names file, frame and field.
    """
    found = read_structures(path)
    frames = with_multiplicity(found.frames, multiplicity)
    check_multiplicity(frames, found.id, path)
    bare = card.model_copy(update={"label_sets": {}, "default_label_set": None})
    return Dataset(with_periodicity(bare, frames), frames, found.table(), {})
