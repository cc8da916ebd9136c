"""Doubts about the order of atoms in a data set: ends of reaction paths, relaxed references, positions of proteins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from ase.data import chemical_symbols

from tasks.datasets.dataset import Dataset
from tasks.datasets.path_roles import PathRole, path_structures
from tasks.datasets.protein_analyses import ReferencePositions
from tasks.importing.checks.exchanged_atoms import Exchange, PlacedAtoms, exchanged_atoms
from tasks.structures.frames import Int

MAX_NAMED = 6  # atoms in a line


class OrderDoubt(NamedTuple):
    """Two structures of an item whose atoms look exchanged; `sort` is one word for the pair."""

    sort: str
    text: str


def doubtful_orders(dataset: Dataset) -> list[str]:
    """A line for each sort of pair: the first item with exchanged atoms, and how many there are."""
    by_sort: dict[str, list[OrderDoubt]] = {}
    for doubt in (*_of_paths(dataset), *_of_geometries(dataset), *_of_systems(dataset)):
        by_sort.setdefault(doubt.sort, []).append(doubt)
    return [same[0].text + (f" ({len(same)} such items in all)" if len(same) > 1 else "") for same in by_sort.values()]


def _of_paths(dataset: Dataset) -> Iterator[OrderDoubt]:
    """The reactant of each path against its other structures.

    A product that is a copy of the reactant, with other atoms in its places, is a reaction: a turn, or an exchange.
    """
    if not dataset.table.paths:
        return
    frames, by_path = dataset.frames, path_structures(dataset.structures)
    for row in dataset.table.paths:
        of_role: Mapping[PathRole, int] = by_path[row.path]
        first = of_role[PathRole.REACTANT]
        atoms = frames.atom_slice(first)
        for role, index in of_role.items():
            other = PlacedAtoms(frames.positions[frames.atom_slice(index)], frames.cell[index])
            if role is PathRole.REACTANT or len(other.positions) != frames.n_atoms[first]:
                continue
            start = PlacedAtoms(frames.positions[atoms], frames.cell[first])
            found = exchanged_atoms(frames.numbers[atoms], frames.pbc[first], start, other)
            if found is not None and not (role is PathRole.PRODUCT and found.is_all):
                name = role.name.lower().replace("_", " ")
                yield OrderDoubt(name, _line(f"paths: {row.id}: {name}", found, frames.numbers[atoms]))


def _of_geometries(dataset: Dataset) -> Iterator[OrderDoubt]:
    """The start of each relaxation against its reference."""
    frames = dataset.frames
    for label_set, geometries in dataset.geometries.items():
        for index in np.flatnonzero(geometries.known).tolist():
            atoms = frames.atom_slice(index)
            start = PlacedAtoms(frames.positions[atoms], frames.cell[index])
            end = PlacedAtoms(geometries.positions[atoms], geometries.cell[index])
            found = exchanged_atoms(frames.numbers[atoms], frames.pbc[index], start, end)
            if found is not None:
                where = f"{label_set}: {dataset.table.id[index]}: reference"
                yield OrderDoubt(f"{label_set} reference", _line(where, found, frames.numbers[atoms]))


def _of_systems(dataset: Dataset) -> Iterator[OrderDoubt]:
    """The start of each run against the reference positions of its analyses."""
    frames = dataset.frames
    for system in dataset.table.systems:
        start = frames.positions[frames.atom_slice(system.structure)]
        numbers = frames.numbers[frames.atom_slice(system.structure)]
        for analysis in system.analyses:
            if not isinstance(analysis, ReferencePositions):
                continue
            chosen, nowhere = np.array(analysis.atoms), np.zeros((3, 3))
            for label_set, positions in analysis.reference.items():
                molecule, reference = PlacedAtoms(start[chosen], nowhere), PlacedAtoms(np.array(positions), nowhere)
                found = exchanged_atoms(numbers[chosen], np.zeros(3, np.bool_), molecule, reference)
                if found is not None:
                    atoms = found._replace(atoms=tuple(chosen[list(found.atoms)].tolist()))
                    where = f"{label_set}: {system.id}: {analysis.name or analysis.measure}: reference"
                    yield OrderDoubt(f"{label_set} positions", _line(where, atoms, numbers))


def _line(where: str, found: Exchange, numbers: Int) -> str:
    named = [f"{atom} ({chemical_symbols[int(numbers[atom])]})" for atom in found.atoms[:MAX_NAMED]]
    more = f" and {len(found.atoms) - MAX_NAMED} more" if len(found.atoms) > MAX_NAMED else ""
    return (
        f"{where}: atoms {', '.join(named)}{more} look exchanged: in the given order they move by up to "
        f"{found.given:.2f} Å, in another order by {found.best:.2f} Å: bring the atoms into one order"
    )
