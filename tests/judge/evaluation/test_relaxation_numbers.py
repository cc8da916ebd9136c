"""Relaxations by the judge, of a model in a container, against ASE's own inside the image: GFN2-xTB."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule

from sandbox.driver import Question
from sandbox.drivers.docker_driver import NOBODY, DockerDriver, connect_engine
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.kind import Observation, Watch
from tasks.kinds.relaxed_structures import RelaxedStructures, RelaxedStructuresParameters
from tasks.structures.frames import Frames
from tasks.trajectories.superposition import rmsd
from tests.judge.evaluation.container_numbers import LIMITS, example
from tests.judge.evaluation.container_numbers import driver as driver
from tests.tasks.kinds.relaxed_sets import relaxation_set
from tests.world.session_lock import no_session

pytestmark = pytest.mark.docker

BY_ASE = """
import json
from ase import Atoms
from ase.optimize import LBFGS
from tblite.ase import TBLite
ends = []
for numbers, positions in json.load(open("/lambench/structures.json")):
    atoms = Atoms(numbers, positions)
    atoms.calc = TBLite(method="GFN2-xTB", verbosity=0)
    assert LBFGS(atoms, logfile=None).run(fmax=0.005, steps=100)
    ends.append([atoms.get_potential_energy(), atoms.positions.tolist()])
print(json.dumps(ends))
"""


def starts() -> list[Atoms]:
    """Displaced molecules."""
    made = [molecule(name) for name in ("H2O", "CH3OH")]
    for k, atoms in enumerate(made):
        atoms.set_initial_magnetic_moments(None)
        atoms.info["spin"] = 1
        atoms.rattle(0.05, seed=k)
    return made


def test_gfn2_relaxes_molecules_to_the_ends_that_ase_alone_finds(driver: DockerDriver) -> None:
    image, dataset = example(driver, "xtb"), relaxation_set(starts(), starts())
    settings = {"relaxation": {"optimizer": "BFGS", "fmax": 0.005, "max_steps": 100}}
    parameters = RelaxedStructuresParameters.model_validate(settings)

    def body(remote: RemoteCalculator) -> Observation:
        return RelaxedStructures().observe(dataset.structures, parameters, remote, Watch(clock=lambda: 0.0))

    outcome = run_session(driver, image, LIMITS, Question("Molecules", None), body)
    assert outcome.verdict is Verdict.OK, outcome
    assert outcome.value is not None
    arrays, frames = outcome.value.arrays, Frames.from_atoms(starts())
    assert arrays["converged"].all()
    for i, (energy, positions) in enumerate(_by_ase(image.id)):
        assert arrays["energy"][i] == pytest.approx(energy, abs=1e-4)
        end = arrays["positions"][frames.atom_slice(i)]
        assert rmsd(end[None], np.array(positions))[0] < 5e-3
        assert rmsd(starts()[i].positions[None], np.array(positions))[0] > 0.03


def _by_ase(image: str) -> list[tuple[float, list[list[float]]]]:
    with TemporaryDirectory(prefix="lj") as folder:
        place = Path(folder)
        place.chmod(0o755)
        structures = [(atoms.numbers.tolist(), atoms.positions.tolist()) for atoms in starts()]
        (place / "structures.json").write_text(json.dumps(structures))
        (place / "script.py").write_text(BY_ASE)
        with no_session():
            output = connect_engine().containers.run(
                image,
                remove=True,
                user=NOBODY,
                entrypoint=["python3", "/lambench/script.py"],
                volumes={str(place): {"bind": "/lambench", "mode": "ro"}},
            )
    ends: list[tuple[float, list[list[float]]]] = json.loads(output)
    return ends
