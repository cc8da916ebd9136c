"""Diatomics of CHGNet through its container come out as Matbench Discovery published them."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from sandbox.driver import Question
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.limits import Limits
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.datasets.card import Table
from tasks.datasets.dataset import Dataset
from tasks.importing.diatomics import import_diatomics
from tasks.kind import Observation, Watch
from tasks.kinds.diatomics import Diatomics, DiatomicsParameters
from tasks.metrics.measurement import Measurement
from tasks.suites.suite import load_suite
from tests.judge.evaluation.container_numbers import card, driver, example

__all__ = ["driver"]  # the fixture

pytestmark = [pytest.mark.docker, pytest.mark.data, pytest.mark.timeout(600)]
KIND, PARAMETERS = Diatomics(), DiatomicsParameters()


@pytest.fixture(scope="module")
def elements(reference_data: Path) -> Dataset:
    """All 87."""
    path = reference_data / "diatomics" / "diatomics-dft.json.gz"
    return import_diatomics(path, card("diatomics", "PBE", "Inorganic Materials"))


def some(dataset: Dataset, names: tuple[str, ...]) -> Dataset:
    """The pairs of these names."""
    chosen = [pair for pair in dataset.table.pairs if pair.id in names]
    index = np.array([i for pair in chosen for i in pair.structures])
    columns = {name: tuple(getattr(dataset.table, name)[i] for i in index) for name in ("id", "group", "cluster")}
    n = len(chosen[0].structures)
    pairs = tuple(
        pair.model_copy(update={"structures": tuple(range(n * i, n * (i + 1)))}) for i, pair in enumerate(chosen)
    )
    return Dataset(dataset.card, dataset.frames.take(index), Table(**columns, pairs=pairs), {})


def judged(driver: DockerDriver, dataset: Dataset) -> Measurement:
    """Of CHGNet in its container."""

    def body(remote: RemoteCalculator) -> Observation:
        return KIND.observe(dataset.structures, PARAMETERS, remote, Watch(time.monotonic))

    question = Question("Inorganic Materials", "PBE")
    outcome = run_session(driver, example(driver, "chgnet"), Limits(startup_s=120), question, body)
    assert outcome.verdict is Verdict.OK, outcome
    assert outcome.value is not None
    return KIND.measure(outcome.value, dataset, PARAMETERS, None)


def test_oxygen_and_the_hole_of_gadolinium(driver: DockerDriver, elements: Dataset) -> None:
    measurement = judged(driver, some(elements, ("O-O", "Gd-Gd")))
    oxygen, gadolinium = (measurement.items.id.index(name) for name in ("O-O", "Gd-Gd"))
    columns = measurement.items.columns
    expected = {"tortuosity": 1.2527, "force_flips": 3.0, "wall_distance_mae": 0.2322, "curve_energy_mae": 2.2826}
    for name, value in expected.items():
        assert columns[name][oxygen] == pytest.approx(value, abs=1e-4), name
    # Energies in single precision are off by some 1e-5 eV, at each of twelve steps.
    assert columns["energy_jump"][oxygen] == pytest.approx(1.4111, abs=3e-4)
    assert columns["well_depth_mae"][gadolinium] == pytest.approx(1182, abs=0.5)
    depth = measurement.metrics["well_depth_mae"]
    assert depth.value == pytest.approx((1181.8 + columns["well_depth_mae"][oxygen]) / 2, rel=1e-3)
    assert depth.charged == pytest.approx(((depth.failure_cost or 0.0) + columns["well_depth_mae"][oxygen]) / 2)


@pytest.mark.soak
def test_all_twelve_measures_to_every_published_digit(driver: DockerDriver, elements: Dataset) -> None:
    """Matbench Discovery rounds to four digits."""
    metrics = judged(driver, elements).metrics
    published = {number.name: number.value for number in load_suite("diatomics").published}
    assert published.keys() == metrics.keys()
    assert {name: float(f"{metrics[name].value:.4g}") for name in published} == published
    assert (metrics["tortuosity"].n_items, metrics["curve_energy_mae"].n_items) == (87, 79)
    assert {metrics[name].n_items for name in ("pair_bond_length_mae", "well_depth_mae", "wavenumber_mae")} == {73}
    # Without the one hole: 0.68 eV.
    assert 0.68 < (metrics["well_depth_mae"].charged or 0.0) < 1.1
