"""Thermal conductivities of CHGNet and SevenNet-0 through their containers come out as published."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from sandbox.driver import Image, Question
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.limits import Limits
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.datasets.card import Table
from tasks.datasets.dataset import Dataset
from tasks.importing.conductivities import import_conductivities
from tasks.kind import Observation, Watch
from tasks.kinds.thermal_conductivity import ThermalConductivity, ThermalConductivityParameters
from tasks.suites.suite import load_suite
from tests.judge.evaluation.container_numbers import card, driver, example

__all__ = ["driver"]  # the fixture

pytestmark = [pytest.mark.docker, pytest.mark.data, pytest.mark.soak, pytest.mark.timeout(600)]
KIND, PARAMETERS = ThermalConductivity(), ThermalConductivityParameters()
LIMITS = Limits(startup_s=120, memory_bytes=12 << 30)  # 512 atoms of lithium hydride take more than 8 GiB
WITHIN, SRME_WITHIN = 0.01, 0.005
ROOT = Path(__file__).parents[3]


def published() -> dict[str, dict[str, float]]:
    """By crystal and column."""
    columns: dict[str, dict[str, float]] = {}
    for number in load_suite("kappa103").published:
        columns.setdefault(number.item, {})[number.name] = number.value
    return columns


@pytest.fixture(scope="module")
def crystals(reference_data: Path) -> Dataset:
    """All that are at hand."""
    return import_conductivities(reference_data / "kappa103", card("kappa103", "PBE", "Inorganic Materials"))


def only(dataset: Dataset, name: str) -> Dataset:
    """One crystal."""
    index = dataset.table.id.index(name)
    item = dataset.table.conductivities[index].model_copy(update={"structure": 0})
    table = Table(id=(item.id,), group=(item.group,), cluster=(item.cluster,), conductivities=(item,))
    conditions = {each: values[[index]] for each, values in dataset.conditions.items()}
    return Dataset(dataset.card, dataset.frames.take([index]), table, {}, conditions)


def judged(driver: DockerDriver, image: Image, dataset: Dataset) -> dict[str, float]:
    """The columns of the one crystal, by the model in the image."""

    def body(remote: RemoteCalculator) -> Observation:
        return KIND.observe(dataset.structures, PARAMETERS, remote, Watch(time.monotonic))

    question = Question("Inorganic Materials", "PBE")
    outcome = run_session(driver, image, LIMITS, question, body)
    assert outcome.verdict is Verdict.OK, outcome
    assert outcome.value is not None
    columns = KIND.measure(outcome.value, dataset, PARAMETERS, None).items.columns
    return {name: float(values[0]) for name, values in columns.items()}


@pytest.mark.parametrize(
    "crystal",
    ["mp-22903", "mp-1000", "mp-22867", "mp-23251", "mp-19717", "mp-23295"],
    ids=["RbI", "BaTe", "RbBr", "KBr", "PbTe", "RbCl"],
)
def test_conductivity_and_its_error_are_the_published_ones(
    driver: DockerDriver, crystals: Dataset, crystal: str
) -> None:
    columns, right = judged(driver, example(driver, "chgnet"), only(crystals, crystal)), published()[crystal]
    assert columns["kappa"] == pytest.approx(right["kappa"], rel=WITHIN)
    assert columns["srme"] == pytest.approx(right["srme"], abs=SRME_WITHIN)


@pytest.mark.parametrize(
    "crystal",
    ["mp-8884", "mp-23703", "mp-24721", "mp-22922", "mp-22899"],
    ids=["ZnTe", "LiH", "RbH", "AgCl", "LiI"],
)
def test_imaginary_modes_are_the_published_ones(driver: DockerDriver, crystals: Dataset, crystal: str) -> None:
    columns = judged(driver, example(driver, "chgnet"), only(crystals, crystal))
    assert published()[crystal] == {"imaginary": 1.0}
    assert (columns["imaginary"], columns["failed"]) == (1.0, 1.0)


@pytest.fixture(scope="module")
def sevennet(driver: DockerDriver) -> Image:
    subprocess.run([ROOT / "setup/images.sh", "sevennet"], check=True)
    return example(driver, "sevennet")


@pytest.mark.parametrize(("crystal", "kappa"), [("mp-22903", 1.2319), ("mp-23251", 0.8794)], ids=["RbI", "KBr"])
def test_conductivities_of_sevennet_are_the_published_ones(
    driver: DockerDriver, sevennet: Image, crystals: Dataset, crystal: str, kappa: float
) -> None:
    """[W/m/K], as the benchmark κ_SRME has them (arXiv:2408.00755)."""
    assert judged(driver, sevennet, only(crystals, crystal))["kappa"] == pytest.approx(kappa, rel=WITHIN)
