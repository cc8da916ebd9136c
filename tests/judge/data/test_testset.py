"""The hashes that enter keys: each changes with the part of the data set that it is of, and with nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from ase.build import bulk

from judge.data.testset import read_testset
from tasks.datasets.dataset import Dataset, save_dataset
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels
from tests.tasks.made_up import make_dataset

HASHES = ("frames_sha256", "labels_sha256", "table_sha256", "reference_sha256")


def hashes(dataset: Dataset, data: Path) -> dict[str, str]:
    testset = read_testset(save_dataset(dataset, data).parent, dataset.card.full_name)
    return {name: getattr(testset, name) for name in HASHES}


def test_hashes_change_with_what_they_are_of(tmp_path: Path) -> None:
    labels = Labels(np.array([1.0, np.nan]), np.arange(15.0).reshape(5, 3), np.ones((2, 6)))
    made = make_dataset(Frames.from_atoms([bulk("Cu", cubic=True), bulk("Cu")]), labels)
    changed = {
        "frames_sha256": replace(made, frames=made.frames.moved(made.frames.positions + 0.1)),
        "labels_sha256": replace(made, label_arrays={"PBE": replace(labels, energy=np.array([2.0, np.nan]))}),
        "table_sha256": replace(made, table=made.table.model_copy(update={"group": ("a", "b")})),
        "reference_sha256": replace(made, card=made.card.model_copy(update={"baselines": {"PBE": {"mae": 1.0}}})),
        "": replace(made, card=made.card.model_copy(update={"citation": "x", "licence": "y", "title": "z"})),
    }
    before = hashes(made, tmp_path / "before")
    for name, dataset in changed.items():
        after = hashes(dataset, tmp_path / (name or "card"))
        assert {hash for hash in HASHES if before[hash] != after[hash]} == ({name} if name else set())
    by_trajectory = replace(made, card=made.card.model_copy(update={"cluster_column": "info:trajectory"}))
    assert hashes(by_trajectory, tmp_path / "clusters")["reference_sha256"] != before["reference_sha256"]
