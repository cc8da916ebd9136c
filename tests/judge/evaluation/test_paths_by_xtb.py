"""Relaxation and reaction paths by GFN2-xTB in a container, beside ASE's own optimisers with tblite alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import docker
import numpy as np
import pytest

from sandbox.driver import Question
from sandbox.drivers.docker_driver import NOBODY, DockerDriver
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.datasets.path_roles import path_structures
from tasks.kind import Watch
from tasks.kinds.reaction_paths import ReactionPaths, ReactionPathsParameters, ends_of
from tasks.metrics.measurement import Measurement
from tasks.quickstart.registry import BUILDERS
from tasks.simulation.reaction_path import BandSettings
from tasks.simulation.relaxation import Freedom, LastIterate, Relaxation, last_iterate
from tests.world.session_lock import no_session

pytestmark = [pytest.mark.docker, pytest.mark.soak, pytest.mark.timeout(900)]

BAND = BandSettings(n_images=5, end_fmax=0.01, end_steps=100, fmax=0.5, climbing_fmax=0.05)
BY_ASE = """
import json, sys
sys.path.insert(0, "/model")
import numpy as np
from ase import Atoms
from ase.mep import NEB
from ase.mep.neb import idpp_interpolate, interpolate
from ase.optimize import BFGS
from calculator import make_calculator
band, reactions = json.load(open("/lambench/reactions.json"))
def relaxed(atoms):
    atoms.calc = make_calculator()
    BFGS(atoms, logfile=None).run(fmax=band["end_fmax"], steps=band["end_steps"])
    return atoms
def between(first, last, n):
    images = [first.copy() for _ in range(n - 1)] + [last.copy()]
    interpolate(images)
    idpp_interpolate(NEB(images, method="improvedtangent"), traj=None, log=None)
    return images
for numbers, *stages in reactions:
    first, last, *middle = [Atoms(numbers, positions) for positions in stages]
    first, last = relaxed(first), relaxed(last)
    if middle:
        before = band["n_images"] // 2 + 1
        images = between(first, middle[0], before) + between(middle[0], last, band["n_images"] - before + 1)[1:]
    else:
        images = between(first, last, band["n_images"])
    for image in images:
        image.calc = make_calculator()
    for climb, fmax, steps in ((False, "fmax", "steps"), (True, "climbing_fmax", "climbing_steps")):
        neb = NEB(images, k=band["spring"], climb=climb, method="improvedtangent")
        BFGS(neb, logfile=None, maxstep=band["max_step"]).run(fmax=band[fmax], steps=band[steps])
    print(json.dumps([image.get_potential_energy() for image in images]))
"""


@pytest.fixture(scope="module")
def driver(images: docker.DockerClient) -> Iterator[DockerDriver]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield DockerDriver(RunDir(Path(folder)))


def by_ase(engine: docker.DockerClient, reactions: list[list[Any]]) -> np.ndarray:
    """(r, m) energies [eV] of the images of each reaction."""
    with TemporaryDirectory(prefix="lj") as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "reactions.json").write_text(json.dumps([BAND.model_dump(), reactions]))
        (place / "script.py").write_text(BY_ASE)
        with no_session():
            output = engine.containers.run(
                "lambench/xtb:latest",
                remove=True,
                user=NOBODY,
                network_disabled=True,
                entrypoint=["python3", "/lambench/script.py"],
                volumes={str(place): {"bind": "/lambench", "mode": "ro"}},
            )
    return np.array([json.loads(line) for line in output.decode().splitlines()])


def test_ends_and_barriers_are_those_of_ase_alone(images: docker.DockerClient, driver: DockerDriver) -> None:
    kind, dataset, parameters = ReactionPaths(), BUILDERS["paths"](), ReactionPathsParameters(band=BAND)
    reactions = [ends_of(dataset.frames, of_role) for of_role in path_structures(dataset.structures)]

    def body(remote: RemoteCalculator) -> tuple[Measurement, list[LastIterate]]:
        observation = kind.observe(dataset.structures, parameters, remote, Watch(clock=lambda: 0.0))
        settings = Relaxation(optimizer="BFGS", fmax=BAND.end_fmax, max_steps=BAND.end_steps)
        alone = [last_iterate(ends.start, remote, settings, Freedom("fixed")) for ends in reactions]
        return kind.measure(observation, dataset, parameters, None), alone

    outcome = run_session(driver, driver.resolve("lambench/xtb:latest"), Limits(), Question("Molecules", None), body)
    assert outcome.verdict is Verdict.OK, outcome
    measured, alone = outcome.value
    stated = [
        [ends.start.numbers.tolist(), *(a.positions.tolist() for a in ends if a is not None)] for ends in reactions
    ]
    energies = by_ase(images, stated)
    ours = np.array([measured.items.columns[f"path_{k:03d}"] for k in range(BAND.n_images)]).T
    np.testing.assert_allclose(ours, energies - energies[:, :1], atol=2e-4)
    np.testing.assert_allclose([end.energy for end in alone], energies[:, 0], atol=1e-6)
    assert not measured.items.failures()
    barrier, reference = (measured.items.columns[name] for name in ("barrier", "barrier_reference"))
    assert barrier[0] == pytest.approx(reference[0], rel=0.1)
    np.testing.assert_allclose(barrier[1:], reference[1:], atol=0.03)
