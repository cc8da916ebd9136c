"""Reads stored trajectories, for the pages of public tasks."""

from __future__ import annotations

from functools import cache, lru_cache, partial
from pathlib import Path

from judge.ranking.leaderboard import TaskLine
from judge.records.observation_file import read_observation
from submissions.store.interface import Store, StoreError
from tasks.datasets.dataset import load_dataset
from tasks.datasets.dataset_checks import FRAMES
from tasks.trajectories.trajectory import Trajectory


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
        read, result = line.task.traits.first_run, line.result
        if read is None or result is None or result.provenance.observation is None:
            return None
        try:
            dataset = self._dataset(result.provenance.dataset)
            if dataset.card.sha256.get(FRAMES) != result.provenance.frames_sha256:
                return None
            return read(self._observation(result.provenance.observation), dataset, line.task.parameters, run)
        except (StoreError, ValueError):
            return None
