"""Datasets of reaction paths: `structures.extxyz` and `paths.json` in one folder.

Structures are named by `name` in their comment line; molecules state `charge` and `multiplicity` there. All structures
of a path have the same atoms in the same order, and one cell. The table:

    {"reference_unit": "eV",
     "paths": [{"id": "H + H2", "group": "hydrogen", "cluster": "H3", "reactant": "left", "product": "right",
                "guess": "middle", "transition_state": "H3",
                "reference": {"barrier": 0.42, "reaction_energy": 0.0}}]}

The first band goes through `guess`, which may be left out. `transition_state` is the reference's: it is compared with,
and never sent to a model; it may be left out, and it may be the guess, too. `reference` belongs to the card's default
label set; `references` has one by label set. A reference has a barrier, a reaction energy, or both.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, FiniteFloat

from tasks.datasets.card import Card, CardPart, DatasetError, MinimumEnergyPath, PathReference, Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.path_roles import ENDS, PathRole
from tasks.importing.checks.set_faults import checked_set
from tasks.importing.importers import read_molecules
from tasks.importing.labelled_import import with_periodicity
from tasks.importing.stated_tables import (
    StatedItem,
    StatedTable,
    check_label_sets,
    check_names,
    read_stated,
    references_by_label_set,
)
from tasks.structures.frames import Frames
from tasks.structures.units import Unit, unit_size

STRUCTURES, PATHS = "structures.extxyz", "paths.json"
SAME_CELL = 1e-6  # Å
SAME_PLACE = 1e-3  # Å


class StatedPathReference(CardPart):
    """Barrier and reaction energy of a path, in the unit of the table."""

    barrier: FiniteFloat | None = None
    reaction_energy: FiniteFloat | None = None


class StatedPath(StatedItem):
    """A path: the names of its structures, and its reference."""

    id: Annotated[str, Field(min_length=1)]
    reactant: str
    product: str
    guess: str | None = None
    transition_state: str | None = None
    reference: StatedPathReference | None = None
    references: dict[str, StatedPathReference] | None = None

    @property
    def names(self) -> dict[PathRole, str]:
        """The names of its structures."""
        stated = (self.reactant, self.product, self.guess, self.transition_state)
        return {role: name for role, name in zip(PathRole, stated, strict=True) if name is not None}


class StatedPaths(StatedTable):
    """`paths.json`."""

    reference_unit: Unit
    paths: Annotated[tuple[StatedPath, ...], Field(min_length=1)]


def import_reaction_paths(folder: Path, card: Card, multiplicity: int | None = None) -> Dataset:
    """A dataset of reaction paths from `structures.extxyz` and `paths.json` in `folder`.

    Args:
        multiplicity: 2S+1 of every molecule that states none.

    Raises:
        DatasetError: one line that names file, frame or path, and field.
    """
    structures = read_molecules(folder / STRUCTURES, multiplicity, named=True)
    path = folder / PATHS
    stated = read_stated(path, StatedPaths)
    check_names([each.id for each in stated.paths], f"{path}: paths")
    index = {name: i for i, name in enumerate(structures.id)}
    rows, used, roles = [], list[int](), list[tuple[int, PathRole]]()
    for i, each in enumerate(stated.paths):
        where = f"{path}: paths.{i} ({each.id})"
        rows.append(_item(i, each, stated.reference_unit, card, where))
        of_role = _structures(each, index, where)
        _check_structures(each, structures.frames, of_role, where)
        used += of_role.values()
        roles += [(i, role) for role in of_role]
    names = tuple(f"{stated.paths[i].id}: {role.name.lower().replace('_', ' ')}" for i, role in roles)
    table = Table(
        id=names,
        group=tuple(stated.paths[i].group for i, _ in roles),
        cluster=tuple(rows[i].cluster for i, _ in roles),
        paths=tuple(rows),
    )
    frames = structures.frames.take(used)
    conditions = {"path": np.array([i for i, _ in roles]), "role": np.array([int(role) for _, role in roles])}
    return checked_set(Dataset(with_periodicity(card, frames), frames, table, {}, conditions), path)


def _item(number: int, stated: StatedPath, unit: Unit, card: Card, where: str) -> MinimumEnergyPath:
    by_label_set = references_by_label_set(stated.reference, stated.references, card, where)
    check_label_sets(by_label_set, card, where)
    size = unit_size(unit, False)
    for name, reference in by_label_set.items():
        if reference == StatedPathReference():
            raise DatasetError(f"{where}: reference: {name} has neither barrier nor reaction_energy: state one of them")
    references = {
        name: PathReference(**{k: None if v is None else v * size for k, v in reference.model_dump().items()})
        for name, reference in by_label_set.items()
    }
    cluster = stated.cluster or stated.id
    return MinimumEnergyPath(id=stated.id, group=stated.group, cluster=cluster, path=number, reference=references)


def _structures(stated: StatedPath, index: Mapping[str, int], where: str) -> dict[PathRole, int]:
    for role, name in stated.names.items():
        if name not in index:
            raise DatasetError(f"{where}: {role.name.lower()}: there is no structure {name!r} in {STRUCTURES}")
    return {role: index[name] for role, name in stated.names.items()}


def _check_structures(stated: StatedPath, frames: Frames, of_role: Mapping[PathRole, int], where: str) -> None:
    """The structures of a path have the same atoms and one cell, and its ends differ."""
    first, last = (frames.atoms(of_role[role]) for role in ENDS)
    for role, index in of_role.items():
        other, name = frames.atoms(index), f"{role.name.lower()} ({stated.names[role]})"
        if len(other) != len(first):
            raise DatasetError(f"{where}: {name}: has {len(other)} atoms, the reactant has {len(first)}")
        changed = np.flatnonzero(other.numbers != first.numbers)
        if changed.size:
            atom = int(changed[0])
            raise DatasetError(
                f"{where}: {name}: atom {atom} is {other.symbols[atom]}, in the reactant it is {first.symbols[atom]}: "
                "give all structures of a path one order of atoms"
            )
        if (other.pbc != first.pbc).any() or np.abs(other.cell.array - first.cell.array).max() > SAME_CELL:
            raise DatasetError(f"{where}: {name}: has another cell than the reactant: give all of them one cell")
        for field in ("charge", "multiplicity"):
            values = getattr(frames, field)
            if values[index] != values[of_role[PathRole.REACTANT]]:
                raise DatasetError(f"{where}: {name}: {field} is not that of the reactant: a path has one")
    if np.abs(last.positions - first.positions).max() < SAME_PLACE:
        raise DatasetError(f"{where}: product: is the reactant: no atom moves by {SAME_PLACE:g} Å")
