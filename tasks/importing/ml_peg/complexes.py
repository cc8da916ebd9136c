"""Interaction energies: a complex less its parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms

from tasks.datasets.card import DatasetError, dataset_faults
from tasks.importing.energy_sums import Sums
from tasks.importing.ml_peg.files import (
    NUMBER,
    atoms_of,
    cell,
    charge_of,
    csv_rows,
    inside,
    lines_of,
    multiplicity_of,
    number_in,
    only,
    stated_references,
)
from tasks.importing.reading.stated_states import stated_charge

NOBLE_GASES = (2, 10, 18, 36, 54, 86)
LIGANDS = ("UNK", "LIG", "MOL")


class Atlas(NamedTuple):
    """How a set of the Non-Covalent Interactions Atlas is laid out.

    Args:
        header: lines before the first reference.
        file: the name of a label's file, which that of others contains if not `exact`.
        noble_gases: whether systems with noble gases are judged; where not, ML-PEG leaves them out.
    """

    header: int
    file: Callable[[str], str] = str
    exact: bool = True
    noble_gases: bool = True


ATLASES = {
    "NCIA_D1200": Atlas(2, lambda label: f"{label}_100", noble_gases=False),
    "NCIA_D442x10": Atlas(2, lambda label: label[:-3] + label[-2:], noble_gases=False),
    "NCIA_HB300SPXx10": Atlas(3),
    "NCIA_HB375x10": Atlas(1, lambda label: label[len("HB375_") :].replace(".", ""), exact=False),
    "NCIA_IHB100x10": Atlas(1, lambda label: label[len("IHB100_") :].replace(".", ""), exact=False),
    "NCIA_R739x5": Atlas(3, noble_gases=False),
    "NCIA_SH250x10": Atlas(2),
}


def atlas(folder: Path, name: str) -> Sums:
    """A set of the Non-Covalent Interactions Atlas: label and reference of each line of `NAME_benchmark.txt`."""
    layout, path = ATLASES[name], folder / f"{name}_benchmark.txt"
    stems = {file.stem: file for file in sorted(inside(folder, "geometries").glob("*.xyz"))}
    sums = Sums()
    for line in lines_of(path, layout.header):
        words = line.split()
        if len(words) < 2:
            raise DatasetError(f"{path}: {line.strip()!r}: must be a label and a number")
        label, wanted = words[0], layout.file(words[0])
        file = stems.get(wanted) if layout.exact else _containing(wanted, stems)
        if file is None:
            raise DatasetError(f"{path}: {label}: geometries has no file {wanted}.xyz, or several")
        whole, where = atoms_of(file), str(file)
        if not layout.noble_gases and np.isin(whole.numbers, NOBLE_GASES).any():
            continue
        first, second = (_selected(whole, whole.info.get(f"selection_{part}"), where) for part in "ab")
        charges = [stated_charge(whole.info.get(f"charge_{part}", 0), where) for part in "ab"]
        names = [
            sums.structure(label, whole, sum(charges)),
            sums.structure(f"{label} A", first, charges[0]),
            sums.structure(f"{label} B", second, charges[1]),
        ]
        cluster = re.sub(r"_\d*\.?\d+$", "", label)
        terms = dict(zip(names, (1.0, -1.0, -1.0), strict=True))
        sums.add(label, terms, number_in(words[1], f"{path}: {label}"), cluster=cluster)
    return sums


def _containing(part: str, stems: Mapping[str, Path]) -> Path | None:
    """The one file whose stem contains `part`, not within a longer number; None if there is no such one."""
    found = [stem for stem in stems if part in stem]
    if len(found) > 1:
        apart = re.compile(rf"(?<!\d){re.escape(part)}(?!\d)")
        found = [stem for stem in found if apart.search(stem)]
    return stems[found[0]] if part and len(found) == 1 else None


def _selected(atoms: Atoms, selection: object, where: str) -> Atoms:
    """The atoms `i-j`, counted from 1."""
    match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", str(selection))
    if match is None:
        raise DatasetError(f"{where}: selection: {selection!r} must be i-j")
    first, last = int(match[1]), int(match[2] or match[1])
    return Atoms(atoms.numbers[first - 1 : last], atoms.positions[first - 1 : last])  # without the state of the whole


def three_folders(
    sums: Sums, id: str, folder: Path, parts: Mapping[str, float], file: str, reference: float, group: str = ""
) -> None:
    """Adds the item of a folder with a folder for each part: coefficients by its name."""
    terms = {}
    for part, coefficient in parts.items():
        inner = folder / part
        atoms = atoms_of(only(inner, file), "turbomole" if file.startswith("coord") else None)
        name = sums.structure(f"{id} {part}", atoms, charge_of(inner), multiplicity_of(inner))
        terms[name] = coefficient
    sums.add(id, terms, reference, group=group)


def lnci16(folder: Path) -> Sums:
    """LNCI16; its references are in ML-PEG's program."""
    root = inside(folder, "LNCI16_data/benchmark-LNCI16-main", "benchmark-LNCI16-main")
    stated = stated_references(folder)
    sums = Sums(stated.unit)
    for id, reference in stated.references.items():
        three_folders(sums, id, root / id, {"complex": 1.0, "host": -1.0, "guest": -1.0}, "struc.xyz", reference)
    return sums


def s30l(folder: Path) -> Sums:
    """S30L: charged and neutral complexes are groups; the reference is the first word of a line."""
    root = inside(folder, "S30L/s30l_test_set", "s30l_test_set")
    path = next(iter(sorted(folder.rglob("references_s30.txt"))), folder / "references_s30.txt")
    sums = Sums()
    for number, line in enumerate(lines_of(path), 1):
        charged = charge_of(root / str(number) / "AB") != 0
        value = number_in(line.split()[0], f"{path}: line {number}")
        group = "charged" if charged else "neutral"
        three_folders(sums, str(number), root / str(number), {"AB": 1.0, "A": -1.0, "B": -1.0}, "coord*", value, group)
    return sums


def ionpi19(folder: Path) -> Sums:
    """IONPI19: complex 16 has the first part of 15, and 18 and 19 are differences of conformers."""
    root = inside(folder, "ionpi19")
    path = root / "energies.txt"
    sums = Sums()
    for line in lines_of(path, 2):
        words = line.split()
        if len(words) < 2 or not words[0].isdigit():
            raise DatasetError(f"{path}: {line.strip()!r}: must be a number of a complex and its energy")
        k, value = int(words[0]), number_in(words[1], path)
        folders = {"A": f"{k}_A", "B": f"{k}_B"}
        if k not in (18, 19):
            folders = {"AB": f"{k}_AB", "A": "15_A" if k == 16 else f"{k}_A", "B": f"{k}_B"}
        signs = {"AB": 1.0, "A": -1.0, "B": -1.0} if k not in (18, 19) else {"A": 1.0, "B": -1.0}
        terms = {}
        for part, name in folders.items():
            inner = root / name
            terms[sums.structure(name, atoms_of(inner / "mol.xyz"), charge_of(inner))] = signs[part]
        sums.add(str(k), terms, value)
    return sums


def quid(folder: Path) -> Sums:
    """QUID: the best reference of each dimer; equilibrium and dissociation are groups.

    Points of a dissociation without a reference of CCSD(T) are left out, as ML-PEG does.
    """
    import h5py

    path = only(folder, "*.h5")
    sums = Sums("eV")
    with dataset_faults(path), h5py.File(path) as file:
        for label, entry in file.items():
            _quid_dimer(sums, label, entry, "equilibrium", label, path)
            for other, point in entry.get("dissociation", {}).items():
                _quid_dimer(sums, f"{label} {other}", point, "dissociation", label, path)
    return sums


def _quid_dimer(sums: Sums, id: str, entry: Any, group: str, cluster: str, path: Path) -> None:
    methods = {name: float(np.asarray(value)) for name, value in entry["Eint"].items()}
    order = ("ccsdt", "lno-ccsd(t)", "ccsd(t)")
    best = next((name for wanted in order for name in methods if wanted in name.casefold()), None)
    if best is None and group == "dissociation":
        return
    if best is None:
        raise DatasetError(f"{path}: {id}: Eint: has no method with CCSD(T), but {', '.join(methods)}")
    terms = {}
    for part, coefficient in (("dimer", 1.0), ("small_monomer", -1.0), ("big_monomer", -1.0)):
        atoms = Atoms(np.asarray(entry["atoms"][part]).astype(int), np.asarray(entry["positions"][part]))
        terms[sums.structure(f"{id} {part}", atoms)] = coefficient
    sums.add(id, terms, methods[best], group=group, cluster=cluster)


def fragments(folder: Path, classes: bool = True) -> Sums:
    """PLA15 and PLF547: protein and ligand in one PDB file, with charges in its remarks.

    Args:
        classes: whether groups are ion-ion, ion-neutral and neutral; else they are charged and neutral.

    Raises:
        DatasetError: a reference has no file, or a file no reference.
    """
    path = only(folder, "reference_energies.txt")
    references = _fragment_references(path)
    files = {file.stem: file for file in sorted(folder.rglob("*.pdb"))}
    if unmatched := sorted(files.keys() ^ references.keys()):
        missing = "reference" if unmatched[0] in files else "PDB file"
        raise DatasetError(f"{path}: {unmatched[0]}: has no {missing} ({len(unmatched)} such names)")
    sums = Sums()
    for stem, reference in references.items():
        atoms, is_ligand, charges = _pdb_parts(files[stem])
        names = [
            sums.structure(stem, atoms, charges[0]),
            sums.structure(f"{stem} protein", atoms[~is_ligand], charges[1]),
            sums.structure(f"{stem} ligand", atoms[is_ligand], charges[2]),
        ]
        if classes:
            group = "ion-ion" if charges[1] and charges[2] else "ion-neutral" if any(charges[1:]) else "neutral"
        else:
            group = "charged" if any(charges) else "neutral"
        cluster = stem.partition("_")[0]
        terms = dict(zip(names, (1.0, -1.0, -1.0), strict=True))
        sums.add(stem, terms, reference, group=group, cluster=cluster)
    return sums


def _fragment_references(path: Path) -> dict[str, float]:
    """References [kcal/mol] by file: the last word of a line; its second one is the file and the residue.

    Heads, rules and lines of fewer than three words have none.
    """
    references: dict[str, float] = {}
    for line in lines_of(path):
        words = line.split()
        if len(words) < 3 or words[0].casefold() == "no." or words[0].startswith("-"):
            continue
        if not NUMBER.fullmatch(words[-1]):
            continue
        parts = words[1].replace(".pdb", "").split("_")
        name, value = "_".join(parts[:-1] if len(parts) > 2 else parts), float(words[-1])
        if references.setdefault(name, value) != value:
            raise DatasetError(f"{path}: {name}: has two references")
    return references


def _pdb_parts(path: Path) -> tuple[Atoms, Any, list[int]]:
    """The atoms of a PDB file, which of them are the ligand's, and the charges of all, protein and ligand."""
    charges, ligand, symbols, positions = dict[str, int](), [], [], []
    for line in lines_of(path):
        if match := re.match(r"(?i)REMARK\s+(?:\d+\s+)?(charge(?:_[ab])?)\s*[:=]?\s*([-+]?\d+)", line):
            charges[match[1].casefold()] = int(match[2])
        elif line.startswith(("ATOM", "HETATM")):
            ligand.append(line[17:20].strip() in LIGANDS)
            symbol = line[76:78].strip() or re.sub(r"[^A-Za-z]", "", line[12:16])[:1]
            symbols.append(symbol.capitalize())
            positions.append([number_in(line[i : i + 8], path) for i in (30, 38, 46)])
    if not any(ligand) or all(ligand):
        raise DatasetError(f"{path}: has no two parts: the residues of ligands are {', '.join(LIGANDS)}")
    stated = [charges.get(name, 0) for name in ("charge", "charge_a", "charge_b")]
    return Atoms(symbols, positions), np.array(ligand), stated


# By category of `subsets.csv`, its name among the metrics.
GMTKN55_CATEGORIES = {
    "Basic properties and reaction energies for small systems": "Small systems",
    "Reaction energies for large systems and isomerisation reactions": "Large systems",
    "Reaction barrier heights": "Barrier heights",
    "Intramolecular noncovalent interactions": "Intramolecular NCIs",
    "Intermolecular noncovalent interactions": "Intermolecular NCIs",
}


def gmtkn55(folder: Path) -> Sums:
    """GMTKN55: weighted; systems with a charged or open-shell species, and excluded subsets, are left out.

    ML-PEG counts all systems of a subset in its weight, here those that are judged count.
    """
    import yaml

    path = only(folder, "GMTKN55.yaml")
    with dataset_faults(path):
        subsets = yaml.safe_load(path.read_text(encoding="utf-8"))
    table = folder / "subsets.csv"
    stated = {str(cell(row, "subset", table)).casefold(): row for row in csv_rows(table)}
    sums = Sums()
    for subset, systems in subsets.items():
        row = stated.get(str(subset).casefold())
        if row is None:
            raise DatasetError(f"{table}: subset: has no {subset}")
        if str(cell(row, "excluded", table)).casefold() in ("true", "1", "yes"):
            continue
        for id, system in systems.items():
            species = system["Species"]
            if any(s.get("Charge", 0) or s.get("UHF", 0) for s in species.values()):
                continue
            terms = {}
            for name, s in species.items():
                atoms = Atoms(s["Elements"], s["Positions"])
                terms[sums.structure(f"{subset} {name}", atoms, 0, 1)] = float(s["Count"])
            category = str(cell(row, "category", table))
            group = GMTKN55_CATEGORIES.get(category, category)
            sums.add(f"{subset} {id}", terms, float(system["Energy"]), group=group, weight=float(system["Weight"]))
    return sums


def _reference_character(complex: str) -> str:
    """The group of complex 1 to 28 of 3dTMV: single-reference, multi-reference, or between them."""
    number = int(complex) if complex.isdigit() else 0
    return "" if not number else "SR" if number <= 12 else "SR/MR" if number <= 22 else "MR"


def tmv(folder: Path) -> Sums:
    """3dTMV: one structure at two charges; references, charges and 2S+1 are in ML-PEG's program.

    `charges` and `multiplicities` of `references.json` are by item, and by `ITEM ionised`.
    """
    stated = stated_references(folder)
    sums = Sums(stated.unit)
    for id, reference in stated.references.items():
        atoms = atoms_of(inside(folder, "3dTMV") / id / "struc.xyz")
        terms = {}
        for name, coefficient in ((f"{id} ionised", 1.0), (id, -1.0)):
            if name not in stated.charges or name not in stated.multiplicities:
                raise DatasetError(f"{folder / 'references.json'}: charges, multiplicities: {name!r}: is missing")
            charge, spin = stated.charges[name], stated.multiplicities[name]
            terms[sums.structure(name, atoms, charge, spin)] = coefficient
        sums.add(id, terms, reference, group=_reference_character(id))
    return sums
