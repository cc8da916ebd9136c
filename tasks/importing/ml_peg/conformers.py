"""Conformers and torsions: relative energies within a molecule."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from tasks.datasets.card import DatasetError
from tasks.importing.energy_sums import Sums, mean_of_others
from tasks.importing.importers import read_atoms
from tasks.importing.ml_peg.files import (
    atoms_of,
    cell,
    charge_of,
    comment_of,
    csv_rows,
    in_bohr,
    inside,
    json_of,
    kcal,
    lines_of,
    multiplicity_of,
    number_in,
    only,
    sheet,
)
from tasks.importing.reading.stated_states import stated_charge, stated_multiplicity

# An atom of a mapped SMILES: [C@H:3], [13CH2+:4].
MAPPED_ATOM = re.compile(r"\[\d*([A-Z][a-z]?|[cnops])[^\]:]*:(\d+)\]")
LEFT_OUT = (89, 90)  # Ac, Th


def conf8(folder: Path) -> Sums:
    """37CONF8: above conformer 1 of each molecule."""
    path = only(folder, "*.xlsx")
    rows, name = sheet(path, "Rel_Energy_SP", 3)[:-3], ""
    sums = Sums()
    molecules: dict[str, dict[int, float]] = {}
    for row in rows:
        name = str(row["#1"] or name).strip()
        molecules.setdefault(name, {})[int(cell(row, "#2", path))] = float(cell(row, "#3", path))
    for molecule, energies in molecules.items():
        names = [
            sums.structure(f"{molecule}_{n}", atoms_of(folder / "PBEPBE-D3" / f"{molecule}_{n}_PBEPBE-D3.xyz"))
            for n in energies
        ]
        sums.relative(names, list(energies.values()), list(energies).index(1), molecule)
    return sums


def res_table(folder: Path, path: Path, charge: int | None = None, folders: bool = False) -> Sums:
    """Rows `$tmer A/$f B/$f x -1 1 $w VALUE` of a .res file: E(B) − E(A) [kcal/mol].

    Args:
        folders: whether a structure is `LABEL/struc.xyz`, not `LABEL.xyz`.
    """
    sums = Sums()
    for number, line in enumerate(lines_of(path)):
        words = line.split()
        if len(words) < 8 or not words[0].startswith("$tmer"):
            continue
        first, second = (word.removesuffix("/$f") for word in words[1:3])
        for label in (first, second):
            file = folder / label / "struc.xyz" if folders else folder / f"{label}.xyz"
            if label not in sums.structures:
                sums.structure(label, atoms_of(file), charge)
        sums.add(f"{second}-{first}", {second: 1.0, first: -1.0}, number_in(words[7], f"{path}: line {number + 1}"))
    return sums


def aconfl(folder: Path) -> Sums:
    """ACONFL."""
    return res_table(folder, folder / ".res", folders=True)


def upu46(folder: Path) -> Sums:
    """UpU46: above 2p; all are anions."""
    inner = inside(folder, "UPU46")
    sums, path = Sums(), inner / "references"
    sums.structure("2p", atoms_of(inner / "2p.xyz"), -1)
    for number, line in enumerate(lines_of(path, 5)):
        words = line.split()
        if len(words) < 8:
            continue
        label = words[2].removesuffix("/$f")
        if label == "2p":
            continue
        sums.structure(label, atoms_of(inner / f"{label}.xyz"), -1)
        reference = number_in(words[7], f"{path}: line {number + 6}")
        sums.add(label, {label: 1.0, "2p": -1.0}, reference, group="UpU", cluster="UpU")
    return sums


def dipconfs(folder: Path) -> Sums:
    """DipCONFS."""
    path = only(folder, "*.xlsx")
    sums = Sums()
    for row in sheet(path, "Conformational Energies in kcal", 1):
        origin, label = str(cell(row, "Reference Conformer", path)), str(cell(row, "Conformer", path))
        head = next((name for name in row if name.startswith("PNO-LCCSD(T)-F12b/AVQZ")), "PNO-LCCSD(T)-F12b/AVQZ’")
        for name in (origin, label):
            sums.structure(name, atoms_of(folder / name.replace("/", "-") / "struc.xyz"))
        reference = float(cell(row, head, path))
        sums.add(label, {label: 1.0, origin: -1.0}, reference, group=origin, cluster=origin)
    return sums


def sugar(folder: Path, table: str, structures: str, origin: str) -> Sums:
    """Conformers of a sugar: energies in the order of the sorted files, above that of `origin`."""
    path, files = folder / table, sorted((folder / structures).glob("*.xyz"))
    values = [float(cell(row, "dlpno/cbs(3-4)", path)) for row in csv_rows(path)]
    if len(values) != len(files):
        raise DatasetError(f"{path}: has {len(values)} rows for {len(files)} structures of {structures}")
    sums = Sums()
    names = [sums.structure(file.stem, atoms_of(file)) for file in files]
    if origin not in names:
        raise DatasetError(f"{folder / structures}: {origin}.xyz: is not there")
    sums.relative(names, values, names.index(origin), structures.partition("_")[0])
    return sums


def glucose205(folder: Path) -> Sums:
    """Glucose205."""
    return sugar(folder, "glucose.csv", "Glucose_structures", "alpha_002")


def maltose222(folder: Path) -> Sums:
    """Maltose222."""
    return sugar(folder, "maltose.csv", "Maltose_structures", "maltose_001")


def above_mean(folder: Path, table: str, column: str, in_hartree: bool, place: str) -> Sums:
    """Conformers above the mean over the conformers of their molecule.

    A label is `MOLECULE_CONFORMER`. Where it ends in a digit, the file has no underscore.
    """
    path = only(folder, "*CCSD(T).xlsx".replace("(", "[(]").replace(")", "[)]"))
    sums, molecules = Sums(), dict[str, dict[str, float]]()
    for row in sheet(path, table, 2):
        label, value = row["#1"], row[column]
        name = str(label or "").strip()
        if "_" not in name or not isinstance(value, (int, float)):
            continue
        energy = kcal(float(value), "hartree") if in_hartree else float(value)
        molecules.setdefault(name.partition("_")[0], {})[name] = energy
    for molecule, energies in molecules.items():
        for name in energies:
            file = name.replace("_", "", 1) if name[-1].isdigit() else name
            sums.structure(name, atoms_of(folder / place.format(file)))
        names, mean = list(energies), sum(energies.values()) / len(energies)
        for i, name in enumerate(names):
            sums.add(name, mean_of_others(names, i), energies[name] - mean, group=molecule, cluster=molecule)
    return sums


def mpconf196(folder: Path) -> Sums:
    """MPCONF196."""
    return above_mean(folder, "Old vs New CCSD(T) Reference Va", "#3", False, "{}.xyz")


def solv_mpconf196(folder: Path) -> Sums:
    """solvMPCONF196."""
    place = "solvMPCONF196_geometries/solvMPCONF196/{}/struc.xyz"
    return above_mean(folder, "Total PNO-CCS(T) Energies solvM", "#2", True, place)


def openff_torsions(folder: Path) -> Sums:
    """OpenFF_Tors: above the first frame of each torsion."""
    path = folder / "MP2_heavy-aug-cc-pVTZ_torsiondrive_data.json"
    sums = Sums()
    for id, entry in json_of(path).items():
        try:
            metadata, energies = entry["metadata"], entry["final_energies"]
            symbols = mapped_symbols(metadata["mapped_smiles"])
            charge = stated_charge(metadata["mol_charge"], f"{path}: {id}")
            spin = stated_multiplicity(metadata["mol_multiplicity"], f"{path}: {id}")
            pairs = list(zip(_in_order(energies), _in_order(entry["final_geometries"]), strict=True))
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{path}: {id}: {type(error).__name__}: {error}") from None
        frames: list[Atoms] = [in_bohr(symbols, _rows(positions, len(symbols))) for _, positions in pairs]
        names = [sums.structure(f"{id} {k}", atoms, charge, spin) for k, atoms in enumerate(frames)]
        sums.relative(names, [kcal(float(energy), "hartree") for energy, _ in pairs], 0, id)
    return sums


def _in_order(values: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
    """The values of a list, or of a table by angle."""
    return list(values.values() if isinstance(values, Mapping) else values)


def mapped_symbols(smiles: str) -> list[str]:
    """The elements of a SMILES whose atoms all have map numbers, in the order of these.

    Raises:
        ValueError: a number is missing.
    """
    atoms = {int(number): symbol.capitalize() for symbol, number in MAPPED_ATOM.findall(smiles)}
    if sorted(atoms) != list(range(1, len(atoms) + 1)) or not atoms:
        raise ValueError(f"{smiles!r}: the map numbers of its atoms must be 1, 2, …")
    return [atoms[number] for number in sorted(atoms)]


def _rows(positions: list[object], n_atoms: int) -> list[list[float]]:
    """Positions that are flat, or have a row an atom, as rows."""
    flat = [float(x) for row in positions for x in (row if isinstance(row, list) else [row])]  # type: ignore[arg-type]
    if len(flat) != 3 * n_atoms:
        raise ValueError(f"has {len(flat)} coordinates for {n_atoms} atoms")
    return [flat[i : i + 3] for i in range(0, len(flat), 3)]


def wiggle150(folder: Path) -> Sums:
    """Wiggle150: above the ground state of each molecule, `…_00`."""
    path = inside(folder, "wiggle150-structures") / "ct5c00015_si_003.xyz"
    comments = [line for line in lines_of(path) if re.match(r"\s*(ado|bpn|efa)_", line)]
    sums, energies = Sums(), dict[str, float]()
    frames = read_atoms(path, "xyz")
    if len(comments) != len(frames):
        raise DatasetError(f"{path}: has {len(comments)} comments with labels for {len(frames)} structures")
    for comment, atoms in zip(comments, frames, strict=True):
        words = comment.split()
        energies[sums.structure(words[0], atoms)] = number_in(words[-1], f"{path}: {words[0]}")
    for molecule in dict.fromkeys(name.split("_")[0] for name in energies):
        names = [name for name in energies if name.split("_")[0] == molecule]
        sums.relative(names, [energies[n] for n in names], names.index(f"{molecule}_00"), molecule)
    return sums


def isomer_complexes(folder: Path) -> Sums:
    """Isomers of complexes of the f block, above the first of each; .UHF has the number of unpaired electrons.

    Complexes of actinium and thorium are left out, as ML-PEG does.
    """
    sums = Sums()
    for system in sorted(path for path in folder.iterdir() if path.is_dir()):
        names, energies = [], []
        for isomer in sorted(system.glob("iso*")):
            file = isomer / "orca.xyz"
            atoms, name = atoms_of(file), f"{system.name}/{isomer.name}"
            if np.isin(atoms.numbers, LEFT_OUT).any():
                continue
            names.append(sums.structure(name, atoms, charge_of(isomer), multiplicity_of(isomer)))
            energies.append(kcal(number_in(comment_of(file).split()[-1], file), "hartree"))
        if names:
            sums.relative(names, energies, 0, system.name)
    return sums
