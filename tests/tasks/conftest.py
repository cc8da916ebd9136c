"""The quickstart datasets, built once, and a way to run a task in-process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.datasets.dataset import Dataset
from tasks.kind import Kind, Parameters, Watch
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import BatchCalculator
from tasks.quickstart.registry import build_quickstart
from tasks.timing import timing

Run = Callable[..., Measurement]


@pytest.fixture(scope="session")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    build_quickstart(root)
    return root


@pytest.fixture(scope="session")
def watch() -> Watch:
    return Watch(time.monotonic)


@pytest.fixture(scope="session")
def run(watch: Watch) -> Run:
    """Observes and measures."""

    def observe_and_measure(
        kind: Kind, dataset: Dataset, model: BatchCalculator, parameters: Parameters | None = None
    ) -> Measurement:
        settings = parameters or kind.parameters()
        observation = kind.observe(dataset.structures, settings, model, watch)
        return kind.measure(observation, dataset, settings, None)

    return observe_and_measure


@pytest.fixture
def short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where clocks are even, a look at the host need not be long."""
    monkeypatch.setattr(timing, "N_REFERENCE", 3)
