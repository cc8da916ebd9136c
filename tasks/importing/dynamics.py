"""Data sets of simulated systems: `structures.extxyz` and `systems.json` in one folder.

Structures are named by `name` in their comment line; they may have a column `molecule`, the number of each atom's
molecule, which a barostat moves as a whole. The table:

    {"systems": [{"id": "water", "structure": "water", "group": "liquids", "cluster": "",
                  "analyses": [{"measure": "rdf", "name": "O–O", "first": "O", "r_max": 9.0,
                                "reference": {"x": [2.0, 2.75, 3.5], "y": [0.0, 2.6, 0.8]}},
                               {"measure": "density", "references": {"experiment": 0.997}}]}]}

Without `structures.extxyz` a system's structure is in `NAME.pdb` (`tasks.importing.pdb_files`): the system states
`charge`, 0 if left out, and `multiplicity`, 1 if left out. Bonds tell its molecules. Then an analysis of a backbone may
leave out `residues`, which are those of the file.

The measures and their fields are those of `tasks.datasets.simulated_systems`. `first`, `second`, `atoms`, `centres` and
`partners` are lists of atoms counted from 0, or the symbol of an element for all its atoms, or in a PDB file the
name of atoms that is no such symbol, such as "CA". The reference is `reference`, of the card's default label set, or
`references`, by label set of the card. For `rmsd`, `tm_score`, these of the best frame, and
`secondary_structure` of PDB files `reference_pdb` may name a file of the folder instead, in which atoms have the same
chains, residues and names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from ase.data import atomic_numbers
from pydantic import Field

from tasks.datasets.card import Card, DatasetError, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.dynamics.analysis_checks import check_escape_distance
from tasks.dynamics.curves import backbone_of
from tasks.importing.checks.number_sizes import extreme_structures
from tasks.importing.importers import read_atoms, read_molecules
from tasks.importing.labelled_import import Imported, with_periodicity
from tasks.importing.pdb_files import PdbStructure, read_pdb
from tasks.importing.reading.nearest_atoms import nearest_atoms
from tasks.importing.reading.stated_states import MAX_CHARGE, MAX_MULTIPLICITY
from tasks.importing.stated_tables import (
    StatedItem,
    StatedTable,
    check_names,
    read_stated,
    references_by_label_set,
)
from tasks.simulation.molecules import check_molecules, molecules_of
from tasks.structures.frames import Frames, Int
from tasks.structures.predictions import Labels
from tasks.trajectories.secondary_structure import secondary_structure
from tasks.trajectories.trajectory import Trajectory

STRUCTURES, SYSTEMS = "structures.extxyz", "systems.json"
SELECTIONS = ("first", "second", "atoms", "centres", "partners")
REFERENCES = ("reference", "references", "reference_pdb")
OF_BACKBONES = ("dihedral_outliers", "secondary_structure")
# Whose reference may be a PDB file.
OF_FILES = ("rmsd", "lowest_rmsd", "tm_score", "highest_tm_score", "secondary_structure")
WITHOUT_REFERENCE = ("temperature", "energy_drift", "hydrogen_drift")
# Of the sum of the covalent radii: atoms that are closer overlap, and the first step throws them apart.
OVERLAP = 0.45


class StatedSystem(StatedItem):
    """A system.

    Args:
        charge, multiplicity: of a structure in a PDB file.
    """

    id: Annotated[str, Field(min_length=1)]
    structure: str
    analyses: tuple[dict[str, Any], ...] = ()
    escape_distance: float | None = None
    charge: Annotated[int, Field(ge=-MAX_CHARGE, le=MAX_CHARGE)] | None = None
    multiplicity: Annotated[int, Field(ge=1, le=MAX_MULTIPLICITY)] | None = None


class StatedSystems(StatedTable):
    """`systems.json`."""

    systems: Annotated[tuple[StatedSystem, ...], Field(min_length=1)]


class Starts(NamedTuple):
    """The structures of a folder, the conditions of the data set, and by name the PDB files they are from."""

    folder: Path
    imported: Imported
    conditions: Mapping[str, Int]
    pdb: Mapping[str, PdbStructure]


def import_dynamics(folder: Path, card: Card, multiplicity: int | None = None) -> Dataset:
    """A data set of simulated systems from `structures.extxyz` or PDB files, and `systems.json`, in `folder`.

    Args:
        multiplicity: 2S+1 of every molecule that states none.

    Raises:
        DatasetError: one line that names file, system and field.
    """
    path = folder / SYSTEMS
    stated = read_stated(path, StatedSystems).systems
    check_names([system.id for system in stated], f"{path}: systems")
    starts = _starts(folder, stated, multiplicity)
    frames = starts.imported.frames
    systems = [_system(system, starts, card, f"{path}: systems.{i} ({system.id})") for i, system in enumerate(stated)]
    table = starts.imported.table().model_copy(update={"systems": tuple(systems)})
    with dataset_faults(folder):
        return Dataset(with_periodicity(card, frames), frames, table, {}, starts.conditions)


def _starts(folder: Path, stated: Sequence[StatedSystem], multiplicity: int | None) -> Starts:
    path = folder / STRUCTURES
    if not path.exists() and any(folder.glob("*.pdb")):
        return _starts_of_pdb(folder, stated, multiplicity)
    for system in stated:
        if system.charge is not None or system.multiplicity is not None:
            raise DatasetError(f"{folder / SYSTEMS}: {system.id}: charge, multiplicity: state them in {STRUCTURES}")
    structures = read_molecules(path, multiplicity, named=True)
    _check_overlap(structures.frames, structures.id, path)
    return Starts(folder, structures, _molecules(path, structures.frames), {})


def _starts_of_pdb(folder: Path, stated: Sequence[StatedSystem], multiplicity: int | None) -> Starts:
    files, parts = {}, []
    for system in stated:
        path = folder / f"{system.structure}.pdb"
        if not path.exists():
            raise DatasetError(f"{folder / SYSTEMS}: {system.id}: structure: there is no file {path.name}")
        files[system.structure] = structure = read_pdb(path)
        charge, spin = system.charge or 0, system.multiplicity or multiplicity or 1
        electrons = int(structure.atoms.numbers.sum()) - charge
        if (electrons + spin) % 2 == 0:
            raise DatasetError(
                f"{path}: 2S+1 = {spin} is impossible with {electrons} electrons (charge {charge:+d}): add missing "
                f"hydrogens, or state charge and multiplicity of {system.id} in {SYSTEMS}"
            )
        atoms = structure.atoms
        atoms.info = {"charge": charge, "spin": spin}
        parts.append(atoms)
    frames = Frames.from_atoms(parts)
    names = tuple(system.structure for system in stated)
    _check_overlap(frames, names, folder)
    with dataset_faults(folder):
        molecules = molecules_of(frames)
    return Starts(folder, Imported(frames, Labels(), names, ("",) * len(names)), {"molecule": molecules}, files)


def _system(stated: StatedSystem, starts: Starts, card: Card, where: str) -> SimulatedSystem:
    if stated.structure not in starts.imported.id:
        raise DatasetError(f"{where}: there is no structure {stated.structure!r}")
    structure = starts.imported.id.index(stated.structure)
    analyses = [
        _analysis(a, stated.structure, starts, card, f"{where}: analyses.{k}") for k, a in enumerate(stated.analyses)
    ]
    with dataset_faults(where):
        check_escape_distance(stated.escape_distance, starts.imported.frames.take([structure]))
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


def _analysis(stated: Mapping[str, Any], structure: str, starts: Starts, card: Card, where: str) -> dict[str, Any]:
    """The fields of an analysis, with atoms as indices and references by label set."""
    fields = {name: value for name, value in stated.items() if name not in REFERENCES}
    measure, pdb = stated.get("measure"), starts.pdb.get(structure)
    frames = starts.imported.frames
    numbers = frames.numbers[frames.atom_slice(starts.imported.id.index(structure))]
    for name in SELECTIONS:
        if isinstance(fields.get(name), str):
            fields[name] = _atoms_of(fields[name], numbers, pdb, f"{where}: {name}")
    if measure in OF_BACKBONES and pdb is not None:
        fields.setdefault("residues", [residue.model_dump() for residue in pdb.backbone()])
    if measure in WITHOUT_REFERENCE:
        if stated.keys() & set(REFERENCES):
            raise DatasetError(f"{where}: reference: {measure} has none: leave it out")
        return fields
    reference = stated.get("reference")
    if "reference_pdb" in stated:
        if reference is not None or pdb is None or measure not in OF_FILES:
            raise DatasetError(f"{where}: reference_pdb: is for {', '.join(OF_FILES)} of a PDB file, without reference")
        path = starts.folder / str(stated["reference_pdb"])
        reference = _of_file(path, fields, pdb, where)
    by_label_set = references_by_label_set(reference, stated.get("references"), card, where)
    return {**fields, "reference": by_label_set}


def _of_file(path: Path, fields: Mapping[str, Any], pdb: PdbStructure, where: str) -> Any:
    """The reference in a PDB file: positions of the atoms of an analysis, or classes of its residues."""
    reference = read_pdb(path)
    if fields["measure"] == "secondary_structure":
        return _classes(reference, where)
    index = {line.key: i for i, line in enumerate(reference.lines)}
    chosen = [pdb.lines[atom] for atom in fields.get("atoms", ()) if atom < len(pdb.lines)]
    counts = Counter(line.key for line in reference.lines), Counter(line.key for line in chosen)
    atoms = []
    for line in chosen:
        if line.key not in index:
            raise DatasetError(f"{where}: reference_pdb: {path.name} has no atom {line.name} of {line.place}")
        if any(count[line.key] > 1 for count in counts):
            raise DatasetError(
                f"{where}: reference_pdb: atom {line.name} of {line.place} is there twice: give each chain its own "
                f"name in {path.name} and in the file of the structure"
            )
        atoms.append(index[line.key])
    return reference.positions[atoms].tolist()


def _classes(reference: PdbStructure, where: str) -> str:
    """One letter of DSSP for each residue with a backbone."""
    atoms = reference.atoms
    run = Trajectory(atoms.positions[None], np.zeros((1, 3, 3)), np.zeros(3, np.bool_), atoms.numbers, np.zeros(1))
    try:
        codes = secondary_structure(*backbone_of(run, reference.backbone()))[0]
    except (ValueError, ModuleNotFoundError) as error:
        raise DatasetError(f"{where}: reference_pdb: {error}") from None
    return "".join(code if code in "HBEGITS" else "-" for code in codes.tolist())


def _atoms_of(symbol: str, numbers: Int, pdb: PdbStructure | None, where: str) -> list[int]:
    """The atoms of an element, or those of that name in a PDB file."""
    atoms: list[int] = np.flatnonzero(numbers == atomic_numbers.get(symbol, -1)).tolist()
    if symbol not in atomic_numbers and pdb is not None:
        atoms = pdb.named(symbol)
    if not atoms:
        raise DatasetError(f"{where}: the structure has no atom of {symbol!r}")
    return atoms


def _check_overlap(frames: Frames, names: tuple[str, ...], path: Path) -> None:
    for line in extreme_structures(frames, names):
        raise DatasetError(f"{path}: {line}")
    nearest = nearest_atoms(frames).in_radii
    overlapping = np.flatnonzero(nearest < OVERLAP)
    if overlapping.size:
        worst = int(overlapping[np.argmin(nearest[overlapping])])
        raise DatasetError(
            f"{path}: {names[worst]}: positions: atoms overlap: two are {nearest[worst]:.2f} of the sum of their "
            f"covalent radii apart, less than {OVERLAP}: correct them before a run"
        )


def _molecules(path: Path, frames: Frames) -> dict[str, Int]:
    """The condition `molecule`, numbered through over all structures; none if no structure states molecules."""
    columns = [atoms.arrays.get("molecule") for atoms in read_atoms(path)]
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
