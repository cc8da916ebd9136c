"""Real DFT data judged with a pretrained model in its container, against the same weights run without the judge.

CHGNet computes in float32, and the judge sends it whole batches where the plain loop sends one structure at a time, so
sums are taken in another order. Energies then differ by rounding of numbers of some eV per atom: 2⁻²³ × 7 eV ≈ 1e-6
eV/atom; forces are differences of terms up to a hundred times as large, so 1e-4 eV/Å at most; stresses as energies
over a volume. The metrics must agree within these bounds, which are a hundredth of the errors that are measured.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pytest

from sandbox.driver import Image, Question
from sandbox.drivers.docker_driver import NOBODY, DockerDriver, connect_engine
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.datasets.card import Card, Domain, LabelSet
from tasks.datasets.dataset import Dataset
from tasks.importing.deepmd import read_deepmd
from tasks.importing.labelled_import import labelled_dataset
from tasks.kind import Observation, Watch
from tasks.kinds.labelled_frames import LabelledFrames, LabelledFramesParameters
from tests.tasks.imported_frames import import_frames
from tests.world.session_lock import no_session

# A model of 400,000 parameters answers a hundred frames twice, on a processor that other tests use too.
pytestmark = [pytest.mark.docker, pytest.mark.data, pytest.mark.slow, pytest.mark.timeout(900)]
ENERGY, FORCE, STRESS = 2e-6, 1e-4, 1e-6  # eV/atom, eV/Å, eV/Å³
N_WATER = 20

ALONE = """
import numpy as np
from ase import Atoms
from chgnet.model.dynamics import CHGNetCalculator
frames = np.load("/lambench/frames.npz")
calculator = CHGNetCalculator(use_device="cpu", on_isolated_atoms="ignore")
answers = {"energy": [], "forces": [], "stress": []}
end = 0
for n, cell in zip(frames["n_atoms"], frames["cell"]):
    start, end = end, end + n
    atoms = Atoms(frames["numbers"][start:end], frames["positions"][start:end], cell=cell, pbc=True)
    atoms.calc = calculator
    answers["energy"].append(atoms.get_potential_energy())
    answers["forces"].append(atoms.get_forces())
    answers["stress"].append(atoms.get_stress())
np.savez("/answers/answers.npz", energy=answers["energy"], stress=answers["stress"],
         forces=np.concatenate(answers["forces"]))
"""


class Answers(NamedTuple):
    """Energies (n,) [eV], forces (N, 3) [eV/Å] and stresses (n, 6) [eV/Å³]."""

    energy: np.ndarray
    forces: np.ndarray
    stress: np.ndarray


@pytest.fixture(scope="module")
def driver(images) -> Iterator[DockerDriver]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield DockerDriver(RunDir(Path(folder)))


def card(name: str, domain: Domain) -> Card:
    return Card(
        name=name,
        version="1",
        title=name,
        domain=domain,
        periodic=True,
        default_label_set="PBE",
        public_since="2022",  # so that each structure is asked about once
        label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)},
    )


def alone(image: Image, dataset: Dataset) -> Answers:
    """The answers of the weights in a plain loop over ASE's interface, in the same image."""
    with TemporaryDirectory(prefix="lj") as folder:
        given, taken = Path(folder) / "given", Path(folder) / "taken"
        given.mkdir(mode=0o755)
        taken.mkdir()
        taken.chmod(0o777)
        Path(folder).chmod(0o755)
        np.savez(given / "frames.npz", **dataset.frames.arrays())
        (given / "alone.py").write_text(ALONE)
        with no_session():
            connect_engine().containers.run(
                image.id,
                remove=True,
                network_mode="none",
                user=NOBODY,
                entrypoint=["python3", "/lambench/alone.py"],
                environment={"HOME": "/tmp"},
                volumes={
                    str(given): {"bind": "/lambench", "mode": "ro"},
                    str(taken): {"bind": "/answers", "mode": "rw"},
                },
            )
        with np.load(taken / "answers.npz") as stored:
            return Answers(stored["energy"], stored["forces"], stored["stress"])


def by_hand(dataset: Dataset, answers: Answers) -> dict[str, float]:
    """The metrics in plain numpy, frame by frame."""
    frames, labels = dataset.frames, dataset.labels()
    elements = np.unique(frames.numbers)
    counts = np.array([[np.sum(frames.atoms(i).numbers == z) for z in elements] for i in range(len(frames))])
    off = answers.energy - labels.energy
    off = off - counts @ np.linalg.lstsq(counts, off, rcond=1e-10)[0]
    deviations = {"energy_rmse_per_atom": off / frames.n_atoms, "force_rmse": (answers.forces - labels.forces).ravel()}
    if labels.stress is not None:
        scale = -frames.volumes / frames.n_atoms
        six = scale[:, None] * (answers.stress - labels.stress)
        deviations["virial_rmse_per_atom"] = six[:, [0, 1, 2, 3, 3, 4, 4, 5, 5]].ravel()
    return {name: float(np.sqrt(np.mean(errors**2))) for name, errors in deviations.items()}


def judge(driver: DockerDriver, dataset: Dataset) -> None:
    """Observes and measures `dataset` through the sandbox, and compares answers and metrics with those of the loop."""
    image, kind, nothing = driver.resolve("lambench/chgnet:latest"), LabelledFrames(), LabelledFramesParameters()

    def body(remote: RemoteCalculator) -> Observation:
        return kind.observe(dataset.structures, nothing, remote, Watch(clock=lambda: 0.0))

    outcome = run_session(driver, image, Limits(startup_s=120), Question(dataset.card.domain, "PBE"), body)
    assert outcome.verdict is Verdict.OK, outcome
    assert outcome.value is not None
    plain = alone(image, dataset)
    arrays = outcome.value.arrays
    assert np.abs((arrays["energy"] - plain.energy) / dataset.frames.n_atoms).max() < ENERGY
    assert np.abs(arrays["forces"] - plain.forces).max() < FORCE
    assert np.abs(arrays["stress"] - plain.stress).max() < STRESS
    metrics = kind.measure(outcome.value, dataset, nothing, None).metrics
    bounds = {"energy_rmse_per_atom": ENERGY, "force_rmse": FORCE}
    bounds["virial_rmse_per_atom"] = STRESS * float((dataset.frames.volumes / dataset.frames.n_atoms).max())
    for name, value in by_hand(dataset, plain).items():
        assert metrics[name].n_failed == 0
        assert metrics[name].value == pytest.approx(value, abs=bounds[name])
        assert metrics[name].value > 10 * bounds[name]


@pytest.mark.soak
def test_water_from_deepmd_files(driver: DockerDriver, reference_data: Path, tmp_path: Path) -> None:
    source, some = reference_data / "deepmd_water" / "data_0", tmp_path / "data_0"
    (some / "set.000").mkdir(parents=True)
    for name in ("type.raw", "type_map.raw"):
        shutil.copy(source / name, some / name)
    for path in (source / "set.000").glob("*.npy"):
        np.save(some / "set.000" / path.name, np.load(path)[:N_WATER])
    judge(driver, labelled_dataset(card("water", "Inorganic Materials"), some, read_deepmd(some)))


def test_mlearn_silicon(driver: DockerDriver, reference_data: Path) -> None:
    judge(driver, import_frames(reference_data / "mlearn" / "Si_test.extxyz", card("mlearn-si", "Inorganic Materials")))
