"""The site of two models in two tasks of dynamics: one data set is public, and one is hidden."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.emt import EMT

from judge.publishing.site_sources import with_stored
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import read_board
from judge.records.items_file import items_path, pack_items
from judge.records.observation_file import store_observation
from judge.records.records import Result
from judge.view.sources import Sources
from submissions.records import Submission
from submissions.store.interface import Store
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.datasets.dataset_checks import FRAMES
from tasks.kind import Observation, Watch
from tasks.kinds.dynamics import Dynamics, DynamicsParameters
from tasks.model.calculator import InProcessCalculator
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite
from tests.tasks.kinds.simulated import dataset_of
from tests.world.board_records import result, save, submission, task

KIND = Dynamics()
PARAMETERS = DynamicsParameters(steps=180, store_every=2, seed=1, temperature_k=600.0)
N_STORED = PARAMETERS.steps // PARAMETERS.store_every + 1
KNOWN, SECRET = (
    replace(task(name, "dynamics", "Molecules"), parameters=PARAMETERS) for name in ("known-runs", "secret-runs")
)
SUITE = Suite(name="runs", version="1", title="Runs", tasks=(KNOWN, SECRET))
PUBLIC = frozenset({KNOWN.dataset})
BROKEN_AT = 40  # stored frames of the first system of the second model


class SimulatedSite(NamedTuple):
    """The records of the site.

    Args:
        observations: of the models, in their order.
    """

    store: Store
    board: Leaderboard
    sources: Sources
    dataset: Dataset
    observations: list[Observation]

    def with_all(self) -> Sources:
        """The sources with what the store has."""
        return with_stored(self.sources, self.store, self.board)


def structures() -> list[Atoms]:
    """Ethanol, and copper in a periodic cell."""
    copper = bulk("Cu", cubic=True) * (2, 2, 2)
    return [molecule("CH3CH2OH"), copper]


def simulated_site(store: Store, data: Path) -> SimulatedSite:
    """The same runs in both tasks; those of the second model broke early in its first system."""
    dataset = dataset_of(structures(), [[], []])
    calculator = InProcessCalculator(EMT())
    whole = KIND.observe(dataset.structures, PARAMETERS, calculator, Watch(time.monotonic))
    broken = dict(whole.arrays)
    for name in ("potential", "kinetic", "hottest", "largest_force"):
        broken[name] = broken[name].copy()
        broken[name][0, BROKEN_AT:] = np.nan
    broken["completed_steps"] = np.array([PARAMETERS.store_every * (BROKEN_AT - 1), PARAMETERS.steps])
    broken["failure"] = np.array([Cause.EXPLODED, Cause.NONE], np.int8)
    return site_of(store, data, dataset, {"whole": whole, "broken": Observation(broken)}, SUITE)


def site_of(
    store: Store, data: Path, dataset: Dataset, observations: dict[str, Observation], suite: Suite
) -> SimulatedSite:
    """The site of these observations by model, in all tasks of a suite."""
    for each in suite.tasks:
        card = dataset.card.model_copy(update={"name": each.name})
        frames_sha256 = load_dataset(save_dataset(replace(dataset, card=card), data)).card.sha256[FRAMES]
    for name, observation in observations.items():
        _save(store, submission(name), observation, dataset, frames_sha256, suite)
    board = read_board(store, suite, pytest.fail)
    return SimulatedSite(store, board, Sources(public=PUBLIC, data=data), dataset, list(observations.values()))


def _save(
    store: Store, model: Submission, observation: Observation, dataset: Dataset, frames_sha256: str, suite: Suite
) -> None:
    measurement = KIND.measure(observation, dataset, suite.tasks[0].parameters, None)
    digest = store_observation(store, observation)
    results = [_of(result(model, each, measurement.metrics, n_items=2), digest, frames_sha256) for each in suite.tasks]
    save(store, [model], results)
    for each in results:
        store.put(items_path(each.submission, each.task, each.result_key), pack_items(measurement.items))


def _of(given: Result, digest: str, frames_sha256: str) -> Result:
    provenance = given.provenance.model_copy(update={"observation": digest, "frames_sha256": frames_sha256})
    return given.model_copy(update={"provenance": provenance})
