"""The benchmarks of matcalc as they are published: one `.json.gz` with a record for each crystal.

    [{"mp_id": "mp-938", "structure": {…}, "bulk_modulus_vrh": 33.016, "shear_modulus_vrh": 20.165}, …]

Structures are pymatgen's. What a record has says what is measured of it:

| fields | data set |
| --- | --- |
| `bulk_modulus_vrh`, `shear_modulus_vrh` [GPa] | crystals for `elasticity` |
| `heat_capacity` [J/mol/K] at 300 K, for a mole of the stated cell | crystals for `phonons`: supercells 2 × 2 × 2 |
| `formation_energy_per_atom` [eV] | crystals to relax for `relaxed_structures`, with the elements beside them |

The formation energy needs the energies of the elements, which are the model's own, relaxed: `elements.extxyz` beside
the file has a structure of each element (several, of which the lowest counts). Source: github.com/materialyzeai/matcalc
at commit 87bf512.
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

ELEMENTS = "elements.extxyz"
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
    records = _records(path)
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
    if FORMATION in records[0]:
        return _formation(path, card, level, records, crystals)
    rows = []
    for number, (name, record) in enumerate(zip(crystals, records, strict=True)):
        reference = {
            ours: float(record[theirs]) for theirs, ours in PROPERTIES.items() if record.get(theirs) is not None
        }
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


def _records(path: Path) -> Sequence[Mapping[str, Any]]:
    with dataset_faults(path):
        content = path.read_bytes()
        stated = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    if not isinstance(stated, list) or not stated or not all(isinstance(record, dict) for record in stated):
        raise DatasetError(f"{path}: must be a list of records")
    return stated


def _formation(
    path: Path, card: Card, level: str, records: Sequence[Mapping[str, Any]], crystals: Mapping[str, Atoms]
) -> Dataset:
    """Crystals to relax, with their own geometries as references, and their formation energies."""
    file = path.parent / ELEMENTS
    if not file.is_file():
        raise DatasetError(f"{file}: is not there: formation energies need a structure of each element")
    names, structures = list(crystals), list(crystals.values())
    phases: dict[int, list[int]] = {}
    for number, atoms in enumerate(read_atoms(file)):
        if len(set(atoms.numbers)) != 1:
            raise DatasetError(f"{file}: frame {number}: must be of one element")
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
            terms += _element(count / n, phases[number], structures)
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


def _element(share: float, phases: Sequence[int], structures: Sequence[Atoms]) -> list[Summand]:
    """The terms of an element: the lowest of its phases, all of which have as many atoms in their cells."""
    first, *others = phases
    sizes = {len(structures[i]) for i in phases}
    if len(sizes) > 1:
        raise DatasetError(
            f"{ELEMENTS}: the phases of {structures[first].symbols[0]} differ in size: leave the higher out"
        )
    return [Summand(structure=first, coefficient=-share / len(structures[first]), alternatives=tuple(others))]
