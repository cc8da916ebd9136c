"""Datasets of relaxed structures: `structures.extxyz`, with `references.extxyz` or `reactions.json` beside it.

- `structures.extxyz`: the starts, named by `name` in their comment line; molecules state `charge` and `multiplicity`.
- `references.extxyz`: their relaxed geometries at the card's default label set, under the same names, with the atoms in
  the same order.
- `reactions.json`: differences of relaxed energies, as `tasks.importing.reactions` reads them.

A start may state which atoms stay where they are, as a column `fixed:L:1` or as ASE writes the constraint `FixAtoms`
(`move_mask`). Crystals, which are periodic in all directions, may state `pressure_gpa` in the comment line: all of them
or none. A structure without a reference is in a reaction. Lattice vectors of a reference are those of its start,
relaxed: another choice of vectors would have other fractional coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.constraints import FixAtoms
from ase.neighborlist import neighbor_list
from numpy.typing import NDArray

from tasks.datasets.card import Card, DatasetError, Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.geometries import NO_VOLUME, Geometries, atom_name
from tasks.importing.checks.number_sizes import extreme_structures
from tasks.importing.importers import read_atoms, read_molecules, read_structures
from tasks.importing.labelled_import import Imported, with_periodicity
from tasks.importing.reactions import REACTIONS, import_reactions
from tasks.structures.frames import Bool, Frames
from tasks.trajectories.periodic_matching import nearest

STRUCTURES, REFERENCES = "structures.extxyz", "references.extxyz"
OVERLAP = 0.4  # Å: no two atoms are as close; H2 has 0.74
SAME_WITHIN = 1e-2  # Å: positions of fixed atoms, and vectors of cells that stay, with few digits in a file


def import_relaxed_structures(folder: Path, card: Card, multiplicity: int | None = None) -> Dataset:
    """A data set of structures to relax, with reference geometries, reactions, or both.

    Args:
        multiplicity: 2S+1 of every molecule that states none.

    Raises:
        DatasetError: one line that names file, structure and field.
    """
    path = folder / STRUCTURES
    starts = read_molecules(path, multiplicity, named=True)
    _check_structures(starts, path)
    conditions = _conditions(read_atoms(path), starts, path)
    table = import_reactions(folder, card, multiplicity).table if (folder / REACTIONS).exists() else starts.table()
    geometries = {}
    if (folder / REFERENCES).exists():
        if card.default_label_set is None:
            raise DatasetError(f"{folder / REFERENCES}: the card names no label set for the references")
        fixed = conditions.get("fixed", np.zeros(len(starts.frames.numbers), np.bool_))
        geometries[card.default_label_set] = _references(folder / REFERENCES, starts, fixed)
    elif not table.differences:
        raise DatasetError(f"{folder}: {REFERENCES}: is missing: add it, or {REACTIONS}")
    _check_used(starts, table, geometries, folder / REFERENCES)
    card = with_periodicity(card, starts.frames)
    return Dataset(card, starts.frames, table, {}, conditions, geometries)


def _check_structures(structures: Imported, path: Path) -> None:
    """Every cell has a volume, and no two atoms overlap."""
    frames = structures.frames
    for line in extreme_structures(frames, structures.id):
        raise DatasetError(f"{path}: {line}")
    for i, name in enumerate(structures.id):
        if frames.periodic[i] and abs(np.linalg.det(frames.cell[i])) < NO_VOLUME:
            raise DatasetError(f"{path}: {name}: cell: has no volume: its vectors lie in a plane")
        first, second, distance = neighbor_list("ijd", frames.atoms(i), OVERLAP)
        if len(distance):
            k = int(np.argmin(distance))
            pair = " and ".join(atom_name(frames, i, int(atom)) for atom in (first[k], second[k]))
            raise DatasetError(f"{path}: {name}: positions: {pair} overlap: they are {distance[k]:.2g} Å apart")


def _conditions(stated: Sequence[Atoms], starts: Imported, path: Path) -> dict[str, NDArray[Any]]:
    """The conditions `fixed` and `pressure_gpa`, where any structure states them."""
    conditions: dict[str, NDArray[Any]] = {}
    fixed = [_fixed(atoms, f"{path}: {name}") for atoms, name in zip(stated, starts.id, strict=True)]
    for held, name in zip(fixed, starts.id, strict=True):
        if held.all():
            raise DatasetError(f"{path}: {name}: fixed: every atom is: leave the structure out, or free some")
    if any(held.any() for held in fixed):
        conditions["fixed"] = np.concatenate(fixed)
    pressures = [atoms.info.get("pressure_gpa") for atoms in stated]
    if any(pressure is not None for pressure in pressures):
        for pressure, name, crystal in zip(pressures, starts.id, starts.frames.periodic, strict=True):
            where = f"{path}: {name}: pressure_gpa"
            if crystal and pressure is None:
                raise DatasetError(f"{where}: is missing, which other crystals state: write it in its comment line")
            if not crystal and pressure is not None:
                raise DatasetError(f"{where}: is for structures that are periodic in all directions: leave it out")
            if crystal and not isinstance(pressure, (int, float, np.integer, np.floating)):
                raise DatasetError(f"{where}: must be a number, not {pressure!r}")
        conditions["pressure_gpa"] = np.array([0.0 if p is None else float(p) for p in pressures])
    return conditions


def _fixed(atoms: Atoms, where: str) -> Bool:
    """(n,) the atoms that stay: of the column `fixed`, and of constraints."""
    held = np.zeros(len(atoms), np.bool_)
    if "fixed" in atoms.arrays:
        column = atoms.arrays["fixed"]
        if column.shape != held.shape or column.dtype.kind not in "bi" or not np.isin(column, (0, 1)).all():
            raise DatasetError(f"{where}: fixed: must be T or F of each atom, as a column fixed:L:1")
        held |= column.astype(np.bool_)
    for constraint in atoms.constraints:
        if not isinstance(constraint, FixAtoms):
            kind = type(constraint).__name__
            raise DatasetError(f"{where}: the constraint {kind} cannot be kept: fix whole atoms, or remove it")
        held[constraint.get_indices()] = True
    return held


def _references(path: Path, starts: Imported, fixed: Bool) -> Geometries:
    """The geometries in the order of `starts`; NaN where there is none."""
    stated = read_structures(path, named=True)
    _check_structures(stated, path)
    frames, index = starts.frames, {name: i for i, name in enumerate(starts.id)}
    positions, cell = np.full(frames.positions.shape, np.nan), np.full(frames.cell.shape, np.nan)
    for k, name in enumerate(stated.id):
        if name not in index:
            raise DatasetError(f"{path}: {name}: {STRUCTURES} has no structure of this name")
        i = index[name]
        where, reference = f"{path}: {name}", stated.frames.between(k, k + 1)
        _check_same_atoms(frames, i, reference, where)
        _check_fixed(frames, i, fixed[frames.atom_slice(i)], reference, where)
        positions[frames.atom_slice(i)], cell[i] = reference.positions, reference.cell[0]
    return Geometries(positions, cell)


def _check_same_atoms(frames: Frames, index: int, reference: Frames, where: str) -> None:
    """The reference has the atoms of the start in their order, and is periodic as it is."""
    numbers = frames.numbers[frames.atom_slice(index)]
    if len(numbers) != len(reference.numbers):
        raise DatasetError(f"{where}: has {len(reference.numbers)} atoms, its start has {len(numbers)}")
    different = np.flatnonzero(numbers != reference.numbers)
    if different.size:
        atom = int(different[0])
        theirs, ours = atom_name(reference, 0, atom), atom_name(frames, index, atom)
        raise DatasetError(f"{where}: {theirs} is {ours} of its start: bring the atoms into the same order")
    if (frames.pbc[index] != reference.pbc[0]).any():
        raise DatasetError(f"{where}: pbc: is not that of its start")


def _check_fixed(frames: Frames, index: int, fixed: Bool, reference: Frames, where: str) -> None:
    """Fixed atoms are where they were, and so are cells that stay: of surfaces, and of structures with fixed atoms."""
    pbc = frames.pbc[index]
    if pbc.any() and (fixed.any() or not pbc.all()):
        away = np.abs(reference.cell[0] - frames.cell[index])[pbc].max()
        if away > SAME_WITHIN:
            why = "it has fixed atoms" if fixed.any() else "it is not periodic in all directions"
            raise DatasetError(f"{where}: cell: is not that of its start, which stays, since {why}")
    vectors = nearest(reference.positions - frames.positions[frames.atom_slice(index)], reference.cell[0], pbc)
    moved = np.linalg.norm(vectors, axis=1) * fixed
    if moved.max() > SAME_WITHIN:
        atom = int(np.argmax(moved))
        raise DatasetError(f"{where}: {atom_name(reference, 0, atom)} is fixed, and moved by {moved[atom]:.2g} Å")


def _check_used(starts: Imported, table: Table, geometries: dict[str, Geometries], path: Path) -> None:
    """Every structure has a reference, or is in a reaction."""
    used = np.zeros(len(starts.id), np.bool_)
    terms = [term for row in table.differences for term in row.terms]
    used[[structure for term in terms for structure in (term.structure, *term.alternatives)]] = True
    for part in geometries.values():
        used |= part.known
    if not used.all():
        name = starts.id[int(np.flatnonzero(~used)[0])]
        raise DatasetError(f"{path}: there is no reference of {name}, which is in no reaction either")
