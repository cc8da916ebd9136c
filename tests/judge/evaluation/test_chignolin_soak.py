"""A protein through a container: chignolin by Amber ff14SB, minimised and simulated, with its measures.

The force field is OpenMM's `amber14-all` with its implicit solvent `obc2`: a call takes 3 ms, one of GFN2-xTB 4 s. Four
measures are compared with mdtraj, which shares no code with ours but the classes of DSSP, on the stored positions.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import docker
import numpy as np
import pytest

from judge.records.observation_file import read_observation, store_observation
from sandbox.driver import Question
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from submissions.store.local import LocalStore
from tasks.datasets.card import Card, LabelSet
from tasks.datasets.dataset import Dataset
from tasks.importing.dynamics import import_dynamics
from tasks.kind import Observation, Watch
from tasks.kinds.dynamics import Dynamics, DynamicsParameters
from tasks.trajectories.dihedral_outliers import BACKBONE_SETS, OUTLIER_DISTANCE

mdtraj = pytest.importorskip("mdtraj")
pytestmark = [pytest.mark.docker, pytest.mark.soak, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]
IMAGE = "lambench/chignolin-soak:latest"
KIND = Dynamics()
PARAMETERS = DynamicsParameters(
    minimise_steps=100, steps=1000, store_every=10, temperature_k=300.0, equilibration_steps=200, seed=1
)
FIRST = 20  # stored frames before the end of the equilibration
DOCKERFILE = """
FROM lambench/spcfw:latest
COPY calculator.py chignolin.pdb /model/
LABEL org.lambench.calculator="calculator:make_calculator"
"""
CALCULATOR = """
import numpy as np, openmm
from ase.calculators.calculator import Calculator, all_changes
from ase.units import kJ, mol
from openmm import app, unit

class Amber(Calculator):
    implemented_properties = ["energy", "forces"]

    def __init__(self):
        super().__init__()
        topology = app.PDBFile("/model/chignolin.pdb").topology
        field = app.ForceField("amber14-all.xml", "implicit/obc2.xml")
        system = field.createSystem(topology, nonbondedMethod=app.NoCutoff, constraints=None, rigidWater=False)
        platform = openmm.Platform.getPlatformByName("CPU")
        self.context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
        self.n_atoms = system.getNumParticles()

    def calculate(self, atoms=None, properties=None, system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        if len(self.atoms) != self.n_atoms:
            raise ValueError("this model knows chignolin alone")
        self.context.setPositions(self.atoms.positions / 10)
        state = self.context.getState(getEnergy=True, getForces=True)
        forces = state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
        energy = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
        self.results = {"energy": energy * kJ / mol, "forces": np.asarray(forces) * kJ / mol / 10}

def make_calculator(device="cpu", domain=None):
    return Amber()
"""


@pytest.fixture(scope="module")
def start(reference_data: Path) -> Path:
    """Ten residues with 138 atoms and charge −2, without water."""
    return reference_data / "mlipaudit/stability/138_1uao_chignolin.pdb"


@pytest.fixture(scope="module")
def driver(images: docker.DockerClient, start: Path) -> Iterator[DockerDriver]:
    """With the image of the submission."""
    subprocess.run([ROOT / "setup/images.sh", "spcfw"], check=True)
    with TemporaryDirectory(prefix="lj") as folder:
        context = Path(folder)
        (context / "Dockerfile").write_text(DOCKERFILE)
        (context / "calculator.py").write_text(CALCULATOR)
        (context / "chignolin.pdb").write_bytes(start.read_bytes())
        for file in context.iterdir():
            file.chmod(0o644)
        images.images.build(path=str(context), tag=IMAGE)
    with TemporaryDirectory(prefix="lj") as folder:
        yield DockerDriver(RunDir(Path(folder)))
    images.images.remove(IMAGE)


def phi_psi(trajectory: Any) -> np.ndarray:
    """(f, 8, 2) [°] of the residues with both."""
    phi, psi = mdtraj.compute_phi(trajectory)[1], mdtraj.compute_psi(trajectory)[1]
    return np.rad2deg(np.stack([phi[:, :8], psi[:, 1:]], axis=2))


def dataset_of(folder: Path, start: Path) -> tuple[Dataset, dict[str, list[list[float]]]]:
    """Chignolin with its own start as the reference of all measures, and the reference points of its dihedrals."""
    shutil.copy(start, folder / "chignolin.pdb")
    loaded = mdtraj.load(start)
    points: dict[str, list[list[float]]] = {}
    for residue, pair in zip(list(loaded.topology.residues)[1:9], phi_psi(loaded)[0].tolist(), strict=True):
        points.setdefault(BACKBONE_SETS.get(residue.name, "GENERAL"), []).append(pair)
    masses = np.array([atom.element.mass for atom in loaded.topology.atoms])
    radius = 10 * float(mdtraj.compute_rg(loaded, masses)[0])
    analyses = [
        {"measure": "rmsd", "atoms": "CA", "reference_pdb": "chignolin.pdb"},
        {"measure": "tm_score", "atoms": "CA", "reference_pdb": "chignolin.pdb"},
        {"measure": "radius_of_gyration", "atoms": list(range(138)), "reference": radius},
        {"measure": "dihedral_outliers", "reference": points},
        {"measure": "secondary_structure", "reference_pdb": "chignolin.pdb"},
    ]
    system = {"id": "chignolin", "structure": "chignolin", "charge": -2, "analyses": analyses}
    (folder / "systems.json").write_text(json.dumps({"systems": [system]}))
    card = Card(
        name="chignolin",
        version="1",
        title="Chignolin",
        domain="Molecules",
        periodic=False,
        label_sets={"start": LabelSet(theory="1UAO", dispersion=True)},
        default_label_set="start",
    )
    return import_dynamics(folder, card), points


def test_chignolin_is_minimised_and_simulated_and_its_stored_run_is_measured(
    driver: DockerDriver, start: Path, tmp_path: Path
) -> None:
    dataset, points = dataset_of(tmp_path, start)

    def body(remote: RemoteCalculator) -> tuple[float, Observation]:
        before = float(remote.compute(dataset.frames, ("energy", "forces")).energy[0])
        return before, KIND.observe(dataset.structures, PARAMETERS, remote, Watch(time.monotonic))

    outcome = run_session(driver, driver.resolve(IMAGE), Limits(), Question("Molecules", None), body)
    assert outcome.verdict is Verdict.OK, outcome
    before, observation = outcome.value
    store = LocalStore(tmp_path / "store")
    stored = read_observation(store, store_observation(store, observation))
    result = KIND.measure(stored, dataset, PARAMETERS, None)
    values = dict(zip(result.items.id, result.items.columns["predicted"].tolist(), strict=True))
    print(values, "minimised by", before - stored.arrays["potential"][0, 0], "eV")
    assert result.metrics["unstable_percent"].value == 0.0
    assert before - stored.arrays["potential"][0, 0] > 1.0

    reference = mdtraj.load(start)
    run = mdtraj.Trajectory(stored.arrays["positions"][FIRST:] / 10, reference.topology)
    alphas = reference.topology.select("name CA")
    rmsd = 10 * mdtraj.rmsd(run, reference, atom_indices=alphas)
    assert values["chignolin/rmsd"] == pytest.approx(rmsd.mean(), rel=1e-3)
    assert 0.1 < values["chignolin/rmsd"] < 2.5
    masses = np.array([atom.element.mass for atom in reference.topology.atoms])
    assert values["chignolin/radius_of_gyration"] == pytest.approx(10 * mdtraj.compute_rg(run, masses).mean(), rel=1e-3)
    codes = mdtraj.compute_dssp(run, simplified=False) == mdtraj.compute_dssp(reference, simplified=False)
    assert values["chignolin/secondary_structure"] == pytest.approx(100 * codes.mean())
    names = [BACKBONE_SETS.get(residue.name, "GENERAL") for residue in list(reference.topology.residues)[1:9]]
    far = [
        away(angles, np.array(points[name])) for name, angles in zip(names, phi_psi(run).swapaxes(0, 1), strict=True)
    ]
    assert values["chignolin/dihedral_outliers"] == pytest.approx(100 * np.mean(far), abs=0.2)
    assert 0 < values["chignolin/tm_score"] <= 1


def away(angles: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(f,) whether angles (f, 2) are far from all points (m, 2) [°]."""
    difference = (angles[:, None] - points[None] + 180) % 360 - 180
    return np.asarray(np.linalg.norm(difference, axis=2).min(axis=1) > OUTLIER_DISTANCE)
