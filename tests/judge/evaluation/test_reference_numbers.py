"""Numbers measured through a container, compared with published errors and reference data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.emt import EMT
from ase.io import read
from ase.units import Hartree, kcal, mol

from sandbox.drivers.docker_driver import DockerDriver, connect_engine
from sandbox.rundir import RunDir
from tasks.importing.reactions import import_reactions
from tests.judge.evaluation.container_numbers import card, example, measured, observed
from tests.tasks.imported_frames import import_frames

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def driver(images) -> Iterator[DockerDriver]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield DockerDriver(RunDir(Path(folder)))


def test_mlearn_copper_with_the_emt_image(driver: DockerDriver, reference_data: Path) -> None:
    path = reference_data / "mlearn" / "Cu_test.extxyz"
    dataset = import_frames(path, card("mlearn-cu", "PBE", "Inorganic Materials"))
    observation = observed(driver, example(driver, "emt"), "labelled_frames", dataset)
    metrics = measured("labelled_frames", observation, dataset).metrics
    for name, value in copper_by_hand(read(path, index=":")).items():
        assert metrics[name].value == pytest.approx(value, abs=1e-10), name


def copper_by_hand(structures: list[Atoms]) -> dict[str, float]:
    """The six metrics in plain numpy, frame by frame. One element: the shift is Σ n ΔE / Σ n²."""
    energy, force, virial, sizes = [], [], [], []
    for labelled in structures:
        atoms = labelled.copy()
        atoms.calc = EMT()
        energy.append(atoms.get_potential_energy() - labelled.get_potential_energy())
        force.append((atoms.get_forces() - labelled.get_forces()).ravel())
        tension = atoms.get_stress(voigt=False) - labelled.get_stress(voigt=False)
        virial.append(-atoms.get_volume() * tension.ravel() / len(atoms))
        sizes.append(len(atoms))
    n, off = np.array(sizes), np.array(energy)
    per_atom = (off - n * (n @ off) / (n @ n)) / n
    result = {}
    for stem, unit, errors in (
        ("energy", "_per_atom", per_atom),
        ("force", "", np.concatenate(force)),
        ("virial", "_per_atom", np.concatenate(virial)),
    ):
        result[f"{stem}_rmse{unit}"] = float(np.sqrt(np.mean(errors**2)))
        result[f"{stem}_mae{unit}"] = float(np.mean(np.abs(errors)))
    return result


SETS = ("A24", "BH28", "BH46", "MCONF", "S66", "TAUT15")
LOOKUP = '''
"""Returns the tabulated energy of a density functional for each structure; the label set names the functional."""
import json
import numpy as np
from ase.calculators.calculator import Calculator

def key(atoms):
    state = (atoms.info.get("charge", 0), atoms.info.get("spin", 0))
    return repr((state, atoms.numbers.tolist(), np.round(atoms.positions, 6).tolist()))

class Lookup(Calculator):
    implemented_properties = ("energy",)

    def __init__(self, table):
        super().__init__()
        self.table = table

    def calculate(self, atoms=None, properties=(), system_changes=()):
        self.results = {"energy": self.table[key(atoms)]}

def make_calculator(label_set):
    with open("/model/table.json") as file:
        return Lookup(json.load(file)[label_set])
'''


@pytest.fixture(scope="module")
def functionals(driver: DockerDriver, reference_data: Path):
    """The six sets, and an image that knows the published energies of four functionals for them."""
    scope: dict = {}
    exec(LOOKUP, scope)
    sets = {name: import_reactions(reference_data / "gscdb" / name, card(name, "CCSD(T)")) for name in SETS}
    table: dict[str, dict[str, float]] = {}
    for name, dataset in sets.items():
        published = json.loads((reference_data / "gscdb" / name / "dft_energies.json").read_text())
        for functional, energies in published["energies"].items():
            for index, structure in enumerate(dataset.table.id):
                key = scope["key"](dataset.frames.atoms(index))
                table.setdefault(functional, {})[key] = energies[structure] * Hartree
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "table.json").write_text(json.dumps(table))
        (place / "calculator.py").write_text(LOOKUP)
        (place / "Dockerfile").write_text(
            "FROM lambench/calculator:latest\nCOPY table.json calculator.py /model/\nWORKDIR /model\n"
            "RUN chmod -R a+rX /model\nLABEL org.lambench.calculator=calculator:make_calculator\n"
        )
        connect_engine().images.build(path=folder, tag="lambench-test/lookup:latest", rm=True)
    return sets, driver.resolve("lambench-test/lookup:latest")


@pytest.mark.parametrize("functional", ["wB97M-V", "B3LYP", "PBE0", "r2SCAN0"])
def test_tabulated_energies_come_out_with_the_published_mae(
    driver: DockerDriver, reference_data: Path, functionals, functional: str
) -> None:
    sets, image = functionals
    for name, dataset in sets.items():
        published = json.loads((reference_data / "gscdb" / name / "dft_energies.json").read_text())
        observation = observed(driver, image, "energy_differences", dataset, functional)
        mae = measured("energy_differences", observation, dataset).metrics["mae"]
        assert mae.n_failed == 0
        in_kcal_per_mol = mae.value / (kcal / mol)
        assert round(in_kcal_per_mol, 4) == round(published["published_mae_kcal_per_mol"][functional], 4), name
