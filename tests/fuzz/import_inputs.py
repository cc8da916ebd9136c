"""A small sound input for every format of `judge data import`, and a task that judges its data set."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.emt import EMT
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import write

from tests.tasks.importing import test_conductivities_import, test_diatomics_import, test_din, test_dynamics_import
from tests.tasks.importing import test_scans as scans
from tests.tasks.importing.ml_peg.layouts import MADE, record
from tests.tasks.importing.mlipaudit.made_up_layout import write_layout
from tests.tasks.importing.phonopy_texts import computed, text_of
from tests.tasks.importing.reading.test_aselmdb import packed, row, write_lmdb
from tests.tasks.importing.rmd17_files import write_rmd17
from tests.tasks.importing.test_acwf import published_folder
from tests.tasks.importing.test_equation_of_state_curves import scan

CRYSTALS = ("--domain", "Inorganic Materials", "--label-set", "PBE")
MOLECULES = ("--domain", "Molecules", "--label-set", "PBE")
ALONE = ("--domain", "Inorganic Materials")
QUICK: Mapping[str, Any] = {"optimizer": "BFGS", "fmax": 0.05, "max_steps": 2}
BAND = {"n_images": 3, "interpolation": "linear", "end_steps": 1, "steps": 1, "climbing_steps": 1}


class ImportInput(NamedTuple):
    """A sound input.

    Args:
        write: writes it into a folder; the path to import.
        options: of the import, but for name and version.
        kind: that judges it; empty: several data sets are written, which are only loaded again.
        parameters: of the task.
    """

    write: Callable[[Path], Path]
    options: tuple[str, ...]
    kind: str = ""
    parameters: Mapping[str, Any] = {}


def labelled(n: int = 10) -> list[Atoms]:
    """Cells of copper with EMT's labels."""
    made = []
    for seed in range(n):
        atoms = bulk("Cu", cubic=True)
        atoms.rattle(0.1, seed=seed)
        atoms.calc = EMT()
        values = {"energy": atoms.get_potential_energy(), "forces": atoms.get_forces(), "stress": atoms.get_stress()}
        atoms.calc = SinglePointCalculator(atoms, **values)
        made.append(atoms)
    return made


def frames(ending: str) -> Callable[[Path], Path]:
    """Labelled frames in a file that ASE writes."""

    def make(folder: Path) -> Path:
        write(folder / f"frames.{ending}", labelled())
        return folder / f"frames.{ending}"

    return make


def deepmd(folder: Path) -> Path:
    system, made = folder / "copper", labelled()
    (system / "set.000").mkdir(parents=True)
    (system / "type_map.raw").write_text("Cu\n")
    (system / "type.raw").write_text("0\n" * 4)
    arrays = {
        "coord": [atoms.positions.ravel() for atoms in made],
        "box": [atoms.cell.array.ravel() for atoms in made],
        "energy": [atoms.get_potential_energy() for atoms in made],
        "force": [atoms.get_forces().ravel() for atoms in made],
    }
    for name, values in arrays.items():
        np.save(system / "set.000" / f"{name}.npy", np.array(values))
    return system


def named(folder: Path, **structures: Atoms) -> None:
    """`structures.extxyz` with names; molecules have 2S+1 = 1."""
    for name, atoms in structures.items():
        atoms.info |= {"name": name} | ({} if atoms.pbc.any() else {"charge": 0, "multiplicity": 1})
    write(folder / "structures.extxyz", list(structures.values()))


def reactions(folder: Path) -> Path:
    named(folder, water=molecule("H2O"), dimer=molecule("CO"), carbon=molecule("CO2"))
    terms = [{"structure": "carbon", "coefficient": 1}, {"structure": "dimer", "coefficient": -1}]
    rows = [{"id": "r", "reference": -1.2, "terms": terms, "unbalanced": True, "group": "g"}]
    rows.append({**rows[0], "id": "s", "reference": 0.5, "terms": [terms[0], {**terms[1], "structure": "water"}]})
    (folder / "reactions.json").write_text(json.dumps({"reference_unit": "eV", "reactions": rows}))
    return folder


def din(folder: Path) -> Path:
    return test_din.folder_with(folder, test_din.TEXT)


def energy_scans(folder: Path) -> Path:
    write(folder / "ethane.extxyz", scans.torsion(4))
    scans.state(folder, {"ethane": {"reference": [0.0, 1.0, 2.0, 0.5], "group": "alkane"}}, reference_unit="kcal/mol")
    return folder


def relaxed(folder: Path) -> Path:
    start, other = bulk("Cu", cubic=True), molecule("H2O")
    named(folder, copper=start, water=other)
    references = [start.copy(), other.copy()]
    references[0].set_cell(1.02 * start.cell, scale_atoms=True)
    references[1].rattle(0.02, seed=1)
    write(folder / "references.extxyz", references)
    return folder


def dynamics(folder: Path) -> Path:
    rdf = {**test_dynamics_import.RDF, "reference": test_dynamics_import.CURVE}
    angle = {"measure": "angle", "triples": [[1, 0, 2]], "reference": 104.5}
    return test_dynamics_import.folder(folder, [test_dynamics_import.waters()], [rdf, angle], group="liquids")


def path_ends(folder: Path) -> Path:
    start = bulk("Al", cubic=True).repeat((2, 1, 1))
    end = start[1:]
    del start[0]
    end.positions[0] += [0.5, 0.5, 0.0]
    named(folder, reactant=start, product=end)
    path = {"id": "hop", "reactant": "reactant", "product": "product", "reference": {"barrier": 0.6}}
    (folder / "paths.json").write_text(json.dumps({"reference_unit": "eV", "paths": [path]}))
    return folder


def crystals(folder: Path) -> Path:
    named(folder, copper=bulk("Cu"), silver=bulk("Ag"))
    rows = [
        {"id": id, "structure": id, "group": "fcc", "cluster": "metals", "pressure_gpa": 5.0}
        | {"reference": {"volume_per_atom": volume, "k_vrh_gpa": 140.0, "g_vrh_gpa": 50.0}}
        for id, volume in (("copper", 11.0), ("silver", 16.0))
    ]
    (folder / "crystals.json").write_text(json.dumps({"crystals": rows}))
    return folder


def phonon_crystals(folder: Path) -> Path:
    """Crystals with supercells."""
    named(folder, copper=bulk("Cu"))
    two = [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
    row = {"id": "Cu", "structure": "copper", "supercell": two, "primitive": np.eye(3).tolist()}
    row |= {"reference": {"max_frequency_k": 300.0, "entropy_j_per_mol_k": 30.0}}
    (folder / "crystals.json").write_text(json.dumps({"crystals": [row]}))
    return folder


def diatomics(folder: Path) -> Path:
    return test_diatomics_import.written(folder, {"PBE": {"O-O": test_diatomics_import.FILE["PBE"]["O-O"]}})


def conductivities(folder: Path) -> Path:
    return test_conductivities_import.written(folder)


def curves(folder: Path) -> Path:
    write(folder / "curves.extxyz", scan())
    return folder / "curves.extxyz"


def matcalc(folder: Path) -> Path:
    rows = [{"mp_id": "mp-30", "structure": record(bulk("Cu")), "bulk_modulus_vrh": 140.0, "shear_modulus_vrh": 50.0}]
    (folder / "elasticity.json.gz").write_bytes(gzip.compress(json.dumps(rows).encode()))
    return folder / "elasticity.json.gz"


def vacancies(column: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / "fcc.csv").write_text(f"symbol,volume_per_atom,{column}\nCu,12.0,1.07\nAg,17.0,0.9\n")
        return folder / "fcc.csv"

    return make


def structures(folder: Path) -> Path:
    write(folder / "structures.extxyz", [bulk("Cu"), bulk("Ag", cubic=True)])
    return folder / "structures.extxyz"


def volume_scans(folder: Path) -> Path:
    crystal = bulk("Cu")
    crystal.info["name"] = "copper"
    write(folder / "crystals.extxyz", crystal)
    return folder / "crystals.extxyz"


def phonopy(folder: Path) -> Path:
    (folder / "copper.yaml").write_text(text_of(computed(bulk("Cu", a=3.589826), np.eye(3)), folder))
    return folder


def rmd17(folder: Path) -> Path:
    write_rmd17(folder, m=12)
    return folder


def mlipaudit(folder: Path) -> Path:
    write_layout(folder)
    return folder


def ml_peg(folder: Path) -> Path:
    for name in ("BH2O-36", "X23"):
        MADE[name](folder / name)
    return folder


DYNAMICS = {"ensemble": "nvt", "steps": 4, "store_every": 1, "equilibration_steps": 1, "timestep_fs": 0.5}
UNITS = ("--units", "ase")
SHAPE = {"references": False, "shape": True}
INPUTS: Mapping[str, ImportInput] = {
    "extxyz": ImportInput(frames("extxyz"), (*CRYSTALS, *UNITS), "labelled_frames"),
    "traj": ImportInput(frames("traj"), (*CRYSTALS, *UNITS), "labelled_frames"),
    "db": ImportInput(frames("db"), (*CRYSTALS, *UNITS), "labelled_frames"),
    "deepmd": ImportInput(deepmd, CRYSTALS, "labelled_frames"),
    "rmd17": ImportInput(rmd17, MOLECULES, "labelled_frames"),
    "reactions": ImportInput(reactions, MOLECULES, "energy_differences"),
    "din": ImportInput(din, MOLECULES, "energy_differences"),
    "scans": ImportInput(energy_scans, MOLECULES, "energy_profiles"),
    "relaxed-structures": ImportInput(relaxed, CRYSTALS, "relaxed_structures", {"relaxation": QUICK}),
    "dynamics": ImportInput(dynamics, MOLECULES, "dynamics", DYNAMICS),
    "reaction-paths": ImportInput(path_ends, CRYSTALS, "reaction_paths", {"band": BAND}),
    "crystals": ImportInput(crystals, CRYSTALS, "elasticity", {"relaxation": QUICK, "ions": "clamped"}),
    "diatomics": ImportInput(diatomics, CRYSTALS, "diatomics"),
    "thermal-conductivity": ImportInput(conductivities, CRYSTALS, "thermal_conductivity", {"relaxation": QUICK}),
    "eos": ImportInput(curves, (*CRYSTALS, *UNITS), "equation_of_state"),
    "acwf": ImportInput(published_folder, CRYSTALS, "equation_of_state"),
    "matcalc": ImportInput(matcalc, CRYSTALS, "elasticity", {"relaxation": QUICK, "ions": "clamped"}),
    "vacancies": ImportInput(vacancies("e_vacform"), CRYSTALS, "relaxed_structures", {"relaxation": QUICK}),
    "vacancy-migration": ImportInput(vacancies("e_vacmig"), CRYSTALS, "reaction_paths", {"band": BAND}),
    "structures": ImportInput(structures, ALONE, "nve", {"steps": 20}),
    "volume-scans": ImportInput(volume_scans, ALONE, "equation_of_state", SHAPE),
    "phonopy": ImportInput(phonopy, (*CRYSTALS, "--mesh", "20"), "phonons", {"relaxation": QUICK, "mesh": 20.0}),
    "mlipaudit": ImportInput(mlipaudit, ()),
    "ml-peg": ImportInput(ml_peg, ()),
}


def aselmdb(folder: Path) -> Path:
    path = folder / "frames.aselmdb"
    rows = {str(i).encode(): packed(row(atoms, 3 * i)) for i, atoms in enumerate(labelled(), 1)}
    write_lmdb(path, rows | {b"nextid": packed(11), b"deleted_ids": packed([]), b"metadata": packed({})})
    return path


# Further inputs of a format, by name.
FURTHER: Mapping[str, tuple[str, ImportInput]] = {
    "aselmdb": ("db", ImportInput(aselmdb, (*CRYSTALS, *UNITS), "labelled_frames")),
    "extxyz.gz": ("extxyz", ImportInput(frames("extxyz.gz"), (*CRYSTALS, *UNITS), "labelled_frames")),
    "extxyz.xz": ("extxyz", ImportInput(frames("extxyz.xz"), (*CRYSTALS, *UNITS), "labelled_frames")),
    "crystals with supercells": (
        "crystals",
        ImportInput(phonon_crystals, CRYSTALS, "phonons", {"relaxation": QUICK, "mesh": 20.0}),
    ),
}
