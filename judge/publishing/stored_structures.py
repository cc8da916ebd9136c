"""Reads items and structures of results, for the pages of public tasks."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from judge.ranking.leaderboard import TaskLine
from judge.ranking.load import load_items
from submissions.store.interface import Store
from tasks.datasets.dataset import Dataset, DatasetError, load_dataset
from tasks.datasets.dataset_checks import FRAMES
from tasks.metrics.measurement import Items


class StoredStructures:
    """The items and the data sets of results. The last data set is kept.

    Args:
        data: the data root.
    """

    def __init__(self, store: Store, data: Path) -> None:
        self._store = store
        self._load = lru_cache(1)(lambda name: load_dataset(data / name))

    def items(self, line: TaskLine) -> Items | None:
        """The items of a task's result; None if there is none, or if they cannot be read."""
        return None if line.result is None else load_items(self._store, line.result)

    def dataset(self, line: TaskLine) -> Dataset | None:
        """The data set of a task's result; None if it is gone or has other structures now."""
        if line.result is None:
            return None
        provenance = line.result.provenance
        try:
            dataset = self._load(provenance.dataset)
        except DatasetError:
            return None
        return dataset if dataset.card.sha256.get(FRAMES) == provenance.frames_sha256 else None
