"""Small folders in the layouts of ML-PEG's benchmarks, made after their description."""

from __future__ import annotations

import bz2
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import yaml
from ase import Atoms
from ase.build import bulk, fcc111, molecule
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import write
from ase.units import Bohr
from openpyxl import Workbook

from tests.tasks.importing.phonopy_texts import computed, copper, text_of

WATER = molecule("H2O")
DIMER = WATER + Atoms("OH2", WATER.positions + np.array([0.0, 0.0, 3.0]))
BOX = Atoms(WATER.symbols, WATER.positions + 5.0, cell=np.eye(3) * 10.0, pbc=True)
ICE = Atoms("OH2OH2", np.vstack([WATER.positions, WATER.positions + 2.5]) + 1.0, cell=np.eye(3) * 5.0, pbc=True)


def text(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def structure(path: Path, atoms: Atoms, **options: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, atoms, **options)


def poscar(path: Path, atoms: Atoms) -> None:
    structure(path, atoms, format="vasp")


def workbook(path: Path, sheet: str, rows: list[list[Any]]) -> None:
    book = Workbook()
    book.active.title = sheet  # type: ignore[union-attr]
    for row in rows:
        book.active.append(row)  # type: ignore[union-attr]
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)


def x23(folder: Path) -> None:
    text(folder / "lattice_energy" / "list", "ice\n")
    inner = folder / "lattice_energy" / "ice"
    poscar(inner / "POSCAR_solid", ICE)
    poscar(inner / "POSCAR_molecule", BOX)
    text(inner / "nmol", "2\n")
    text(inner / "lattice_energy_DMC", "-59.2\n")


def cposs209(folder: Path) -> None:
    root = folder / "CPOSS209_lattice_energy"
    systems = {"water": "ACR", "carba": "CBZ", "fena": "FEA", "drug": "XYZ"}
    text(root / "list", "\n".join(systems) + "\n")
    for system, code in systems.items():
        for k, crystal in ((1, ICE), (2, BOX)):
            poscar(root / system / f"crystal_data_{code}0{k}_PsiCrys", crystal)
        for name in ("gas_a", "gas_b"):
            poscar(root / system / name, BOX)
        text(root / system / "nmol", "2\n1\n")
        text(root / system / "lattice_energies.txt", "-59.0\n-57.5\n")


def gscdb(folder: Path) -> None:
    head = ["Dataset", "Reaction", "Stoichiometry", "Reference"]
    sets = ["BH28", "BH46", "BH876", "BHDIV7", "BHPERI11", "BHROT27"]
    sets += ["CRBH14", "DBH22", "INV23", "ORBH35", "PX9", "WCPT26"]
    rows = [[name, f"{name}_1", "1,dimer,-2,water", -0.008] for name in sets]
    workbook(folder / "Info" / "DatasetEval.xlsx", "Sheet1", [head, *rows])
    for name, atoms in (("dimer", DIMER), ("water", WATER)):
        copy = atoms.copy()
        copy.info |= {"charge": 0, "multiplicity": 1}
        structure(folder / "xyz_files" / f"{name}.xyz", copy, format="extxyz")


WITH_HELIUM = WATER + Atoms("He", [[0, 0, 4.0]])


def atlas(folder: Path, name: str, header: int, rows: dict[str, tuple[str, Atoms]]) -> None:
    """By label the stem of its file and its dimer; references are -5, -6, … kcal/mol."""
    lines = ["# kcal/mol"] * header + [f"{label} {-5.0 - k}" for k, label in enumerate(rows)]
    text(folder / f"{name}_benchmark.txt", "\n".join(lines) + "\n")
    for stem, atoms in rows.values():
        copy = atoms.copy()
        copy.info |= {"selection_a": "1-3", "selection_b": f"4-{len(copy)}", "charge_a": 0, "charge_b": 0}
        structure(folder / "geometries" / f"{stem}.xyz", copy, format="extxyz")


def ncia(folder: Path) -> None:
    rows = {"1.01_water": ("1.01_water_100", DIMER), "1.02_helium": ("1.02_helium_100", WITH_HELIUM)}
    atlas(folder, "NCIA_D1200", 2, rows)


def ncia_d442(folder: Path) -> None:
    atlas(folder, "NCIA_D442x10", 2, {"1.01_0.90": ("1.01_090", DIMER), "1.01_1.00": ("1.01_100", DIMER)})


def ncia_hb300(folder: Path) -> None:
    atlas(folder, "NCIA_HB300SPXx10", 3, {"1.01_090": ("1.01_090", DIMER), "1.02_090": ("1.02_090", WITH_HELIUM)})


def ncia_hb375(folder: Path) -> None:
    rows = {"HB375_1_0.90": ("1_090_water", DIMER), "HB375_11_0.90": ("11_090_water", DIMER)}
    atlas(folder, "NCIA_HB375x10", 1, rows)


def ncia_ihb100(folder: Path) -> None:
    atlas(folder, "NCIA_IHB100x10", 1, {"IHB100_1.01_0.90": ("101_090a", DIMER)})


def ionpi19(folder: Path) -> None:
    lines = ["IONPI19 of CCSD(T)", "No. E [kcal/mol]", *(f"{k} -{k}.5 kcal/mol 99" for k in range(1, 20))]
    text(folder / "ionpi19" / "energies.txt", "\n".join(lines) + "\n")
    for k in range(1, 20):
        for part, atoms in (("AB", DIMER), ("A", WATER), ("B", WATER)):
            structure(folder / "ionpi19" / f"{k}_{part}" / "mol.xyz", atoms, format="xyz")


def s30l(folder: Path) -> None:
    root = folder / "S30L" / "s30l_test_set"
    text(root / "references_s30.txt", "-29.0 kcal 1\n-20.8 kcal 2\n")
    for k, charge in ((1, 0), (2, 1)):
        for part, atoms in (("AB", DIMER), ("A", WATER), ("B", WATER)):
            structure(root / str(k) / part / "coord", atoms, format="turbomole")
            text(root / str(k) / part / ".CHRG", f"{charge if part != 'B' else 0}\n")


def mpconf(folder: Path) -> None:
    rows = [["title"], ["label", "old", "new"], ["FGG_55", 9.0, 1.0], ["FGG_80", 9.0, 2.0]]
    rows += [["COHVAW_a", 9.0, 1.0], ["COHVAW_b", 9.0, 5.0]]
    workbook(folder / "Energies_CCSD(T).xlsx", "Old vs New CCSD(T) Reference Va", rows)
    for name in ("FGG55", "FGG80", "COHVAW_a", "COHVAW_b"):
        structure(folder / f"{name}.xyz", WATER, format="xyz")


def solv_mpconf(folder: Path) -> None:
    rows = [["title"], ["label", "energy"], ["FGG_55", -1.0], ["FGG_80", -1.002], ["WG_a", -2.0], ["WG_b", -2.004]]
    workbook(folder / "Energies_CCSD(T).xlsx", "Total PNO-CCS(T) Energies solvM", rows)
    for name in ("FGG55", "FGG80", "WG_a", "WG_b"):
        place = folder / "solvMPCONF196_geometries" / "solvMPCONF196" / name / "struc.xyz"
        structure(place, WATER, format="xyz")


def conf8(folder: Path) -> None:
    rows: list[list[Any]] = [["t"], ["t"], ["molecule", "conformer", "energy"], ["ABC ", 1, 0.0], ["ABC ", 2, 1.5]]
    workbook(folder / "37Conf8_data.xlsx", "Rel_Energy_SP", [*rows, ["mean", 0, 0], ["x", 0, 0], ["x", 0, 0]])
    for n in (1, 2):
        structure(folder / "PBEPBE-D3" / f"ABC_{n}_PBEPBE-D3.xyz", WATER, format="xyz")


def bh2o(folder: Path) -> None:
    energies = {"rct": -1.0, "ts": -0.98, "pro": -1.01}
    keys = {f"{name}_{s}_vacuum": e for name in ("amide11", "ester") for s, e in energies.items()}
    text(folder / "mp2_super.json", json.dumps(keys | {"ester_ts_water": 9.0}))
    for name in ("amide_1_1", "ester"):
        for state in energies:
            structure(folder / "molecules" / "for_sp" / f"{name}_{state}_x_-1.xyz", WATER, format="xyz")


def oc157(folder: Path) -> None:
    for system, u in (("001", ""), ("002", "LDAU = True")):
        for k, energy in ((1, -10.0), (2, -13.0), (3, -11.0)):
            inner = folder / "OC_Dataset" / system / str(k)
            poscar(inner / "CONTCAR", bulk("Cu", cubic=True))
            text(inner / "OUTCAR", f"  energy  without entropy=  -1.0  energy(sigma->0) =  {energy}\n")
            text(inner / "INCAR", u + "\n")


def crbh20(folder: Path) -> None:
    for state in ("react", "ts"):
        poscar(folder / "CRBH20" / "1" / state / "POSCAR", BOX)
    text(folder / "references.json", json.dumps({"unit": "eV", "references": {"1": 1.7194}}))


def tmv(folder: Path) -> None:
    names = ("1", "13", "23")
    for name in names:
        structure(folder / "3dTMV" / name / "struc.xyz", WATER, format="xyz")
    stated = {
        "unit": "kcal/mol",
        "references": dict.fromkeys(names, 188.4),
        "charges": {f"{n}{s}": q for n in names for s, q in (("", 0), (" ionised", 1))},
        "multiplicities": {f"{n}{s}": q for n in names for s, q in (("", 1), (" ionised", 2))},
    }
    text(folder / "references.json", json.dumps(stated))


def with_head(path: Path, atoms: Atoms, head: str) -> None:
    """A POSCAR with another first line."""
    poscar(path, atoms)
    path.write_text("\n".join([head, *path.read_text().splitlines()[1:]]) + "\n")


def defectstab(folder: Path) -> None:
    root, iron = folder / "Defectstab", bulk("Fe", cubic=True)
    with_head(root / "fe_sia" / "ref.poscar", iron, "E0= -16.0")
    with_head(root / "fe_sia" / "110.poscar", iron + Atoms("Fe", [[1.0, 0, 0]]), "Fe with an interstitial -20.5")
    carbon, boron = (
        Atoms("C4", np.eye(4, 3) * 2, cell=[5] * 3, pbc=True),
        Atoms("B2", [[0] * 3, [2, 0, 0]], cell=[5] * 3),
    )
    carbide = Atoms("B4C", np.arange(15).reshape(5, 3) * 0.3, cell=[5] * 3, pbc=True)
    inner = root / "boroncarbide_stoichiometry"
    with_head(inner / "boroncarbide_refbc_graphiteLDA.poscar", carbon, "E0= -40.0")
    with_head(inner / "boroncarbide_refbc_alphaB_LDA.poscar", boron, "E0= -14.0")
    with_head(inner / "B4C.poscar", carbide, "E0= -39.0")
    inner = root / "boroncarbide_defects"
    for name, energy in (("NoDefects", -390.0), ("Bipolar", -388.0), ("VB0", -380.0), ("other", -1.0)):
        with_head(inner / f"{name}.poscar", carbide[1:] if name == "VB0" else carbide, f"E0= {energy}")
    inner = root / "mapi_tetragonal"
    for name, atoms, energy in (
        ("MAPI_MAI", carbide[:2], -100.0),
        ("MAPI_pristine", carbide, -300.0),
        ("MAPI_VMAI", carbide[1:], -248.0),
    ):
        with_head(inner / f"{name}.poscar", atoms, f"E0= {energy}")


def gmtkn55(folder: Path) -> None:
    def species(atoms: Atoms, count: int, charge: int = 0) -> dict[str, Any]:
        positions = [[float(x) for x in row] for row in atoms.positions]
        symbols = atoms.get_chemical_symbols()
        return {"Count": count, "Charge": charge, "UHF": 0, "Elements": symbols, "Positions": positions}

    neutral = {"dimer": species(DIMER, 1), "water": species(WATER, -2)}
    charged = {"ion": species(WATER, 1, 1), "water": species(WATER, -1)}
    systems = {
        "1": {"Energy": -5.0, "Weight": 11.5, "Species": neutral},
        "2": {"Energy": 290.0, "Weight": 11.5, "Species": charged},
    }
    text(folder / "GMTKN55.yaml", yaml.safe_dump({"S22": systems, "G21IP": systems}))
    heads = ("Intermolecular noncovalent interactions", "Basic properties and reaction energies for small systems")
    text(folder / "subsets.csv", f"subset,category,excluded\ns22,{heads[0]},False\ng21ip,{heads[1]},True\n")


def openff(folder: Path) -> None:
    geometry = [[float(x) / Bohr for x in row] for row in WATER.positions]
    entry = {
        "metadata": {"mol_charge": 0, "mol_multiplicity": 1, "mapped_smiles": "[O:1]([H:2])[H:3]"},
        "final_energies": [-76.0, -75.99],
        "final_geometries": [geometry, geometry],
    }
    text(folder / "MP2_heavy-aug-cc-pVTZ_torsiondrive_data.json", json.dumps({"42": entry}))


def wiggle150(folder: Path) -> None:
    lines = []
    for label, energy in (("ado_00", 0.0), ("ado_01", 12.5), ("bpn_00", 0.0), ("bpn_07", 30.25)):
        rows = [f"{s} {x:.8f} {y:.8f} {z:.8f}" for s, (x, y, z) in zip(WATER.symbols, WATER.positions, strict=True)]
        lines += ["3", f"{label} {energy}", *rows]
    text(folder / "wiggle150-structures" / "ct5c00015_si_003.xyz", "\n".join(lines) + "\n")


def isomers(folder: Path) -> None:
    for system, metal in (("Lu_a", "Lu"), ("Th_b", "Th")):
        for k, energy in ((1, -1000.0), (2, -1000.004), (3, -999.998)):
            inner = folder / system / f"iso{k}"
            structure(inner / "orca.xyz", WATER + Atoms(metal, [[0, 0, 3.0]]), format="xyz", comment=f"job E {energy}")
            text(inner / ".CHRG", "3\n")
            text(inner / ".UHF", "0\n")


def upu46(folder: Path) -> None:
    rows = [f"$tmer 2p/$f {name}/$f x -1 1 $w {energy}" for name, energy in (("1a", 1.5), ("2p", 0.0))]
    text(folder / "UPU46" / "references", "\n".join([*["# head"] * 5, *rows]) + "\n")
    for name in ("1a", "2p"):
        structure(folder / "UPU46" / f"{name}.xyz", WATER[:2], format="xyz")


def rdb7(folder: Path) -> None:
    for state, energy in (("r000000", -76.0), ("ts000000", -75.9), ("p000000_0", -76.1)):
        atom = " 1 O 8.00 0.1 0.2 0.3"
        lines = ["ATOMIC COORDINATES", "", "NR ATOM CHARGE X Y Z", "", atom, "", "Bond lengths", atom]
        lines += [" !CCSD(T)-F12b total energy  -1.0", f" CCSD(T)-F12/cc-pVDZ-F12 energy=  {energy}"]
        text(folder / "qm_logs" / "rxn000000" / f"{state}.log", "\n".join(lines) + "\n")


def bh9(folder: Path) -> None:
    places = folder / "BH9_SI" / "XYZ_files"
    for label in ("1_1", "2_1", "10_1"):
        for end in ("TS", "R1", "R2"):
            atoms = DIMER if end == "TS" else WATER
            rows = [f"{s} {x:.8f} {y:.8f} {z:.8f}" for s, (x, y, z) in zip(atoms.symbols, atoms.positions, strict=True)]
            text(places / f"{label}{end}.xyz", "\n".join([str(len(atoms)), "0 1", *rows]) + "\n")
    for n, value in ((1, 11.0), (2, 22.0), (3, 33.0)):
        text(folder / "BH9_SI" / "DB_files" / "BH" / f"BH9-BH_{n}_forward.db", f"1 x\nref {value}\n")


def fragment(path: Path, charges: tuple[int, int, int]) -> None:
    lines = [f"REMARK {name} {q}" for name, q in zip(("charge", "charge_a", "charge_b"), charges, strict=True)]
    for i, (symbol, position) in enumerate(zip(DIMER.symbols, DIMER.positions, strict=True), 1):
        residue = "ALA" if i <= 3 else "LIG"
        x, y, z = position
        head = f"ATOM  {i:5d}  {symbol:<3s} {residue} A{1 + (i > 3):4d}    "
        lines.append(f"{head}{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {symbol:>2s}")
    text(path, "\n".join(lines) + "\nEND\n")


def pla15(folder: Path) -> None:
    fragment(folder / "1abc.pdb", (1, 1, 0))
    text(folder / "reference_energies.txt", "No. system energy\n-----------------\n1 1abc.pdb -45.5\n")


def plf547(folder: Path) -> None:
    for name, charges in (("1ABC_15", (1, 1, 0)), ("1ABC_16", (0, 1, -1)), ("2XYZ_3", (0, 0, 0))):
        fragment(folder / f"{name}.pdb", charges)
    rows = "1 1ABC_15_lys.pdb -45.5\n2 1ABC_16_asp.pdb -60.5\n3 2XYZ_3_ala.pdb -1.5\n"
    text(folder / "reference_energies.txt", f"No. system energy\n-----------------\n{rows}")


def quid(folder: Path) -> None:
    folder.mkdir(parents=True)
    with h5py.File(folder / "QUID.h5", "w") as file:
        for group in ("d1", "d1/dissociation/1.5", "d1/dissociation/2"):
            for name, value in (("PBE0", 0.0), ("CCSD(T)", -0.2), ("LNO-CCSD(T)", -0.21)):
                if name == "PBE0" or not group.endswith("/2"):
                    file[f"{group}/Eint/{name}"] = value
            for part, atoms in (("dimer", DIMER), ("small_monomer", WATER), ("big_monomer", WATER)):
                file[f"{group}/atoms/{part}"] = atoms.numbers
                file[f"{group}/positions/{part}"] = atoms.positions


def lnci16(folder: Path) -> None:
    root = folder / "LNCI16_data" / "benchmark-LNCI16-main" / "TYK2"
    for part, atoms in (("complex", DIMER), ("host", WATER), ("guest", WATER)):
        structure(root / part / "struc.xyz", atoms, format="xyz")
    text(root / "complex" / ".CHRG", "1\n")
    text(root / "host" / ".CHRG", "1\n")
    text(folder / "references.json", json.dumps({"unit": "kcal/mol", "references": {"TYK2": -70.0}}))


def s24(folder: Path) -> None:
    slab = fcc111("Cu", (1, 1, 2), vacuum=5.0)
    both = slab + Atoms("N2", [[0, 0, 9.0], [0, 0, 10.1]])
    gas = molecule("N2")
    frames = []
    for atoms, energy in ((slab, -7.0), (both, -24.5), (gas, -17.0)):
        copy = Atoms(atoms.symbols, atoms.positions, cell=slab.cell, pbc=True)
        copy.calc = SinglePointCalculator(copy, energy=energy)
        frames.append(copy)
    structure(folder / "s24" / "s24_data.extxyz", frames)  # type: ignore[arg-type]


def cleavage(folder: Path) -> None:
    slab = fcc111("Cu", (1, 1, 4), vacuum=5.0, periodic=True)
    slab.info |= {"area_slab": 5.6, "thickness_ratio": 4.0, "ref_cleavage_energy": 90.0}
    structure(folder / "cleavage_energy" / "mp-30" / "111_0.xyz", [slab, bulk("Cu")], format="extxyz")  # type: ignore[arg-type]


def vacancies(folder: Path) -> None:
    crystal, root = bulk("Cu", cubic=True), folder / "Elemental_TM_Vacancy"
    poscar(root / "Cu" / "CONTCAR_bulk", crystal)
    poscar(root / "Cu" / "CONTCAR_vacancy", crystal[1:])
    text(root / "Cu" / "vacancy_formation_energy_PBE", "1.07\n")
    text(root / "list", "Cu\n")


def relastab(folder: Path) -> None:
    for subset in ("fe", "cawo4"):
        for name, energy in (("a", -10.0), ("b", -12.5), ("c", -11.0)):
            crystal = bulk("Fe", cubic=True)
            with_head(folder / "Relastab" / subset / f"{name}.poscar", crystal, f"a cell of energy {energy}")


def silicon(folder: Path) -> None:
    for name in ("64_atoms", "216_atoms", "216_atoms_di_to_single"):
        frames = []
        for k in range(2):
            crystal = bulk("Si", cubic=True)
            crystal.rattle(0.1 * k, seed=k)
            crystal.info["ref_energy_ev"] = -40.0 + 0.5 * k
            crystal.arrays["ref_forces"] = np.full((8, 3), 0.25 * k)
            frames.append(crystal)
        structure(folder / f"{name}.extxyz", frames, format="extxyz")  # type: ignore[arg-type]


def lithium(folder: Path) -> None:
    start = bulk("Cu", cubic=True)
    end = start.copy()
    end.positions[0] += [0.5, 0.0, 0.0]
    structure(folder / "LiFePO4_start_bc.cif", start)
    structure(folder / "LiFePO4_end_b.cif", end)


def record(atoms: Atoms) -> dict[str, Any]:
    """As pymatgen writes it."""
    sites = [
        {"species": [{"element": s, "occu": 1}], "abc": [float(x) for x in row]}
        for s, row in zip(atoms.get_chemical_symbols(), atoms.get_scaled_positions(), strict=True)
    ]
    return {"lattice": {"matrix": atoms.cell.tolist()}, "sites": sites}


def alexandria(path: Path, *crystals: Atoms, energies: Sequence[float], first: int = 1) -> None:
    """A file of Alexandria, with energies [eV] of whole cells."""
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = [
        {"structure": record(atoms), "energy": energy, "data": {"mat_id": f"agm{k}"}}
        for k, (atoms, energy) in enumerate(zip(crystals, energies, strict=True), first)
    ]
    path.write_bytes(bz2.compress(json.dumps({"entries": entries}).encode()))


# By element, the face-centred lattice constant [Å] and the energy of an atom [eV] without pressure; and constant and
# E + p V at 50 GPa, by Birch's equation of state with B₀ of 77 to 247 GPa and B₀′ = 5.
PRESSED = {
    "Cu": (3.63, -3.7, 3.38, -0.4),
    "Al": (4.04, -3.7, 3.65, 0.6),
    "Ag": (4.15, -2.7, 3.79, 2.0),
    "Ni": (3.52, -5.5, 3.33, -2.4),
    "Pt": (3.97, -6.1, 3.79, -1.6),
}


def high_pressure(folder: Path) -> None:
    for name, place in (("P000", 0), ("P050", 2)):
        crystals = [bulk(element, a=values[place]) for element, values in PRESSED.items()]
        energies = [values[place + 1] for values in PRESSED.values()]
        alexandria(folder / f"{name}.json.bz2", *crystals, energies=energies)


# By formula, the lattice constant [Å] of a layer like graphene and the energy of its cell [eV]; so of chains. Of fewer
# than ten, the share of the baseline that a model without chemistry has varies widely from secret to secret.
LAYERS = {
    "C2": (2.46, -18.4), "BN": (2.51, -17.6), "Si2": (3.87, -9.7), "Ge2": (4.06, -8.2), "GaN": (3.21, -10.9),
    "AlN": (3.13, -14.0), "SiC": (3.10, -14.0), "ZnO": (3.29, -8.5), "BP": (3.21, -12.5), "Sn2": (4.67, -6.9),
}  # fmt: skip
CHAINS = {
    "C": (1.30, -8.0), "BN": (2.62, -15.7), "Si": (2.25, -3.9), "Al": (2.45, -2.4), "Se": (2.40, -2.6),
    "Cu": (2.31, -1.9), "Au": (2.61, -1.6), "Te": (2.78, -2.3), "Ge": (2.37, -3.4), "NaCl": (5.20, -6.2),
}  # fmt: skip


def low_dimensional(folder: Path) -> None:
    layers = [
        Atoms(formula, scaled_positions=[[0, 0, 0.5], [1 / 3, 2 / 3, 0.5]], cell=[a, a, 20, 90, 90, 120], pbc=True)
        for formula, (a, _) in LAYERS.items()
    ]
    alexandria(folder / "alexandria_2d_000.json.bz2", *layers, energies=[energy for _, energy in LAYERS.values()])
    chains = []
    for formula, (a, _) in CHAINS.items():
        atoms = Atoms(formula, cell=[a, 20, 100], pbc=True)
        atoms.positions[:, 0] = a * np.arange(len(atoms)) / len(atoms)
        chains.append(atoms)
    alexandria(folder / "alexandria_1d_000.json.bz2", *chains, energies=[energy for _, energy in CHAINS.values()])


# By crystal, its type and lattice constants [Å] of PBE and of experiment; ten, as of the layers.
CONSTANTS = {
    "Cu": ("fcc", 3.63, 3.60), "MgO": ("rocksalt", 4.25, 4.19), "Al": ("fcc", 4.04, 4.02), "Ag": ("fcc", 4.15, 4.06),
    "W": ("bcc", 3.19, 3.16), "Si": ("diamond", 5.47, 5.42), "Ge": ("diamond", 5.78, 5.64),
    "GaAs": ("zincblende", 5.75, 5.64), "NaCl": ("rocksalt", 5.70, 5.57),
}  # fmt: skip
SILICON_CARBIDE = {"SiC(a)": 3.09, "SiC(c)": 5.07}


def lattice_constants(folder: Path) -> None:
    types = {name: type for name, (type, *_) in CONSTANTS.items()} | {"SiC": "2H-SiC"}
    text(folder / "lattice_constants_ref_types.json", json.dumps(types))
    for file, place in (("lattice_constants_ref.json", 1), ("lattice_constants_ref_exp.json", 2)):
        constants = {name: values[place] for name, values in CONSTANTS.items()} | SILICON_CARBIDE
        text(folder / file, json.dumps(constants))


def water_density(folder: Path) -> None:
    for temperature in ("270.0", "300.0"):
        structure(folder / f"water_T_{temperature}" / "water_equilib.xyz", BOX, format="extxyz")


def phonons(folder: Path) -> None:
    """Copper, and copper in an unstable structure."""
    inner = folder / "alex_phonons" / "alex_phonon_data"
    inner.mkdir(parents=True)
    simple_cubic = computed(Atoms("Cu", cell=2.4 * np.eye(3), pbc=True), np.eye(3))
    for name, phonon in (("agm1", copper()), ("agm2", simple_cubic)):
        (inner / f"{name}.yaml.bz2").write_bytes(bz2.compress(text_of(phonon, inner).encode()))


def nothing(folder: Path) -> None:
    folder.mkdir()


MADE: Mapping[str, Any] = {
    "37CONF8": conf8,
    "UpU46": upu46,
    "isomer_complexes": isomers,
    "RDB7": rdb7,
    "MPCONF196": mpconf,
    "solvMPCONF196": solv_mpconf,
    "BH2O-36": bh2o,
    "CRBH20": crbh20,
    "NCIA_D442x10": ncia_d442,
    "NCIA_HB300SPXx10": ncia_hb300,
    "NCIA_HB375x10": ncia_hb375,
    "NCIA_IHB100x10": ncia_ihb100,
    "IONPI19": ionpi19,
    "S30L": s30l,
    "PLF547": plf547,
    "3dTMV": tmv,
    "OC157": oc157,
    "Defectstab": defectstab,
    "X23": x23,
    "CPOSS209": cposs209,
    "GSCDB138_barriers": gscdb,
    "NCIA_D1200": ncia,
    "GMTKN55": gmtkn55,
    "OpenFF_Tors": openff,
    "Wiggle150": wiggle150,
    "BH9": bh9,
    "PLA15": pla15,
    "QUID": quid,
    "LNCI16": lnci16,
    "S24": s24,
    "cleavage_energy": cleavage,
    "elemental_tm_vacancies": vacancies,
    "Relastab": relastab,
    "si_defects": silicon,
    "li_diffusion": lithium,
    "high_pressure_relaxation": high_pressure,
    "low_dimensional_relaxation": low_dimensional,
    "lattice_constants": lattice_constants,
    "water_density": water_density,
    "phonons": phonons,
    "extensivity": nothing,
}
