"""GFN2-xTB in its container on MLIPAudit's own small inputs, beside what MLIPAudit itself says of it.

The numbers are in tests/tasks/mlipaudit/numbers_xtb.json; `with_mlipaudit_and_xtb.py` beside it made them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sandbox.driver import Question
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
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
TASKS = {name: task for task in load_suite("mlipaudit").tasks for name in task.mlipaudit}
pytestmark = [pytest.mark.docker, pytest.mark.data]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, reference_data: Path) -> Path:
    """The inputs, with conformers as `made_trajectories` has them."""
    folder = tmp_path_factory.mktemp("mlipaudit")
    for name in TASKS:
        if (reference_data / "mlipaudit" / name).is_dir():
            shutil.copytree(reference_data / "mlipaudit" / name, folder / name)
    profiles = json.dumps(made.conformers(reference_data / "mlipaudit"))
    (folder / "conformer_selection" / "folmsbee_dataset.json").write_text(profiles)
    return folder


def measured(driver: DockerDriver, inputs: Path, benchmark: str) -> Items:
    """The items of the benchmark's task in the suite."""
    (imported,) = import_mlipaudit(inputs, "standard", [benchmark])
    dataset, task = imported.dataset, TASKS[benchmark]
    assert dataset is not None, imported
    kind = KINDS[task.kind]

    def body(remote: RemoteCalculator) -> Observation:
        return kind.observe(dataset.structures, task.parameters, remote, Watch(clock=lambda: 0.0))

    outcome = run_session(driver, example(driver, "xtb"), LIMITS, Question("Molecules", None), body)
    assert outcome.verdict is Verdict.OK, outcome
    assert outcome.value is not None
    items = kind.measure(outcome.value, dataset, task.parameters, None).items
    assert items is not None
    return items


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
    assert sorted(found.values()) == pytest.approx(sorted(expected.values()), rel=1e-6)


def test_conformers(driver: DockerDriver, inputs: Path) -> None:
    items = measured(driver, inputs, "conformer_selection")
    for name in ("mae", "rmse"):
        expected = {molecule: each[name] for molecule, each in NUMBERS["conformer_selection"].items()}
        agree(column(items, f"conformer_{name}"), expected)


def test_relaxed_geometries(driver: DockerDriver, inputs: Path) -> None:
    """MLIPAudit's own distances lose digits to single precision (mdtraj); those of its structures do not."""
    items, expected = measured(driver, inputs, "reference_geometry_stability"), NUMBERS["reference_geometry_stability"]
    for precision, rel in (("double precision", 1e-5), ("single precision", 2e-3)):
        distances = [value for name in ("neutral", "charged") for value in expected[name][precision]]
        assert items.columns["rmsd_at_end"].tolist() == pytest.approx(distances, rel=rel)
    assert not items.cause.any()


@pytest.mark.slow
def test_reaction_paths(driver: DockerDriver, inputs: Path) -> None:
    """In one of the two reactions xTB itself stopped in MLIPAudit's run: nothing can be compared."""
    items, compared = measured(driver, inputs, "nudged_elastic_band"), []
    for name, cause, force in zip(items.id, items.cause.tolist(), items.columns["residual"].tolist(), strict=True):
        expected = NUMBERS["nudged_elastic_band"][name]
        if "failed" not in expected:
            compared.append(name)
            assert (cause == Cause.NONE) == (force < 0.05) == expected["converged"]
    assert compared == ["010097"]
