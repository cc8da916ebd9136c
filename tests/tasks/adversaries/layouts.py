"""A small data set in every layout that can be imported, with references as true as small sets allow.

Crystals and their references are those of WIEN2k that ASE carries, or of EMT itself; the rest is what the tests of the
importers make.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.filters import FrechetCellFilter
from ase.io import write
from ase.optimize import BFGS
from ase.units import GPa
from scipy.optimize import brentq

from judge.data.import_options import ImportOptions
from judge.data.importing import prepare_import
from tasks.adversaries.run_adversary import AdversaryTask
from tasks.importing.ml_peg.import_layout import import_ml_peg
from tasks.importing.mlipaudit.import_layout import import_mlipaudit
from tasks.kinds.dynamics import DynamicsParameters
from tasks.kinds.registry import KINDS
from tasks.quickstart.crystals import crystal, lattice, wien2k
from tasks.quickstart.registry import BUILDERS
from tasks.simulation.birch_murnaghan import energy, pressure
from tasks.suites.suite import Task, load_suite
from tests.tasks.importing import test_conductivities_import, test_diatomics_import, test_dynamics_import
from tests.tasks.importing.labelled_structures import structures
from tests.tasks.importing.ml_peg.layouts import MADE, record
from tests.tasks.importing.mlipaudit.made_up_layout import write_layout
from tests.tasks.importing.phonopy_texts import FACE_CENTRED, computed, text_of
from tests.tasks.importing.rmd17_files import write_rmd17
from tests.tasks.importing.test_deepmd import alloys, write_set
from tests.tasks.importing.test_din import TEXT, folder_with
from tests.tasks.importing.test_reaction_paths import folder as paths_folder
from tests.tasks.importing.test_reactions import folder as reactions_folder
from tests.tasks.importing.test_scans import state, torsion
from tests.tasks.kind_examples import EXAMPLES

ELEMENTS = ("Al", "Cu", "Ag", "Au", "Ni", "Pd", "Pt", "Si", "Ge", "Nb")
PRESSED = ("Al", "Cu", "Au", "Si")
OF_EMT = ("Al", "Cu", "Ag", "Au")
RELAXATION = {"optimizer": "BFGS", "fmax": 0.01, "max_steps": 40}
PRESSURE_GPA = 20.0
SHORT_RUNS = {"steps": 2000, "store_every": 20}


class Layout(NamedTuple):
    """A layout: what writes it, and the task in which it is asked.

    Args:
        write: writes it into an empty folder, and returns the path that is imported.
        options: of `judge data import`.
    """

    write: Callable[[Path], Path]
    kind: str
    parameters: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}


def extxyz(folder: Path, name: str = "mine.extxyz", step: int = 1) -> Path:
    write(folder / name, structures(40)[::step])
    return folder / name


def deepmd(folder: Path) -> Path:
    made = alloys(24)
    write_set(folder / "system" / "set.000", made)
    names = sorted(set(made[0].get_chemical_symbols()))
    (folder / "system" / "type_map.raw").write_text("\n".join(names))
    types = [str(names.index(symbol)) for symbol in made[0].get_chemical_symbols()]
    (folder / "system" / "type.raw").write_text("\n".join(types))
    return folder / "system"


def rmd17(folder: Path) -> Path:
    write_rmd17(folder)
    return folder


def scans(folder: Path) -> Path:
    write(folder / "ethane.extxyz", torsion(7))
    state(folder, {})
    return folder


def acwf(folder: Path) -> Path:
    """As one file of all codes; the two all-electron codes are equal, and the crystals have WIEN2k's volumes."""
    fits = {}
    for element in ELEMENTS:
        eos = wien2k(element)
        fits[f"{element}-X/{lattice(element)}"] = {
            "min_volume": eos.v0,
            "bulk_modulus_ev_ang3": eos.b0_gpa * GPa,
            "bulk_deriv": eos.b0_prime,
            "num_atoms": 1,
        }
    (folder / "codes.json").write_text(json.dumps({"fleur": fits, "wien2k": fits}))
    frames = []
    for element, name in zip(ELEMENTS, fits, strict=True):
        frames.append(crystal(element, wien2k(element).v0))
        frames[-1].info["name"] = name
    write(folder / "crystals.extxyz", frames)
    return folder


def eos(folder: Path) -> Path:
    frames = []
    for element in ELEMENTS:
        curve = wien2k(element)
        for share in np.linspace(0.94, 1.06, 7):
            atoms = crystal(element, share * curve.v0)
            per_atom = float(energy(np.array([share * curve.v0]), curve)[0])
            atoms.info |= {"name": element, "energy": len(atoms) * per_atom}
            frames.append(atoms)
    write(folder / "curves.extxyz", frames)
    return folder / "curves.extxyz"


def volume_scans(folder: Path) -> Path:
    write(folder / "crystals.extxyz", named(ELEMENTS[:2]))
    return folder / "crystals.extxyz"


def named(elements: tuple[str, ...]) -> list[Atoms]:
    """Primitive cells at WIEN2k's volumes."""
    frames = []
    for element in elements:
        frames.append(crystal(element, wien2k(element).v0, cubic=False))
        frames[-1].info["name"] = element
    return frames


def pressed_volume(element: str) -> float:
    """Å³ of an atom at `PRESSURE_GPA`."""
    curve = wien2k(element)
    return float(
        brentq(
            lambda volume: float(pressure(np.array([volume]), curve)[0]) - PRESSURE_GPA * GPa,
            0.6 * curve.v0,
            curve.v0,
        )
    )


def crystals(folder: Path) -> Path:
    write(folder / "structures.extxyz", named(PRESSED))
    rows = [
        {
            "id": element,
            "structure": element,
            "pressure_gpa": PRESSURE_GPA,
            "reference": {"volume_per_atom": pressed_volume(element)},
        }
        for element in PRESSED
    ]
    (folder / "crystals.json").write_text(json.dumps({"crystals": rows}))
    return folder


def relaxed_by_emt(atoms: Atoms) -> Atoms:
    relaxed = atoms.copy()
    relaxed.calc = EMT()
    BFGS(FrechetCellFilter(relaxed), logfile=None).run(fmax=1e-3, steps=200)
    relaxed.info["energy"] = relaxed.get_potential_energy() / len(relaxed)
    relaxed.calc = None
    return relaxed


@cache
def relaxed_binaries() -> tuple[Atoms, ...]:
    """L1₂ crystals of pairs of metals, relaxed by EMT."""
    made = []
    for i, element in enumerate(OF_EMT):
        atoms = bulk(element, cubic=True)
        atoms.symbols[0] = OF_EMT[i - 1]
        made.append(relaxed_by_emt(atoms))
    return tuple(made)


def binaries() -> list[Atoms]:
    """Copies of `relaxed_binaries`."""
    made = [atoms.copy() for atoms in relaxed_binaries()]
    for copy, atoms in zip(made, relaxed_binaries(), strict=True):
        copy.info = dict(atoms.info)
    return made


def matcalc(folder: Path) -> Path:
    """Formation energies of binary crystals with EMT; each crystal is stored as it is relaxed."""
    elements = {element: relaxed_by_emt(bulk(element)) for element in OF_EMT}
    phases = {element: {"structure": record(atoms)} for element, atoms in elements.items()}
    (folder / "MP-PBE-Element-Refs.json.gz").write_bytes(gzip.compress(json.dumps(phases).encode()))
    records = []
    for k, atoms in enumerate(binaries()):
        of_elements = sum(elements[symbol].info["energy"] for symbol in atoms.symbols) / len(atoms)
        stated = {"material_id": f"wbm-{k}", "structure": record(atoms)}
        records.append({**stated, "formation_energy_per_atom": atoms.info["energy"] - of_elements})
    path = folder / "wbm.json.gz"
    path.write_bytes(gzip.compress(json.dumps(records).encode()))
    return path


def relaxed_structures(folder: Path) -> Path:
    """Binary crystals as EMT relaxes them; they start at the volumes of their elements at WIEN2k's."""
    references = binaries()
    starts = [atoms.copy() for atoms in references]
    for k, (start, reference) in enumerate(zip(starts, references, strict=True)):
        start.info = reference.info = {"name": f"binary {k}"}
        volume = sum(wien2k(symbol).v0 for symbol in start.symbols)
        start.set_cell(start.cell * np.cbrt(volume / start.get_volume()), scale_atoms=True)
    write(folder / "structures.extxyz", starts)
    write(folder / "references.extxyz", references)
    return folder


def phonopy(folder: Path) -> Path:
    """Four crystals: of fewer no trivial model of springs is fitted."""
    for element, a in (("Cu", 3.589826), ("Ag", 4.06), ("Al", 3.99), ("Au", 4.056)):
        phonon = computed(bulk(element, a=a, cubic=True), FACE_CENTRED)
        (folder / f"{element}.yaml").write_text(text_of(phonon, folder))
    return folder


def vacancies(folder: Path) -> Path:
    path = folder / "hcp.csv"
    path.write_text("symbol,volume_per_atom,e_vacform,e_vacmig\nMg,23.0,0.79,0.42\nZn,15.2,0.42,0.3\n")
    return path


def conductivities(folder: Path) -> Path:
    return test_conductivities_import.written(folder)


def water(folder: Path) -> Path:
    """Their density is that of the start, so that a model that keeps it is right without any chemistry."""
    density = {**test_dynamics_import.DENSITY, "references": {"experiment": 0.1169}}  # two molecules in 512 Å³
    analyses = [test_dynamics_import.RDF, density]
    return test_dynamics_import.folder(folder, [test_dynamics_import.waters()], analyses)


PAIRS = {"PBE": {"O-O": test_diatomics_import.curve(), "H-H": test_diatomics_import.curve(4.5, 0.75)}}
LABELLED, MOLECULES = {"units": "ase"}, {"domain": "Molecules"}
RATTLED = {"rattle": 0.1, "strain": 0.03, "relaxation": RELAXATION, "unit": "eV", "symmetry": True}
# By format of `judge data import`.
LAYOUTS: Mapping[str, Layout] = {
    "extxyz": Layout(extxyz, "labelled_frames", options=LABELLED),
    "traj": Layout(lambda folder: extxyz(folder, "mine.traj"), "labelled_frames", options=LABELLED),
    "db": Layout(lambda folder: extxyz(folder, "mine.db", 2), "labelled_frames", options=LABELLED),  # crystals
    "deepmd": Layout(deepmd, "labelled_frames"),
    "rmd17": Layout(rmd17, "labelled_frames", options=MOLECULES),
    "reactions": Layout(
        lambda folder: reactions_folder(folder, "kcal/mol", {"reference_kcal_per_mol": 109.5}),
        "energy_differences",
        options=MOLECULES,
    ),
    "din": Layout(lambda folder: folder_with(folder, TEXT), "energy_differences", options=MOLECULES),
    "scans": Layout(scans, "energy_profiles", options=MOLECULES),
    "relaxed-structures": Layout(relaxed_structures, "relaxed_structures", RATTLED),
    "dynamics": Layout(
        water,
        "dynamics",
        {
            "ensemble": "npt",
            "steps": 20,
            "store_every": 2,
            "barostat_every": 5,
            "equilibration_steps": 10,
            "start": "drawn",
        },
        {**MOLECULES, "label_set": "experiment"},
    ),
    "reaction-paths": Layout(
        paths_folder, "reaction_paths", {"band": {"n_images": 5, "steps": 50, "climbing_steps": 50}}, MOLECULES
    ),
    "crystals": Layout(crystals, "compression", {"relaxation": RELAXATION}),
    "diatomics": Layout(lambda folder: test_diatomics_import.written(folder, PAIRS), "diatomics"),
    "thermal-conductivity": Layout(
        conductivities, "thermal_conductivity", {"relaxation": {"fmax": 0.01, "max_steps": 50}, "stages": 1}
    ),
    "eos": Layout(eos, "equation_of_state", options=LABELLED),
    "acwf": Layout(acwf, "equation_of_state"),
    "matcalc": Layout(matcalc, "relaxed_structures", RATTLED),
    "vacancy-migration": Layout(
        vacancies, "reaction_paths", {"band": {"n_images": 3, "end_fmax": 0.05, "end_steps": 50, "steps": 0}}
    ),
    "vacancies": Layout(vacancies, "relaxed_structures", {"relaxation": RELAXATION, "unit": "eV"}),
    "structures": Layout(volume_scans, "nve", {"steps": 20, "sample_every": 2, "timestep_fs": 2.0}, {"label_set": ""}),
    "volume-scans": Layout(volume_scans, "equation_of_state", {"shape": True, "references": False}, {"label_set": ""}),
    "phonopy": Layout(phonopy, "phonons", {"relaxation": RELAXATION}),
}


def options(**given: Any) -> ImportOptions:
    """The options of an import of public data, with `given` in place of the usual ones."""
    usual: dict[str, Any] = {
        "name": "layout", "version": "1", "domain": "Inorganic Materials", "label_set": "PBE", "theory": "",
        "dispersion": False, "d3": "", "title": "", "citation": "", "licence": "", "public_since": "2014", "units": "",
        "fparam": "", "multiplicity": None, "without": "", "keys": "", "cluster": None, "temperature": None,
        "mesh": None, "also": {}, "also_theory": {}, "also_dispersion": (), "also_d3": {}, "also_units": {},
        "also_keys": {}, "only": (), "frames": None,
    }  # fmt: skip
    return ImportOptions(**(usual | given))


class LaidOut(NamedTuple):
    """A small data set of a layout, which is made when it is asked for."""

    kind: str
    make: Callable[[], AdversaryTask]


def imported(format: str, place: Path) -> AdversaryTask:
    """The task of the small data set in a format of `LAYOUTS`; its files are written below `place`."""
    layout, folder = LAYOUTS[format], place / format
    folder.mkdir(parents=True, exist_ok=True)
    path = layout.write(folder)
    read = prepare_import(format, path, options(**layout.options), folder / "data")
    parameters = KINDS[layout.kind].parameters.model_validate(layout.parameters)
    return AdversaryTask(KINDS[layout.kind], read(lambda *_: None).dataset, parameters)


def archives(place: Path) -> Iterator[tuple[str, AdversaryTask]]:
    """The benchmarks of MLIPAudit and ML-PEG that the suites ask, by layout and name."""
    write_layout(place / "mlipaudit")
    for name, make in MADE.items():
        make(place / "ml-peg" / name)
    for layout, benchmarks in (
        ("mlipaudit", import_mlipaudit(place / "mlipaudit", "standard")),
        ("ml-peg", import_ml_peg(place / "ml-peg")),
    ):
        by_dataset = {task.dataset: task for task in load_suite(layout).tasks}
        for name, dataset in ((benchmark.name, benchmark.dataset) for benchmark in benchmarks):
            if dataset is not None and dataset.card.full_name in by_dataset:
                task = by_dataset[dataset.card.full_name]
                yield f"{layout}: {name}", AdversaryTask(KINDS[task.kind], dataset, shortened(task.parameters))


def shortened(parameters: Any) -> Any:
    """Long dynamics as `SHORT_RUNS`: a model of springs keeps in any time what it keeps in a short one."""
    if not isinstance(parameters, DynamicsParameters):
        return parameters
    early = {"equilibration_steps": SHORT_RUNS["steps"] // 2 if parameters.equilibration_steps else 0}
    return parameters.model_copy(update=SHORT_RUNS | early)


def every_layout(place: Path) -> dict[str, LaidOut]:
    """Small data sets of all formats and archives; those of quickstart, and examples of the kinds that learn.

    Args:
        place: an empty folder for the files.
    """
    found = {format: LaidOut(layout.kind, partial(imported, format, place)) for format, layout in LAYOUTS.items()}
    for name, of_archive in archives(place / "archives"):
        found[name] = LaidOut(of_archive.kind.name, lambda task=of_archive: task)  # type: ignore[misc]
    for task in load_suite("quickstart").tasks:
        found[f"quickstart: {task.name}"] = LaidOut(task.kind, partial(from_suite, task))
    for name in ("sample_efficiency", "time_extrapolation", "cross_molecule"):
        found[f"example: {name}"] = LaidOut(name, partial(from_example, name))
    return found


def from_suite(task: Task) -> AdversaryTask:
    """A task of quickstart over the data set that comes along."""
    return AdversaryTask(KINDS[task.kind], BUILDERS[task.dataset.partition("@")[0]](), task.parameters)


def from_example(name: str) -> AdversaryTask:
    """The example of a kind."""
    return AdversaryTask(*EXAMPLES[name]())
