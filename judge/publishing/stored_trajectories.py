"""Reads stored trajectories, for the pages of public tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TypeVar

from judge.ranking.leaderboard import TaskLine
from judge.records.observation_file import read_observation
from submissions.store.interface import Store, StoreError
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.datasets.dataset_checks import FRAMES
from tasks.kind import Observation
from tasks.trajectories.dihedral_outliers import BackboneMap
from tasks.trajectories.trajectory import Trajectory

Part = TypeVar("Part")


class StoredTrajectories:
    """The stored frames of runs. Each observation is read when it is first used; the last one is kept.

    Args:
        data: the data root.
    """

    def __init__(self, store: Store, data: Path) -> None:
        self._dataset = cache(lambda name: load_dataset(data / name))
        self._observation = lru_cache(1)(partial(read_observation, store))

    def __call__(self, line: TaskLine, run: str) -> Trajectory | None:
        """The frames of a run of a task; None if there are none, or if the data set changed since."""
        read, parameters = line.task.traits.first_run, line.task.parameters
        return read and self._read(line, lambda stored, dataset: read(stored, dataset, parameters, run))

    def backbones(self, line: TaskLine, run: str) -> Sequence[BackboneMap]:
        """The dihedrals of proteins in a run; empty if there are none, or if the data set changed since."""
        read, parameters, result = line.task.traits.backbone_maps, line.task.parameters, line.result
        if read is None or result is None:
            return ()

        def maps(stored: Observation, dataset: Dataset) -> Sequence[BackboneMap]:
            label_set = result.label_set if result.label_set in dataset.card.label_sets else None
            return read(stored, dataset, parameters, run, label_set)

        return self._read(line, maps) or ()

    def _read(self, line: TaskLine, read: Callable[[Observation, Dataset], Part | None]) -> Part | None:
        """What `read` has from observation and data set; None if they are gone or changed."""
        result = line.result
        if result is None or result.provenance.observation is None:
            return None
        try:
            dataset = self._dataset(result.provenance.dataset)
            if dataset.card.sha256.get(FRAMES) != result.provenance.frames_sha256:
                return None
            return read(self._observation(result.provenance.observation), dataset)
        except (StoreError, ValueError):
            return None
