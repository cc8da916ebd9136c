"""Data sets of simulated systems: `structures.extxyz` and `systems.json` in one folder.

Structures are named by `name` in their comment line; they may have a column `molecule`, the number of each atom's
molecule, which a barostat moves as a whole. The table:

    {"systems": [{"id": "water", "structure": "water", "group": "liquids", "cluster": "",
                  "analyses": [{"measure": "rdf", "name": "O–O", "first": "O", "r_max": 9.0,
                                "reference": {"x": [2.0, 2.75, 3.5], "y": [0.0, 2.6, 0.8]}},
                               {"measure": "density", "references": {"experiment": 0.997}}]}]}

The measures and their fields are those of `tasks.datasets.simulated_systems`. `first`, `second`, `atoms`, `centres` and
`partners` are lists of atoms counted from 0, or the symbol of an element for all its atoms. The reference is
`reference`, of the card's default label set, or `references`, by label set of the card.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from ase.data import atomic_numbers
from ase.io import read
from pydantic import Field

from tasks.datasets.card import Card, DatasetError, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.importing.importers import read_molecules
from tasks.importing.labelled_import import with_periodicity
from tasks.importing.length_checks import nearest_in_radii
from tasks.importing.stated_tables import (
    StatedItem,
    StatedTable,
    check_names,
    read_stated,
    references_by_label_set,
)
from tasks.simulation.molecules import check_molecules
from tasks.structures.frames import Frames, Int

STRUCTURES, SYSTEMS = "structures.extxyz", "systems.json"
SELECTIONS = ("first", "second", "atoms", "centres", "partners")
WITHOUT_REFERENCE = ("temperature", "energy_drift", "hydrogen_drift")
# Of the sum of the covalent radii: atoms that are closer overlap, and the first step throws them apart.
OVERLAP = 0.45


class StatedSystem(StatedItem):
    """A system."""

    id: Annotated[str, Field(min_length=1)]
    structure: str
    analyses: tuple[dict[str, Any], ...] = ()
    escape_distance: float | None = None


class StatedSystems(StatedTable):
    """`systems.json`."""

    systems: Annotated[tuple[StatedSystem, ...], Field(min_length=1)]


def import_dynamics(folder: Path, card: Card, multiplicity: int | None = None) -> Dataset:
    """A data set of simulated systems from `structures.extxyz` and `systems.json` in `folder`.

    Args:
        multiplicity: 2S+1 of every molecule that states none.

    Raises:
        DatasetError: one line that names file, system and field.
    """
    structures = read_molecules(folder / STRUCTURES, multiplicity, named=True)
    frames, path = structures.frames, folder / SYSTEMS
    _check_overlap(frames, structures.id, folder / STRUCTURES)
    stated = read_stated(path, StatedSystems).systems
    check_names([system.id for system in stated], f"{path}: systems")
    index = {name: i for i, name in enumerate(structures.id)}
    systems = [
        _system(system, index, frames, card, f"{path}: systems.{i} ({system.id})") for i, system in enumerate(stated)
    ]
    conditions = _molecules(folder / STRUCTURES, frames)
    table = structures.table().model_copy(update={"systems": tuple(systems)})
    with dataset_faults(folder):
        return Dataset(with_periodicity(card, frames), frames, table, {}, conditions)


def _system(stated: StatedSystem, index: Mapping[str, int], frames: Frames, card: Card, where: str) -> SimulatedSystem:
    if stated.structure not in index:
        raise DatasetError(f"{where}: there is no structure {stated.structure!r}")
    structure = index[stated.structure]
    numbers = frames.numbers[frames.atom_slice(structure)]
    analyses = [_analysis(a, numbers, card, f"{where}: analyses.{k}") for k, a in enumerate(stated.analyses)]
    with dataset_faults(where):
        return SimulatedSystem.model_validate(
            {
                "id": stated.id,
                "group": stated.group,
                "cluster": stated.cluster or stated.id,
                "structure": structure,
                "escape_distance": stated.escape_distance,
                "analyses": analyses,
            }
        )


def _analysis(stated: Mapping[str, Any], numbers: Int, card: Card, where: str) -> dict[str, Any]:
    """The fields of an analysis, with atoms as indices and references by label set."""
    fields = {name: value for name, value in stated.items() if name not in ("reference", "references")}
    for name in SELECTIONS:
        if isinstance(fields.get(name), str):
            fields[name] = _atoms_of(fields[name], numbers, f"{where}: {name}")
    if stated.get("measure") in WITHOUT_REFERENCE:
        if "reference" in stated or "references" in stated:
            raise DatasetError(f"{where}: reference: {stated['measure']} has none: leave it out")
        return fields
    by_label_set = references_by_label_set(stated.get("reference"), stated.get("references"), card, where)
    return {**fields, "reference": by_label_set}


def _atoms_of(symbol: str, numbers: Int, where: str) -> list[int]:
    atoms = np.flatnonzero(numbers == atomic_numbers.get(symbol, -1)).tolist()
    if not atoms:
        raise DatasetError(f"{where}: the structure has no atom of {symbol!r}")
    return atoms


def _check_overlap(frames: Frames, names: tuple[str, ...], path: Path) -> None:
    nearest = nearest_in_radii(frames)
    overlapping = np.flatnonzero(nearest < OVERLAP)
    if overlapping.size:
        worst = int(overlapping[np.argmin(nearest[overlapping])])
        raise DatasetError(
            f"{path}: {names[worst]}: positions: atoms overlap: two are {nearest[worst]:.2f} of the sum of their "
            f"covalent radii apart, less than {OVERLAP}: correct them before a run"
        )


def _molecules(path: Path, frames: Frames) -> dict[str, Int]:
    """The condition `molecule`, numbered through over all structures; none if no structure states molecules."""
    columns = [atoms.arrays.get("molecule") for atoms in read(path, index=":")]
    if all(column is None for column in columns):
        return {}
    n_before, parts = 0, []
    for i, column in enumerate(columns):
        where = f"{path}: frame {i}: molecule"
        if column is None:
            raise DatasetError(f"{where}: is missing, which other frames state")
        if column.dtype.kind not in "iu" or column.ndim != 1:
            raise DatasetError(f"{where}: must be one whole number for each atom")
        _, numbered = np.unique(column, return_inverse=True)
        with dataset_faults(where):
            check_molecules(frames.take([i]), column)
        parts.append(numbered.reshape(-1) + n_before)
        n_before += int(numbered.max()) + 1
    return {"molecule": np.concatenate(parts).astype(np.int64)}
