"""Reactions: barriers, and the many sets of GSCDB."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile
from pathlib import Path

import numpy as np
from ase import Atoms

from tasks.datasets.card import DatasetError
from tasks.importing.energy_sums import Sums
from tasks.importing.importers import read_atoms
from tasks.importing.ml_peg.files import (
    NUMBER,
    atoms_of,
    cell,
    charge_and_multiplicity,
    in_bohr,
    inside,
    json_of,
    kcal,
    lines_of,
    number_in,
    only,
    sheet,
    stated_references,
)
from tasks.importing.reading.stated_states import stated_charge, stated_multiplicity
from tasks.structures.frames import Float
from tasks.structures.predictions import Labels

MOLPRO_ENERGY = re.compile(r"CCSD\(T\)-F12/cc-pVDZ-F12 energy.*?(-?\d+\.\d+)\s*$")
MOLPRO_ATOM = re.compile(r"^\s*\d+\s+([A-Z][A-Z]?)\s+\d+\.\d+\s+(-?\d+\.\d+)\s+(-?\d+\.\d+)\s+(-?\d+\.\d+)\s*$")


# Sets of GSCDB138 with the total energies of atoms, which are sums of one term.
TOTAL_ENERGIES = ("AE11", "AE18")


def gscdb(folder: Path, sets: Sequence[str]) -> Sums:
    """The named sets of GSCDB138, each a quantity: `Info/DatasetEval.xlsx` and `xyz_files/NAME.xyz`.

    A species that is not there fails the import: ML-PEG leaves its reactions out.
    """
    path = folder / "Info" / "DatasetEval.xlsx"
    sums, wanted = Sums(), set(sets)
    for row in sheet(path, _first_sheet(path), 1):
        name = str(row.get("Dataset") or "")
        if name not in wanted:
            continue
        id = str(cell(row, "Reaction", path))
        words = [word.strip() for word in str(cell(row, "Stoichiometry", path)).split(",") if word.strip()]
        if len(words) % 2:
            raise DatasetError(f"{path}: {id}: Stoichiometry: must be pairs of coefficient and name")
        terms: dict[str, float] = {}
        for coefficient, species in zip(words[::2], words[1::2], strict=True):
            if species not in sums.structures:
                atoms = atoms_of(folder / "xyz_files" / f"{species}.xyz", "extxyz")
                charge = stated_charge(atoms.info.get("charge", 0), f"{path}: {species}")
                spin = stated_multiplicity(atoms.info.get("multiplicity", 0), f"{path}: {species}")
                sums.structure(species, atoms, charge, spin)
            terms[species] = terms.get(species, 0.0) + number_in(coefficient, f"{path}: {id}")
        reference = kcal(float(cell(row, "Reference", path)), "hartree")
        quantity, alone = name if len(sets) > 1 else "", name in TOTAL_ENERGIES
        sums.add(id, terms, reference, group=name, cluster=name + id, quantity=quantity, unbalanced=alone)
    if missing := wanted - {row.group for row in sums.rows}:
        raise DatasetError(f"{path}: Dataset: has no {sorted(missing)[0]}")
    return sums


def _first_sheet(path: Path) -> str:
    from openpyxl import load_workbook

    if not path.is_file():
        raise DatasetError(f"{path}: is not there")
    return str(load_workbook(path, read_only=True).sheetnames[0])


# Reactions of BH2O_36 whose files are spelled otherwise.
BH2O_FILES = {
    "amide11": "amide_1_1",
    "amide12": "amide_1_2",
    "amide21": "amide_2_1",
    "amide22": "amide_2_2",
    "basicepoxide1": "basic_epoxide_1",
    "basicepoxide2": "basic_epoxide_2",
}


def bh2o_36(folder: Path) -> Sums:
    """BH2O_36: barriers forward and reverse, in vacuum."""
    path = folder / "mp2_super.json"
    energies: dict[str, dict[str, float]] = {}
    for key, value in json_of(path).items():
        if match := re.match(r"(.+)_(rct|ts|pro)_vacuum", key):
            energies.setdefault(match[1], {})[match[2]] = float(value)
    sums = Sums()
    for reaction, states in energies.items():
        for state in states:
            file = only(inside(folder, "molecules/for_sp"), f"{BH2O_FILES.get(reaction, reaction)}_{state}_*.xyz")
            sums.structure(f"{reaction} {state}", atoms_of(file), int(file.stem.rpartition("_")[2]))
        for way, start in (("forward", "rct"), ("reverse", "pro")):
            if {"ts", start} <= states.keys():
                barrier = kcal(states["ts"] - states[start], "hartree")
                terms = {f"{reaction} ts": 1.0, f"{reaction} {start}": -1.0}
                sums.add(f"{reaction} {way}", terms, barrier, group=way, cluster=reaction)
    return sums


def bh9(folder: Path) -> Sums:
    """BH9: forward barriers; the number of a file of references is the place of the label among all, sorted."""
    root = inside(folder, "BH9_SI")
    places = root / "XYZ_files"
    labels = sorted(
        {file.stem.removesuffix("TS") for file in places.glob("*TS.xyz")},
        key=lambda label: [int(number) for number in re.findall(r"\d+", label)],
    )
    sums = Sums()
    for n, label in enumerate(labels, 1):
        path = root / "DB_files" / "BH" / f"BH9-BH_{n}_forward.db"
        values = [words for line in lines_of(path) if (words := line.split())[0].startswith("ref")]
        if not values:
            raise DatasetError(f"{path}: has no line `ref VALUE`")
        terms = {}
        for file in [places / f"{label}TS.xyz", *sorted(places.glob(f"{label}R*.xyz"))]:
            sign = 1.0 if file.stem.endswith("TS") else -1.0
            terms[sums.structure(file.stem, atoms_of(file, "xyz"), *charge_and_multiplicity(file))] = sign
        sums.add(label, terms, number_in(values[0][1], path), group=label.partition("_")[0])
    return sums


def crbh20(folder: Path) -> Sums:
    """CRBH20; its references are in ML-PEG's program."""
    stated, root = stated_references(folder), inside(folder, "CRBH20")
    sums = Sums(stated.unit)
    for id, reference in stated.references.items():
        names = {state: sums.structure(f"{id} {state}", _molecule(root / id / state / "POSCAR")) for state in STATES}
        sums.add(id, {names["ts"]: 1.0, names["react"]: -1.0}, reference)
    return sums


STATES = ("react", "ts")


def _molecule(path: Path) -> Atoms:
    """A molecule in a box, as the POSCAR has it."""
    return atoms_of(path, "vasp")


def cyclo70(folder: Path) -> Sums:
    """CYCLO70: barriers forward and reverse."""
    path = folder / "dlpno-ccsdt-34.dat"
    sums = Sums()
    for line in lines_of(path):
        words = line.split()
        if len(words) < 3 or not NUMBER.fullmatch(words[1]):
            continue
        root = inside(folder, "XYZ_CYCLO70") / words[0]
        files = {"r": sorted(root.glob("r*.xyz")), "TS": sorted(root.glob("TS*.xyz")), "p": sorted(root.glob("p*.xyz"))}
        names: dict[str, list[str]] = {}
        for state, found in files.items():
            for file in found:
                atoms = atoms_of(file, "extxyz")
                charge = stated_charge(atoms.info.get("charge", 0), file)
                spin = stated_multiplicity(atoms.info.get("mult", 0), file, "mult")
                names.setdefault(state, []).append(sums.structure(f"{words[0]} {file.stem}", atoms, charge, spin))
        for way, start, value in (("forward", "r", words[1]), ("reverse", "p", words[2])):
            if names.get("TS") and names.get(start):
                terms = {names["TS"][0]: 1.0, **dict.fromkeys(names[start], -1.0)}
                reference = number_in(value, f"{path}: {words[0]}")
                sums.add(f"{words[0]} {way}", terms, reference, group=way, cluster=words[0])
    return sums


def criegee22(folder: Path) -> Sums:
    """Criegee22: the label of a line is the word for which there are structures."""
    path, root = folder / "reference.txt", inside(folder, "structures")
    labels = {file.name.removesuffix("-TS.xyz") for file in root.glob("*-TS.xyz")}
    sums = Sums("kJ/mol")
    for line in lines_of(path):
        words = line.split()
        found = [label for word in words if (label := re.split(r"-reac|-TS", word)[0]) in labels]
        if len(words) < 9 or not found:
            continue
        label = found[0]
        terms = {
            sums.structure(f"{label} {state}", atoms_of(root / f"{label}-{state}.xyz")): sign
            for state, sign in (("TS", 1.0), ("reac", -1.0))
        }
        sums.add(label, terms, number_in(words[8], f"{path}: {label}"))
    return sums


def rdb7(folder: Path) -> Sums:
    """RDB7: of the logs of MOLPRO. A reaction without files is left out, where ML-PEG counts an error of zero."""
    sums = Sums()
    for root in sorted(inside(folder, "qm_logs").glob("rxn*")):
        states = {}
        for state in ("r", "ts"):
            files = sorted(root.glob(f"{state}*"))
            if len(files) != 1:
                raise DatasetError(f"{root}: {state}*: has {len(files)} files, not one")
            atoms, energy = _molpro(files[0])
            states[state] = (sums.structure(f"{root.name} {state}", atoms), energy)
        barrier = kcal(states["ts"][1] - states["r"][1], "hartree")
        sums.add(root.name, {states["ts"][0]: 1.0, states["r"][0]: -1.0}, barrier)
    return sums


def _molpro(path: Path) -> tuple[Atoms, float]:
    """The molecule and its energy [Hartree] of a log of MOLPRO."""
    lines = lines_of(path)
    energies = [match[1] for line in lines if (match := MOLPRO_ENERGY.search(line))]
    matches = dropwhile(lambda match: match is None, map(MOLPRO_ATOM.match, lines))
    atoms = [match.groups() for match in takewhile(lambda match: match is not None, matches) if match]
    if not energies or not atoms:
        raise DatasetError(f"{path}: has no energy of CCSD(T)-F12, or no coordinates")
    symbols = [symbol.capitalize() for symbol, *_ in atoms]
    return in_bohr(symbols, [[float(x) for x in xyz] for _, *xyz in atoms]), float(energies[0])


def si_defects(folder: Path) -> Sums:
    """The frames of the three paths of defects in silicon above the first of each; `forces` are labels."""
    sums, forces = Sums("eV"), list[Float]()
    for name in ("64_atoms", "216_atoms", "216_atoms_di_to_single"):
        path = inside(folder, "si_defects") / f"{name}.extxyz"
        frames = read_atoms(path, "extxyz")
        if any("ref_energy_ev" not in atoms.info for atoms in frames):
            raise DatasetError(f"{path}: ref_energy_ev: a frame has none")
        if any("ref_forces" not in atoms.arrays for atoms in frames):
            raise DatasetError(f"{path}: ref_forces: a frame has none")
        names = [sums.structure(f"{name} {k}", atoms, group=name) for k, atoms in enumerate(frames)]
        forces += [np.array(atoms.arrays["ref_forces"], np.float64) for atoms in frames]
        energies = [float(atoms.info["ref_energy_ev"]) for atoms in frames]
        for k in range(1, len(names)):
            terms = {names[k]: 1.0, names[0]: -1.0}
            sums.add(names[k], terms, energies[k] - energies[0], quantity=name, group=name, cluster=name)
    sums.labels = Labels(None, np.concatenate(forces), None)
    return sums
