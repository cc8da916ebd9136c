"""Crystals: lattice energies, vacancies, surfaces, and adsorption on them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from ase import Atoms
from ase.build import fcc111
from ase.calculators.calculator import PropertyNotImplementedError

from tasks.datasets.card import DatasetError
from tasks.importing.energy_sums import Sums, counts_of
from tasks.importing.importers import read_atoms
from tasks.importing.ml_peg.files import (
    atoms_of,
    cell,
    column_of,
    csv_rows,
    inside,
    json_of,
    lines_of,
    number_in,
    number_of,
)

GAP = 100.0  # Å
TOTAL_ENERGY = re.compile(r"energy\s*\(\s*sigma->0\s*\)\s*=\s*(-?\d+\.\d+)")


def systems_of(root: Path) -> list[str]:
    """The names in the file `list` of a folder, or its folders."""
    path = root / "list"
    if path.is_file():
        return [line.split()[0] for line in lines_of(path)]
    return sorted(inner.name for inner in root.iterdir() if inner.is_dir())


def x23(folder: Path) -> Sums:
    """X23: E_crystal / n − E_molecule."""
    root = inside(folder, "lattice_energy")
    sums = Sums("kJ/mol")
    for system in systems_of(root):
        n = number_of(root / system / "nmol")
        crystal = sums.structure(f"{system} crystal", atoms_of(root / system / "POSCAR_solid", "vasp"))
        molecule = sums.structure(f"{system} molecule", atoms_of(root / system / "POSCAR_molecule", "vasp"))
        sums.add(system, {crystal: 1 / n, molecule: -1.0}, number_of(root / system / "lattice_energy_DMC"))
    return sums


def dmc_ice13(folder: Path) -> Sums:
    """DMC_ICE13: each ice, for one molecule, less a molecule; references in meV by polymorph."""
    root = inside(folder, "dmc-ice13-main/INPUT/VASP", "INPUT/VASP")
    path = next(iter(sorted(folder.rglob("ice_polymorph_ref_PBE_D3.json"))), folder / "ice_polymorph_ref_PBE_D3.json")
    sums = Sums("meV")
    water = sums.structure("water", atoms_of(root / "water" / "POSCAR", "vasp"))
    for polymorph, reference in json_of(path).items():
        ice = atoms_of(root / polymorph / "POSCAR", "vasp")
        n = counts_of(ice)[8]
        name = sums.structure(polymorph, ice)
        sums.add(polymorph, {name: 1 / n, water: -1.0}, float(reference), group="ice")
    return sums


# By family of CPOSS209, the letters that the names of its crystals have; the others are small drug molecules.
FAMILIES = {
    "small rigid molecules": ("CRN", "ACR", "PTH", "SAC", "FLU"),
    "carbamazepine family": ("CBZ", "DHC", "CYH", "CYT", "OXC"),
    "fenamate family": ("FEA", "MFA", "TFA", "FFA", "NFA"),
}


def cposs209(folder: Path) -> Sums:
    """CPOSS209: E_crystal / n less the lowest gas conformer, which is the model's own.

    Families are groups, the polymorphs of a molecule a cluster. The columns of `nmol` and `lattice_energies.txt` are in
    the order of the sorted files of crystals.
    """
    root = inside(folder, "CPOSS209_lattice_energy")
    sums = Sums("kJ/mol")
    for system in systems_of(root):
        inner = root / system
        gas = [sums.structure(f"{system} {file.name}", _any(file)) for file in sorted(inner.glob("gas_*"))]
        if not gas:
            raise DatasetError(f"{inner}: gas_*: is not there")
        crystals = sorted(inner.glob("crystal_*"))
        counts, energies = (column_of(inner / name, len(crystals)) for name in ("nmol", "lattice_energies.txt"))
        for file, n, reference in zip(crystals, counts, energies, strict=True):
            name = sums.structure(f"{system} {file.name}", _any(file))
            terms, others = {name: 1 / n, gas[0]: -1.0}, {gas[0]: gas[1:]}
            sums.add(name, terms, reference, group=_family(file), cluster=system, alternatives=others)
    return sums


def _family(crystal: Path) -> str:
    """Of a crystal `crystal_data_ACR01_….cif` or `crystal_ACR01.cif`."""
    words = crystal.name.removeprefix("crystal_").split(".")[0].split("_")
    short = words[1] if len(words) > 1 else words[0]
    found = [name for name, marks in FAMILIES.items() if any(mark in short for mark in marks)]
    return found[0] if found else "small drug molecules"


def _any(path: Path) -> Atoms:
    return atoms_of(path, None if path.suffix in (".xyz", ".extxyz", ".cif") else "vasp")


def tm_vacancies(folder: Path) -> Sums:
    """elemental_tm_vacancies: E_vacancy − (N − 1)/N E_bulk."""
    sums, root = Sums("eV"), inside(folder, "Elemental_TM_Vacancy")
    for system in systems_of(root):
        inner = root / system
        bulk, vacancy = (atoms_of(inner / f"CONTCAR_{part}", "vasp") for part in ("bulk", "vacancy"))
        names = [sums.structure(f"{system} {part}", atoms) for part, atoms in (("bulk", bulk), ("vacancy", vacancy))]
        terms = {names[1]: 1.0, names[0]: -len(vacancy) / len(bulk)}
        sums.add(system, terms, number_of(inner / "vacancy_formation_energy_PBE"))
    return sums


def oc157(folder: Path) -> Sums:
    """OC157: the three differences of each triple; triples of a DFT+U are left out, as ML-PEG does."""
    root = inside(folder, "OC_Dataset")
    sums = Sums("eV")
    for system in sorted(path for path in root.iterdir() if path.is_dir()):
        incar = system / "1" / "INCAR"
        if incar.is_file() and "LDAU" in incar.read_text(errors="replace"):
            continue
        names, energies = [], []
        for k in (1, 2, 3):
            inner = system / str(k)
            file = inner / "CONTCAR" if (inner / "CONTCAR").is_file() else inner / "POSCAR"
            found = TOTAL_ENERGY.findall((inner / "OUTCAR").read_text(errors="replace"))
            if not found:
                raise DatasetError(f"{inner / 'OUTCAR'}: has no energy(sigma->0)")
            names.append(sums.structure(f"{system.name}/{k}", atoms_of(file, "vasp")))
            energies.append(float(found[-1]))
        for a, b in ((0, 1), (0, 2), (1, 2)):
            terms = {names[b]: 1.0, names[a]: -1.0}
            id = f"{system.name} {b + 1}-{a + 1}"
            sums.add(id, terms, energies[b] - energies[a], group=system.name, cluster=system.name)
    return sums


def cmrads200(folder: Path) -> Sums:
    """CMRAds200: adsorption energies at PBE; coefficients and systems are lists."""
    frames = {str(a.info.get("sys_formula")): a for a in read_atoms(folder / "CMRads_structures.extxyz", "extxyz")}
    path = folder / "reactions_dict.csv"
    sums = Sums("eV")
    for number, row in enumerate(csv_rows(path), 1):
        where = f"{path}: row {number}"
        systems, coefficients = (_list(str(cell(row, head, where))) for head in ("Systems", "Stoichiometry"))
        if len(systems) != len(coefficients) or any(system not in frames for system in systems):
            raise DatasetError(f"{where}: Systems, Stoichiometry: do not fit, or a structure is missing")
        terms: dict[str, float] = {}
        for system, coefficient in zip(systems, coefficients, strict=True):
            name = sums.structure(system, frames[system])
            terms[name] = terms.get(name, 0.0) + number_in(coefficient, where)
        sums.add(f"{number} {systems[0]}", terms, number_in(str(cell(row, "PBE_ads", where)), where))
    return sums


def _list(text: str) -> list[str]:
    """The parts of a list as Python writes it, or of words with commas between them."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = text.strip("[]").split(",")
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return [str(each).strip(" '\"") for each in values]


def energy_of(atoms: Atoms, where: str) -> float:
    """The energy that a structure states [eV].

    Raises:
        DatasetError: it states none.
    """
    if atoms.calc is not None:
        try:
            return float(atoms.calc.get_property("energy", atoms, allow_calculation=False))
        except PropertyNotImplementedError:
            pass
    for name in ("energy", "ref_energy", "REF_energy", "dft_energy"):
        if name in atoms.info:
            return float(atoms.info[name])
    raise DatasetError(f"{where}: energy: is missing")


def s24(folder: Path) -> Sums:
    """S24: surface, surface with molecules and molecule in turn; for one molecule."""
    path = inside(folder, "s24") / "s24_data.extxyz"
    frames = read_atoms(path, "extxyz")
    sums = Sums("eV")
    for k in range(0, len(frames) - 2, 3):
        surface, both, molecule = frames[k : k + 3]
        where = f"{path}: frame {k}"
        n = (len(both) - len(surface)) / len(molecule)
        if n < 1 or n != round(n):
            raise DatasetError(f"{where}: the next two frames are not the surface with molecules, and a molecule")
        names = [sums.structure(f"{k + i} {a.symbols}", a) for i, a in enumerate((surface, both, molecule))]
        energies = [energy_of(a, where) for a in (surface, both, molecule)]
        reference = (energies[1] - energies[0]) / n - energies[2]
        sums.add(f"{k // 3} {both.symbols}", {names[1]: 1 / n, names[0]: -1 / n, names[2]: -1.0}, reference)
    return sums


def oxygen_adsorption(folder: Path) -> Sums:
    """elemental_slab_oxygen_adsorption: slab, slab with O, and an atom of O, in each file."""
    sums = Sums("eV")
    for path in sorted(inside(folder, "elemental_slab_oxygen_adsorption_pbe").glob("*.xyz")):
        frames = read_atoms(path, "extxyz")
        if len(frames) != 3:
            raise DatasetError(f"{path}: has {len(frames)} frames, not slab, slab with O, and O")
        energies = [energy_of(atoms, str(path)) for atoms in frames]
        for atoms in frames:
            if len(atoms) == 1:
                atoms.pbc = False
        parts = ("slab", "adsorbed", "O")
        names = [
            sums.structure(f"{path.stem} {part}", a, 0, 3 if len(a) == 1 else None)
            for part, a in zip(parts, frames, strict=True)
        ]
        reference = energies[1] - energies[0] - energies[2]
        sums.add(path.stem, {names[1]: 1.0, names[0]: -1.0, names[2]: -1.0}, reference)
    return sums


def sbh17(folder: Path) -> Sums:
    """SBH17: barriers of molecules on surfaces."""
    root = inside(folder, "SBH17")
    sums = Sums("eV")
    for system in systems_of(root):
        inner = root / system
        names = {s: sums.structure(f"{system} {s}", atoms_of(inner / f"{s}.xyz")) for s in ("ts", "gp")}
        sums.add(system, {names["ts"]: 1.0, names["gp"]: -1.0}, number_of(inner / "barrier_pbe"))
    return sums


def cleavage(folder: Path) -> Sums:
    """cleavage_energy: (E_slab − ratio × E_bulk) / 2A, which the frames of each file state."""
    sums = Sums("meV/Å²")
    for path in sorted(inside(folder, "cleavage_energy").rglob("*.xyz")):
        frames = read_atoms(path, "extxyz")
        slab = next((a for a in frames if "area_slab" in a.info), None)
        bulk = next((a for a in frames if a is not slab), None)
        if slab is None or bulk is None:
            raise DatasetError(f"{path}: has no slab with area_slab, or no bulk")
        info = slab.info
        id = " ".join([path.parent.name, path.stem])
        try:
            area, ratio = float(info["area_slab"]), float(info["thickness_ratio"])
            reference = float(info["ref_cleavage_energy"])
        except KeyError as error:
            raise DatasetError(f"{path}: {error}: is missing") from None
        names = [sums.structure(f"{id} {part}", a) for part, a in (("slab", slab), ("bulk", bulk))]
        terms = {names[0]: 1.0, names[1]: -ratio}
        sums.add(id, terms, reference, area=2 * area, cluster=path.parent.name)
    return sums


def extensivity(folder: Path) -> Sums:
    """extensivity: slabs of Al and Ni (111), eight layers each, in one cell, less each alone there; nothing is read.

    Each slab has 100 Å of vacuum on both sides, and that of Ni is 100 Å higher, in the cell of Al with 100 Å more.
    """
    sums = Sums("meV")
    aluminium, nickel = (fcc111(element, (4, 4, 8), vacuum=GAP, periodic=True) for element in ("Al", "Ni"))
    nickel.positions[:, 2] += GAP
    cell = aluminium.cell.array.copy()
    cell[2, 2] += GAP
    names = []
    for name, atoms in (("Al", aluminium), ("Ni", nickel), ("Al and Ni", aluminium + nickel)):
        names.append(sums.structure(name, Atoms(atoms.numbers, atoms.positions, cell=cell, pbc=True)))
    sums.add("Al and Ni", {names[2]: 1.0, names[0]: -1.0, names[1]: -1.0}, 0.0)
    return sums
