"""Liquid water through a container: 501 molecules of SPC/Fw by OpenMM, beside its published density and OpenMM's MD.

Published: 1.012 g/cm³ at 298.15 K and 1 atm (Y. Wu, H. L. Tepper, G. A. Voth, J. Chem. Phys. 124, 024503 (2006),
doi:10.1063/1.2136877). The O–O peak is that of OpenMM's own integrator and barostat, which share no code with ours.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import numpy as np
import pytest
from ase import Atoms
from ase.io import read

from sandbox.driver import Question
from sandbox.drivers.docker_driver import NOBODY, DockerDriver
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.dynamics.simulate import DynamicsSettings, simulate
from tasks.kind import Watch
from tasks.simulation.molecules import molecules_of
from tasks.structures.frames import Frames
from tasks.trajectories.radial_distribution import RadialBins, highest_peak, radial_distribution
from tasks.trajectories.thermodynamics import densities
from tasks.trajectories.trajectory import Trajectory

pytestmark = [pytest.mark.docker, pytest.mark.soak]

ROOT = Path(__file__).parents[3]
DENSITY = 1.012  # g/cm³, published
SETTINGS = DynamicsSettings(
    ensemble="npt",
    steps=30_000,
    store_every=100,
    temperature_k=298.15,
    equilibration_steps=10_000,
    seed=1,
)
# OpenMM's own 10 + 20 ps with its barostat: prints the oxygens and the edge [Å] of each stored frame.
BY_OPENMM = """
import json, sys
sys.path.insert(0, "/model")
import numpy as np, openmm
from ase.io import read
from calculator import system_of
from openmm import unit
atoms = read("/lambench/water.pdb")
system = system_of(atoms, atoms.cell.lengths() / 10)
for index, mass in enumerate(atoms.get_masses()):
    system.setParticleMass(index, mass)
system.addForce(openmm.MonteCarloBarostat(1.01325, 298.15, 25))
integrator = openmm.LangevinMiddleIntegrator(298.15, 1.0, 0.001)
integrator.setRandomNumberSeed(1)
context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName("CPU"))
context.setPositions(atoms.positions / 10)
context.setVelocitiesToTemperature(298.15, 1)
integrator.step(10_000)
for _ in range(200):
    integrator.step(100)
    state = context.getState(getPositions=True)
    edge = state.getPeriodicBoxVectors(asNumpy=True).value_in_unit(unit.angstrom)[0, 0]
    oxygens = state.getPositions(asNumpy=True).value_in_unit(unit.angstrom)[::3]
    print(json.dumps([edge, np.round(oxygens, 3).tolist()]))
"""


@pytest.fixture(scope="module")
def image(images: docker.DockerClient) -> docker.DockerClient:
    """The engine, with the image of the submission."""
    subprocess.run([ROOT / "setup/images.sh", "spcfw"], check=True)
    return images


@pytest.fixture(scope="module")
def driver(image: docker.DockerClient) -> Iterator[DockerDriver]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield DockerDriver(RunDir(Path(folder)))


@pytest.fixture(scope="module")
def water(reference_data: Path) -> Path:
    return reference_data / "mlipaudit/water_radial_distribution/water_box_n500_eq.pdb"


def oxygen_peak(positions: np.ndarray, cells: np.ndarray) -> float:
    """[Å] of oxygens (f, n, 3) in their cells (f, 3, 3)."""
    numbers = np.full(positions.shape[1], 8)
    trajectory = Trajectory(positions, cells, np.ones(3, np.bool_), numbers, np.arange(len(positions)) * 0.1)
    distribution = radial_distribution(trajectory, np.arange(len(numbers)), None, RadialBins(0.0, 12.0, 240))
    return highest_peak(distribution, 2.0, 3.5)


def test_water_equilibrates_to_its_published_density_and_structure(
    image: docker.DockerClient, driver: DockerDriver, water: Path
) -> None:
    stored = read(water)
    atoms = Atoms(stored.numbers, stored.positions, cell=stored.cell, pbc=True)
    frames = Frames.from_atoms([atoms])

    def body(remote: RemoteCalculator) -> dict[str, np.ndarray]:
        return simulate(frames, SETTINGS, remote, Watch(clock=time.monotonic), "water", molecules_of(frames))

    outcome = run_session(driver, driver.resolve("lambench/spcfw:latest"), Limits(), Question("Molecules", None), body)
    assert outcome.verdict is Verdict.OK, outcome
    run = outcome.value
    assert run["completed_steps"].tolist() == [SETTINGS.steps]
    counted = slice(101, None)  # after the equilibration
    positions, cells = run["positions"][counted], run["cells"][counted, 0]
    times = 0.1 * np.arange(len(positions))
    trajectory = Trajectory(positions, cells, np.ones(3, np.bool_), stored.numbers, times)
    density = float(densities(trajectory).mean())
    peak = oxygen_peak(positions[:, ::3], cells)
    theirs = by_openmm(image, water)
    their_peak = oxygen_peak(np.array([o for _, o in theirs]), np.array([edge * np.eye(3) for edge, _ in theirs]))
    print(f"density {density:.4f} g/cm³ (published {DENSITY}); O-O peak {peak:.3f} Å (OpenMM {their_peak:.3f})")
    assert density == pytest.approx(DENSITY, rel=0.02)
    assert peak == pytest.approx(their_peak, abs=0.05)


def by_openmm(image: docker.DockerClient, water: Path) -> list[tuple[float, list[list[float]]]]:
    """By stored frame the edge of the box and the oxygens (n, 3) [Å]."""
    with TemporaryDirectory(prefix="lj") as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "water.pdb").write_bytes(water.read_bytes())
        (place / "script.py").write_text(BY_OPENMM)
        output = image.containers.run(
            "lambench/spcfw:latest",
            remove=True,
            user=NOBODY,
            network_disabled=True,
            entrypoint=["python3", "/lambench/script.py"],
            volumes={str(place): {"bind": "/lambench", "mode": "ro"}},
        )
    return [json.loads(line) for line in output.decode().splitlines()]
