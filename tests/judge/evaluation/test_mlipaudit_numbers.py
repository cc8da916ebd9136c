"""GFN2-xTB in its container on MLIPAudit's own small inputs, beside what MLIPAudit itself says of it.

The numbers are in tests/tasks/mlipaudit/numbers_xtb.json; `with_mlipaudit_and_xtb.py` beside it made them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from sandbox.driver import Question
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.importing.mlipaudit.content import RunMode
from tasks.importing.mlipaudit.import_layout import import_mlipaudit
from tasks.kind import Observation, Watch
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Items
from tasks.structures.predictions import Cause
from tasks.suites.suite import load_suite
from tests.judge.evaluation.container_numbers import LIMITS, example
from tests.judge.evaluation.container_numbers import driver as driver
from tests.tasks.mlipaudit import made_trajectories as made

NUMBERS = json.loads((Path(made.__file__).parent / "numbers_xtb.json").read_text())
TASKS = {
    mode: {name: task for task in load_suite(suite).tasks for name in task.mlipaudit}
    for mode, suite in (("standard", "mlipaudit"), ("dev", "mlipaudit-dev"))
}
pytestmark = [pytest.mark.docker, pytest.mark.data]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, reference_data: Path) -> Path:
    """The inputs, with conformers as `made_trajectories` has them."""
    folder = tmp_path_factory.mktemp("mlipaudit")
    for name in TASKS["standard"]:
        if (reference_data / "mlipaudit" / name).is_dir():
            shutil.copytree(reference_data / "mlipaudit" / name, folder / name)
    profiles = json.dumps(made.conformers(reference_data / "mlipaudit"))
    (folder / "conformer_selection" / "folmsbee_dataset.json").write_text(profiles)
    return folder


class Judged(NamedTuple):
    observation: Observation
    items: Items


def judged(driver: DockerDriver, inputs: Path, benchmark: str, mode: RunMode, **changes: Any) -> Judged:
    """The benchmark's task in the suite of that mode, with other parameters."""
    (imported,) = import_mlipaudit(inputs, mode, [benchmark])
    dataset, task = imported.dataset, TASKS[mode][benchmark]
    assert dataset is not None, imported
    kind, parameters = KINDS[task.kind], task.parameters.model_copy(update=changes)

    def body(remote: RemoteCalculator) -> Observation:
        return kind.observe(dataset.structures, parameters, remote, Watch(clock=lambda: 0.0))

    outcome = run_session(driver, example(driver, "xtb"), LIMITS, Question("Molecules", None), body)
    assert outcome.verdict is Verdict.OK, outcome
    assert outcome.value is not None
    items = kind.measure(outcome.value, dataset, parameters, None).items
    assert items is not None
    return Judged(outcome.value, items)


def measured(driver: DockerDriver, inputs: Path, benchmark: str) -> Items:
    """The items of the benchmark's task in the whole suite."""
    return judged(driver, inputs, benchmark, "standard").items


def column(items: Items, name: str) -> dict[str, float]:
    return dict(zip(items.id, items.columns[name].tolist(), strict=True))


def agree(found: dict[str, float], expected: dict[str, Any], rel: float = 1e-6) -> None:
    assert {name: abs(value) for name, value in found.items()} == pytest.approx(
        {name: abs(value) for name, value in expected.items()}, rel=rel
    )


def test_tautomers(driver: DockerDriver, inputs: Path) -> None:
    agree(column(measured(driver, inputs, "tautomers"), "error"), NUMBERS["tautomers"])


def test_reactivity(driver: DockerDriver, inputs: Path) -> None:
    items = measured(driver, inputs, "reactivity")
    for quantity, field in (("barrier", "activation_energy"), ("reaction_energy", "enthalpy_of_reaction")):
        members = items.columns[f"{quantity}_count"] > 0
        found = sorted(np.abs(items.columns["error"][members]).tolist())
        expected = sorted(each[f"{field}_abs_error"] for each in NUMBERS["reactivity"].values())
        assert found == pytest.approx(expected, rel=1e-6)


def test_dihedral_scans(driver: DockerDriver, inputs: Path) -> None:
    agree(column(measured(driver, inputs, "dihedral_scan"), "barrier_error"), NUMBERS["dihedral_scan"])


def test_noncovalent_interactions(driver: DockerDriver, inputs: Path) -> None:
    items = measured(driver, inputs, "noncovalent_interactions")
    found, expected = column(items, "interaction_error"), NUMBERS["noncovalent_interactions"]
    assert sorted(found.values()) == pytest.approx(sorted(expected.values()), rel=1e-6, abs=1e-7)


def test_conformers(driver: DockerDriver, inputs: Path) -> None:
    items = measured(driver, inputs, "conformer_selection")
    for name in ("mae", "rmse"):
        expected = {molecule: each[name] for molecule, each in NUMBERS["conformer_selection"].items()}
        agree(column(items, f"conformer_{name}"), expected)


def test_relaxed_geometries(driver: DockerDriver, inputs: Path) -> None:
    """MLIPAudit's own distances lose digits to single precision (mdtraj); those of its structures do not."""
    items, expected = measured(driver, inputs, "reference_geometry_stability"), NUMBERS["reference_geometry_stability"]
    for precision, rel in (("double precision", 1e-6), ("single precision", 2e-3)):
        distances = [value for name in ("neutral", "charged") for value in expected[name][precision]]
        assert items.columns["rmsd_at_end"].tolist() == pytest.approx(distances, rel=rel)
    assert not items.cause.any()


@pytest.mark.parametrize("mode", ["dev", "standard"])
def test_reaction_paths(driver: DockerDriver, inputs: Path, mode: RunMode) -> None:
    """Bands without MLIPAudit's centring: after one step of each stage, and to the end.

    The band of 000000 takes 122 steps, over which the last digits grow: the same input twice differs by 2e-5.
    """
    items = judged(driver, inputs, "nudged_elastic_band", mode).items
    expected = NUMBERS["nudged_elastic_band, not centred"][mode]
    converged = dict(zip(items.id, (items.cause == Cause.NONE).tolist(), strict=True))
    assert converged == {name: each["converged"] for name, each in expected.items()}
    forces = [expected[name]["final_force"] for name in items.id]
    tolerances = [1e-6 if mode == "dev" or name == "010097" else 1e-3 for name in items.id]
    for found, force, rel in zip(items.columns["residual"].tolist(), forces, tolerances, strict=True):
        assert found == pytest.approx(force, rel=rel)


def test_the_centring_of_ends_is_the_only_difference_of_bands(
    driver: DockerDriver, inputs: Path, tmp_path: Path
) -> None:
    """With MLIPAudit's centred ends its bands are ours: one converges alike, xTB's SCF stops in the other."""
    (source,) = (inputs / "nudged_elastic_band").iterdir()
    reactions = json.loads(source.read_text())
    for end in [reaction[name] for reaction in reactions.values() for name in ("reactants", "products")]:
        positions = np.array(end["coordinates"])
        end["coordinates"] = (positions - (positions.max(axis=0) + positions.min(axis=0)) / 2).tolist()
    (tmp_path / "nudged_elastic_band").mkdir()
    (tmp_path / "nudged_elastic_band" / source.name).write_text(json.dumps(reactions))
    items, published = judged(driver, tmp_path, "nudged_elastic_band", "standard").items, NUMBERS["nudged_elastic_band"]
    assert dict(zip(items.id, items.cause.tolist(), strict=True)) == {"000000": Cause.ERROR, "010097": Cause.NONE}
    assert published["000000"] == {"failed": True}
    assert column(items, "residual")["010097"] == pytest.approx(published["010097"]["final_force"], rel=1e-6)
    assert all(each["converged"] for each in NUMBERS["nudged_elastic_band, not centred"]["standard"].values())


def test_energy_drift(driver: DockerDriver, inputs: Path) -> None:
    """The same velocities. MLIPAudit stores -2125 eV in single precision, which moves its ratio by 0.8 %."""
    observation, items = judged(driver, inputs, "nve_energy_conservation", "dev")
    (expected,) = NUMBERS["nve_energy_conservation"].values()
    total = observation.arrays["potential"].ravel() + observation.arrays["kinetic"].ravel()
    assert (total - total[0]).tolist() == pytest.approx(expected["energy_drift_ev"], abs=1e-8)
    counts = items.columns["drift_ratio_count"] > 0
    found = items.columns["stored_error"][counts].tolist()
    assert found == pytest.approx([expected["drift_ratio"]], rel=1e-6)
    assert found == pytest.approx([expected["drift_ratio in single precision"]], rel=0.02)


@pytest.mark.parametrize("benchmark", ["ring_planarity", "bond_length_distribution"])
def test_rings_and_bonds_without_a_heat_bath(driver: DockerDriver, inputs: Path, benchmark: str) -> None:
    """The mean over eleven frames. The judge stores positions in single precision: 2e-8 Å in a bond's mean (2e-6)."""
    items = judged(driver, inputs, benchmark, "dev", ensemble="nve").items
    measure = {"ring_planarity": "planarity", "bond_length_distribution": "bond_length"}[benchmark]
    counts = items.columns[f"{measure}_count"] > 0
    found = dict(zip(np.array(items.cluster)[counts], items.columns["error"][counts].tolist(), strict=True))
    expected = {name: np.mean(frames) for name, frames in NUMBERS[benchmark].items()}
    assert sorted(found.values()) == pytest.approx(sorted(expected.values()), rel=1e-6, abs=1e-7)


def test_sound_runs_are_stable_in_both(driver: DockerDriver, inputs: Path) -> None:
    items = judged(driver, inputs, "stability", "dev", ensemble="nve").items
    assert set(NUMBERS["stability"].values()) == {1.0}
    assert not items.cause.any()
    assert items.columns["predicted"][items.columns["hydrogen_drift_count"] > 0].tolist() == [0.0, 0.0]
