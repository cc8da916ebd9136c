"""The quickstart datasets, built once, and a way to run a task in-process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tasks.calculator import BatchCalculator
from tasks.card import Card, LabelSet, Table
from tasks.dataset import Dataset
from tasks.frames import Frames
from tasks.kind import Kind, Parameters, Watch
from tasks.measurement import Measurement
from tasks.predictions import Labels
from tasks.quickstart import build_quickstart

Run = Callable[[Kind, Dataset, BatchCalculator], Measurement]


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


def make_dataset(frames: Frames, labels: Labels | None, **card: object) -> Dataset:
    """A dataset of `frames`, labelled at "PBE" if there are labels."""
    names = tuple(f"f{i}" for i in range(len(frames)))
    label_sets = {"PBE": LabelSet(theory="PBE", dispersion=False)} if labels else {}
    stated = Card(
        name="made-up",
        version="1",
        title="Made up",
        domain="Inorganic Materials",
        periodic=bool(frames.periodic.all()),
        label_sets=label_sets,
        default_label_set="PBE" if labels else None,
        **card,
    )
    table = Table(id=names, group=("",) * len(frames), cluster=names)
    return Dataset(stated, frames, table, {"PBE": labels} if labels else {})
