"""Observations of containers, and their measurements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sandbox.driver import Image, Question
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.datasets.card import Card, LabelSet
from tasks.datasets.dataset import Dataset
from tasks.kind import Observation, Watch
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Measurement

LIMITS = Limits(startup_s=60)


@pytest.fixture(scope="module")
def driver(images) -> Iterator[DockerDriver]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield DockerDriver(RunDir(Path(folder)))


def example(driver: DockerDriver, name: str) -> Image:
    return driver.resolve(f"lambench/{name}:latest")


def observed(driver: DockerDriver, image: Image, kind: str, dataset: Dataset, label_set: str | None = None):
    """The observation of `dataset` by a container."""

    def body(remote: RemoteCalculator) -> Observation:
        watch = Watch(clock=lambda: 0.0)
        return KINDS[kind].observe(dataset.structures, KINDS[kind].parameters(), remote, watch)

    outcome = run_session(driver, image, LIMITS, Question(dataset.card.domain, label_set), body)
    assert outcome.verdict is Verdict.OK, outcome
    return outcome.value


def measured(kind: str, observation: Observation, dataset: Dataset) -> Measurement:
    return KINDS[kind].measure(observation, dataset, KINDS[kind].parameters(), None)


def card(name: str, theory: str, domain: str = "Molecules") -> Card:
    return Card(
        name=name.lower(),
        version="1",
        title=name,
        domain=domain,
        public_since="2020",
        periodic=domain != "Molecules",
        default_label_set=theory,
        label_sets={theory: LabelSet(theory=theory, dispersion=False)},
    )
