"""The structures of physicality are small and sensible; a seed gives the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.physicality.structures import build_physicality
from tests.tasks.physicality.pair_potential import Pairs


def test_a_seed_gives_the_same_dataset_each_time(tmp_path: Any) -> None:
    first, again, other = build_physicality(), build_physicality(), build_physicality(1, "2")
    assert first.structures.frames_sha256 == again.structures.frames_sha256 != other.structures.frames_sha256
    assert (first.card.full_name, other.card.full_name) == ("physicality@1", "physicality@2")
    assert not first.card.label_sets
    loaded = load_dataset(save_dataset(first, tmp_path))
    assert loaded.structures.frames_sha256 == first.structures.frames_sha256


def test_structures_are_small_sensible_and_without_symmetry() -> None:
    dataset = build_physicality()
    assert dataset.frames.n_atoms.max() <= 40
    assert set(dataset.table.group) == {"crystal", "alloy", "ionic crystal", "molecule", "slab"}
    for index, name in enumerate(dataset.table.id):
        atoms = dataset.frames.atoms(index)
        shortest = atoms.get_all_distances(mic=bool(atoms.pbc.any()))[np.triu_indices(len(atoms), 1)].min()
        assert 0.85 < shortest < 3.0, name
        atoms.calc = Pairs()
        assert np.linalg.norm(atoms.get_forces(), axis=1).min() > 1e-5
        if atoms.pbc.all():
            assert np.abs(atoms.get_stress()).min() > 1e-7
