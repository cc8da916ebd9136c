"""The benchmarks of matcalc as they are published: one `.json.gz` with a record for each crystal.

    [{"mp_id": "mp-938", "structure": {…}, "bulk_modulus_vrh": 33.016, "shear_modulus_vrh": 20.165}, …]

    {"wbm-1-1": {"0": {"structure": {…}, "vasp_f": [[0.1, 0.0, 0.0], …]}, …}, …}

Structures are pymatgen's. What a record has says what is measured of it:

| fields | data set |
| --- | --- |
| `bulk_modulus_vrh`, `shear_modulus_vrh` [GPa]; `elastic_tensor.raw` [GPa], 6 × 6 | crystals for `elasticity` |
| `heat_capacity` [J/mol/K] at 300 K, for a mole of the stated cell | crystals for `phonons`: supercells 2 × 2 × 2 |
| `formation_energy_per_atom` [eV] | crystals to relax for `relaxed_structures`, with the elements beside them |
| `vasp_f` [eV/Å] of frames, by crystal | labelled frames, for the slope of the forces in each crystal |

Components of the tensor that are zero are left out. The formation energy needs the energies of the elements, which are
the model's own, relaxed. Beside the file lies matcalc's `MP-PBE-Element-Refs.json.gz`, by element a field `structure`
with one or several, or `elements.extxyz`. Of several structures of an element the lowest for an atom counts.

matcalc goes on with a relaxation that has not converged within its 500 steps. Here it counts as a failure. Source:
github.com/materialyzeai/matcalc at commit 87bf512.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.data import chemical_symbols

from tasks.datasets.card import Card, Crystal, DatasetError, Difference, Summand, Table, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.datasets.geometries import Geometries
from tasks.importing.crystal_tables import crystal_table
from tasks.importing.importers import read_atoms
from tasks.importing.labelled_import import with_periodicity
from tasks.importing.pymatgen_records import atoms_of_record
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels
from tasks.structures.text_files import decoded

ELEMENTS, MP_ELEMENTS = "elements.extxyz", "MP-PBE-Element-Refs.json.gz"
FORCES = "vasp_f"
# By field of a record, the property that the kinds know; all are in its unit.
PROPERTIES: Mapping[str, str] = {
    "bulk_modulus_vrh": "k_vrh_gpa",
    "shear_modulus_vrh": "g_vrh_gpa",
    "heat_capacity": "heat_capacity_j_per_mol_k",
}
FORMATION = "formation_energy_per_atom"
SUPERCELL = 2
# [%] How far PBE lies from experiment, as for equations of state: starts are the references, so no model sets a scale.
VOLUME_BASELINE = 3.16
SETTINGS = {"temperature_k": 300.0, "mesh": 100.0}  # K; the length of the mesh of wave vectors [Å]


def import_matcalc(path: Path, card: Card) -> Dataset:
    """The data set in `path`, at the card's default label set.

    Raises:
        DatasetError: one line that names file, record and field.
    """
    if card.default_label_set is None:
        raise DatasetError(f"{path}: the card names no label set for the references")
    level = card.default_label_set
    content = _content(path)
    if isinstance(content, dict):
        return _frames(path, card, level, content)
    records, crystals = _crystals(path, content)
    if FORMATION in records[0]:
        return _formation(path, card, level, records, crystals)
    rows = []
    for number, (name, record) in enumerate(zip(crystals, records, strict=True)):
        reference = {
            ours: float(record[theirs]) for theirs, ours in PROPERTIES.items() if record.get(theirs) is not None
        }
        try:
            reference |= _tensor(record)
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{path}: {number} ({name}): elastic_tensor.raw: {error}: must be 6 × 6") from None
        if not reference:
            raise DatasetError(f"{path}: {number} ({name}): has none of {', '.join((*PROPERTIES, FORMATION))}")
        rows.append(Crystal(id=name, cluster=name, structure=number, reference={level: reference}))
    frames = Frames.from_atoms(list(crystals.values()))
    conditions: dict[str, Any] = {}
    if "heat_capacity" in records[0]:
        conditions["supercell"] = np.tile(SUPERCELL * np.eye(3, dtype=np.int64), (len(frames), 1, 1))
        conditions["primitive"] = np.tile(np.eye(3), (len(frames), 1, 1))
        card = card.model_copy(update={"settings": SETTINGS})
    return Dataset(with_periodicity(card, frames), frames, crystal_table(rows), {}, conditions)


def read_crystals(path: Path) -> tuple[Sequence[Mapping[str, Any]], dict[str, Atoms]]:
    """The records of a file, and by name the crystal of each.

    Raises:
        DatasetError: one line that names file and record.
    """
    return _crystals(path, _content(path))


def _crystals(path: Path, content: Any) -> tuple[Sequence[Mapping[str, Any]], dict[str, Atoms]]:
    records = _records(path, content)
    crystals: dict[str, Atoms] = {}
    for number, record in enumerate(records):
        where = f"{path}: {number}"
        try:
            name = str(record.get("mp_id") or record.get("material_id") or record["mat_id"])
            crystals[name] = atoms_of_record(record["structure"])
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{where}: {type(error).__name__}: {error}") from None
    if len(crystals) < len(records):
        raise DatasetError(f"{path}: two records have one name")
    return records, crystals


def _content(path: Path) -> Any:
    with dataset_faults(path):
        content = path.read_bytes()
        return json.loads(decoded(gzip.decompress(content) if path.suffix == ".gz" else content))


def _records(path: Path, stated: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(stated, list) or not stated or not all(isinstance(record, dict) for record in stated):
        raise DatasetError(f"{path}: must be a list of records")
    return stated


def _tensor(record: Mapping[str, Any]) -> dict[str, float]:
    """The components of the elastic tensor [GPa] that are not zero, by property; empty if the record has none.

    Raises:
        KeyError, TypeError, ValueError: it has another form.
    """
    if record.get("elastic_tensor") is None:
        return {}
    tensor = np.array(record["elastic_tensor"]["raw"], np.float64)
    if tensor.shape != (6, 6):
        raise ValueError(f"has the shape {tensor.shape}")
    return {f"c{i + 1}{j + 1}_gpa": float(tensor[i, j]) for i in range(6) for j in range(i, 6) if tensor[i, j]}


def _frames(path: Path, card: Card, level: str, content: Mapping[str, Any]) -> Dataset:
    """Frames with forces, those of a crystal in one group and one cluster."""
    names, groups, structures, forces = [], [], [], []
    for crystal, of_crystal in content.items():
        try:
            for frame, stated in of_crystal.items():
                atoms, force = atoms_of_record(stated["structure"]), np.array(stated[FORCES], np.float64)
                if force.shape != (len(atoms), 3):
                    raise ValueError(f"{FORCES} of {frame} has the shape {force.shape} for {len(atoms)} atoms")
                names.append(f"{crystal} {frame}")
                groups.append(crystal)
                structures.append(atoms)
                forces.append(force)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{path}: {crystal}: {type(error).__name__}: {error}") from None
    if not structures:
        raise DatasetError(f"{path}: has no frames")
    frames = Frames.from_atoms(structures)
    table = Table(id=tuple(names), group=tuple(groups), cluster=tuple(groups))
    return Dataset(with_periodicity(card, frames), frames, table, {level: Labels(forces=np.concatenate(forces))})


def _formation(
    path: Path, card: Card, level: str, records: Sequence[Mapping[str, Any]], crystals: Mapping[str, Atoms]
) -> Dataset:
    """Crystals to relax, with their own geometries as references, and their formation energies."""
    names, structures = list(crystals), list(crystals.values())
    needed = {number for atoms in structures for number in atoms.numbers.tolist()}
    file, elements = _elements(path.parent)
    phases: dict[int, list[int]] = {}
    for number, atoms in enumerate(elements):
        if len(set(atoms.numbers)) != 1:
            raise DatasetError(f"{file}: frame {number}: must be of one element")
        if int(atoms.numbers[0]) not in needed:
            continue
        phases.setdefault(int(atoms.numbers[0]), []).append(len(structures))
        names.append(f"{atoms.symbols[0]} {number}")
        structures.append(Atoms(atoms.numbers, atoms.positions, cell=atoms.cell, pbc=atoms.pbc))
    rows = []
    for i, (name, record) in enumerate(zip(crystals, records, strict=True)):
        n = len(structures[i])
        terms = [Summand(structure=i, coefficient=1 / n)]
        for number, count in sorted(Counter(structures[i].numbers.tolist()).items()):
            if number not in phases:
                raise DatasetError(f"{file}: has no structure of {chemical_symbols[number]}, which {name} needs")
            first, *others = phases[number]
            share = count / n / len(structures[first])
            terms.append(Summand(structure=first, coefficient=-share, alternatives=tuple(others)))
        try:
            reference = {level: float(record[FORMATION])}
        except (KeyError, TypeError, ValueError):
            raise DatasetError(f"{path}: {i} ({name}): {FORMATION}: is missing, or no number") from None
        rows.append(Difference(id=f"{name} formation", cluster=name, terms=tuple(terms), reference=reference))
    card = card.model_copy(update={"baselines": {level: {"volume_mape": VOLUME_BASELINE}}})
    frames = Frames.from_atoms(structures)
    known = np.arange(len(structures)) < len(crystals)
    cell = np.where(known[:, None, None], frames.cell, np.nan)
    positions = np.where(np.repeat(known, frames.n_atoms)[:, None], frames.positions, np.nan)
    table = Table(id=tuple(names), group=("",) * len(names), cluster=tuple(names), differences=tuple(rows))
    return Dataset(with_periodicity(card, frames), frames, table, {}, {}, {level: Geometries(positions, cell)})


def _elements(folder: Path) -> tuple[Path, list[Atoms]]:
    """The file with the structures of elements, and these."""
    file = folder / MP_ELEMENTS
    if not file.is_file():
        file = folder / ELEMENTS
        if not file.is_file():
            raise DatasetError(
                f"{file}: is not there, nor is {MP_ELEMENTS}: formation energies need structures of the elements"
            )
        return file, read_atoms(file)
    elements: list[Atoms] = []
    stated = _content(file)
    if not isinstance(stated, dict):
        raise DatasetError(f"{file}: must state structures by element")
    for symbol, of_element in stated.items():
        try:
            records = of_element["structure"]
            found = [atoms_of_record(each) for each in (records if isinstance(records, list) else [records])]
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{file}: {symbol}: {type(error).__name__}: {error}") from None
        if any(set(atoms.get_chemical_symbols()) != {symbol} for atoms in found):
            raise DatasetError(f"{file}: {symbol}: structure: must be of this element")
        elements += found
    return file, elements
