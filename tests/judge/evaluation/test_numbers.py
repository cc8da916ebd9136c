"""Numbers measured through a container, compared with the same numbers computed without the judge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.emt import EMT
from ase.data import s22
from ase.units import GPa

from sandbox.driver import Question
from sandbox.drivers.docker_driver import NOBODY, DockerDriver, connect_engine
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.kind import Observation, Watch
from tasks.kinds.registry import KINDS
from tasks.model.calculator import InProcessCalculator
from tasks.quickstart.registry import build_quickstart
from tasks.structures.predictions import Labels
from tasks.suites.suite import load_suite
from tests.judge.evaluation.container_numbers import LIMITS, example, measured, observed
from tests.world.session_lock import no_session

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def driver(images) -> Iterator[DockerDriver]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield DockerDriver(RunDir(Path(folder)))


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("data")
    build_quickstart(data)
    return data


IN_PROCESS_XTB = """
import json, sys
from ase import Atoms
from tblite.ase import TBLite
energies = []
for numbers, positions in json.load(open("/lambench/structures.json")):
    atoms = Atoms(numbers, positions)
    atoms.calc = TBLite(method="GFN2-xTB", verbosity=0)
    energies.append(atoms.get_potential_energy())
print(json.dumps(energies))
"""


def test_each_s22_energy_of_the_xtb_image_is_that_of_tblite_alone(driver: DockerDriver, quickstart: Path) -> None:
    image = example(driver, "xtb")
    dataset = load_dataset(quickstart / "s22@1")
    items = measured("energy_differences", observed(driver, image, "energy_differences", dataset), dataset).items
    structures = [(a.numbers.tolist(), a.positions.tolist()) for name in s22.s22 for a in _parts(name)]
    with TemporaryDirectory(prefix="lj") as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "structures.json").write_text(json.dumps(structures))
        (place / "script.py").write_text(IN_PROCESS_XTB)
        with no_session():
            output = connect_engine().containers.run(
                image.id,
                remove=True,
                user=NOBODY,
                entrypoint=["python3", "/lambench/script.py"],
                volumes={str(place): {"bind": "/lambench", "mode": "ro"}},
            )
    alone = np.array(json.loads(output)).reshape(-1, 3)
    interaction = alone[:, 0] - alone[:, 1] - alone[:, 2]
    assert list(items.id) == list(s22.s22)
    np.testing.assert_allclose(items.columns["predicted"], interaction, rtol=0, atol=1e-8)


def _parts(name: str) -> list[Atoms]:
    dimer = s22.create_s22_system(name)
    first, _ = s22.get_number_of_dimer_atoms(name)
    return [dimer, dimer[:first], dimer[first:]]


def birch_murnaghan(volume: np.ndarray, energy: np.ndarray) -> tuple[float, float]:
    """V0 [Å³] and B0 [GPa] of a cubic polynomial in V^(−2/3), its minimum found by Newton's method."""
    polynomial = np.polynomial.Polynomial.fit(volume ** (-2 / 3), energy, 3)
    first, second = polynomial.deriv(), polynomial.deriv(2)
    x = volume[np.argmin(energy)] ** (-2 / 3)
    for _ in range(50):
        x -= first(x) / second(x)
    v0 = x**-1.5
    return v0, second(x) * (4 / 9) * v0 ** (-10 / 3) * v0 / GPa


def test_v0_and_b0_of_the_emt_image_are_those_of_emt_in_this_process(driver: DockerDriver, quickstart: Path) -> None:
    dataset = load_dataset(quickstart / "wien2k-eos@1")
    observation = observed(driver, example(driver, "emt"), "equation_of_state", dataset)
    items = measured("equation_of_state", observation, dataset).items
    compared = 0
    for row, curve in enumerate(dataset.table.curves):
        if curve.id not in ("Al", "Cu", "Ag", "Au", "Ni", "Pd", "Pt"):
            assert items.cause[row]
            continue
        cells = [dataset.frames.atoms(i) for i in curve.structures]
        for atoms, asked in zip(cells, observation.arrays["volume"][list(curve.structures)], strict=True):
            atoms.set_cell(atoms.cell * np.cbrt(asked / atoms.get_volume()), scale_atoms=True)
            atoms.calc = EMT()
        volume = np.array([a.get_volume() / len(a) for a in cells])
        v0, b0 = birch_murnaghan(volume, np.array([a.get_potential_energy() / len(a) for a in cells]))
        assert items.columns["v0_per_atom"][row] == pytest.approx(v0, rel=1e-6)
        assert items.columns["b0_gpa"][row] == pytest.approx(b0, rel=1e-6)
        compared += 1
    assert compared == 7


@pytest.mark.parametrize(
    "name", ["rotors", "wien2k-elasticity", "wien2k-compression", "entropies", "physicality", "nve-crystals"]
)
def test_what_a_container_answers_is_what_the_same_kind_gets_in_this_process(
    driver: DockerDriver, quickstart: Path, name: str
) -> None:
    task = next(task for task in load_suite("quickstart").tasks if task.name == name)
    dataset, kind = load_dataset(quickstart / task.dataset), KINDS[task.kind]
    watch = Watch(clock=lambda: 0.0)

    def body(remote: RemoteCalculator) -> Observation:
        return kind.observe(dataset.structures, task.parameters, remote, watch)

    outcome = run_session(driver, example(driver, "emt"), LIMITS, Question(task.model_domain), body)
    assert outcome.verdict is Verdict.OK, outcome
    here = kind.observe(dataset.structures, task.parameters, InProcessCalculator(EMT()), watch)
    assert outcome.value.arrays.keys() == here.arrays.keys()
    for key, array in here.arrays.items():
        np.testing.assert_allclose(outcome.value.arrays[key], array, rtol=1e-9, atol=1e-8, err_msg=key)


def test_of_a_hidden_data_set_a_container_answers_copies_as_this_process_does(
    driver: DockerDriver, quickstart: Path
) -> None:
    public = with_three_of_silicon(load_dataset(quickstart / "wien2k-frames@2"))
    dataset = replace(public, card=public.card.model_copy(update={"public_since": ""}))
    seen = observed(driver, example(driver, "emt"), "labelled_frames", dataset)
    kind, watch = KINDS["labelled_frames"], Watch(clock=lambda: 0.0)
    here = kind.observe(dataset.structures, kind.parameters(), InProcessCalculator(EMT()), watch)
    assert seen.arrays.keys() == here.arrays.keys()
    for key, array in here.arrays.items():
        np.testing.assert_allclose(seen.arrays[key], array, rtol=1e-9, atol=1e-8, err_msg=key)
    metrics = measured("labelled_frames", seen, dataset).metrics
    probes = [metric for name, metric in metrics.items() if name.startswith("probe_")]
    assert len(probes) == 7
    sent_again = seen.arrays["probe_structure"]
    known = sum(dataset.clusters[i] != "Si" for i in sent_again)
    assert (len(sent_again), known > 0) == (4, True)
    # EMT does not know silicon; no copy of the others fails.
    assert all((metric.n_items, metric.n_failed) == (known, 0) and metric.value < 1e-4 for metric in probes)


def with_three_of_silicon(dataset: Dataset) -> Dataset:
    """`dataset` with three of its frames of silicon: whichever four frames are drawn, one of them is of a metal."""
    silicon = [i for i, element in enumerate(dataset.clusters) if element == "Si"]
    kept = np.setdiff1d(np.arange(len(dataset.frames)), silicon[3:])
    columns = {name: tuple(getattr(dataset.table, name)[i] for i in kept) for name in ("id", "group", "cluster")}
    labels = dataset.labels()
    assert labels.energy is not None
    assert labels.stress is not None
    return replace(
        dataset,
        frames=dataset.frames.take(kept),
        table=dataset.table.model_copy(update=columns),
        label_arrays={"PBE": Labels(energy=labels.energy[kept], stress=labels.stress[kept])},
    )
