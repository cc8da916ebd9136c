"""Some items of a data set: whole items, with their own structures, labels, conditions and references."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tasks.datasets.item_structures import structures_of_row
from tasks.datasets.some_items import some_items
from tests.tasks.kind_examples import EXAMPLES, KindExample

TABLES = {
    "energy_differences": "differences",
    "energy_profiles": "scans",
    "equation_of_state": "curves",
    "compression": "crystals",
    "diatomics": "pairs",
    "dynamics": "systems",
}


@pytest.mark.parametrize("make", [EXAMPLES[name] for name in TABLES])
def test_items_keep_their_structures(make: Callable[[], KindExample]) -> None:
    kind, dataset, parameters = make()
    part, sort = some_items(dataset, 2), TABLES[kind.name]
    before = {row.id: row for row in dataset.table.items[sort]}
    assert len(part.table.items[sort]) == 2
    for row in part.table.items[sort]:
        ours, theirs = structures_of_row(part, row), structures_of_row(dataset, before[row.id])
        assert [part.table.id[i] for i in ours] == [dataset.table.id[i] for i in theirs]
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(part.frames.atoms(one).positions, dataset.frames.atoms(other).positions)
        assert row.model_dump().get("reference") == before[row.id].model_dump().get("reference")
    used = {index for row in part.table.items[sort] for index in structures_of_row(part, row)}
    assert used == set(range(len(part.frames)))
    assert kind.work(part.structures, parameters).frames > 0


def test_labels_and_geometries_go_with_their_structures() -> None:
    dataset = EXAMPLES["labelled_frames"]().dataset
    part = some_items(dataset, 5)
    assert len(part.frames) == 5
    for i, name in enumerate(part.table.id):
        whole = dataset.table.id.index(name)
        ours, theirs = part.labels(), dataset.labels()
        assert ours.energy is not None
        assert theirs.energy is not None
        assert ours.forces is not None
        assert theirs.forces is not None
        assert ours.energy[i] == theirs.energy[whole]
        atoms = dataset.frames.atom_slice(whole)
        np.testing.assert_array_equal(ours.forces[part.frames.atom_slice(i)], theirs.forces[atoms])
    relaxed = EXAMPLES["relaxed_structures"]().dataset
    part = some_items(relaxed, 1)
    assert len(part.table.differences) == 1
    for i, name in enumerate(part.table.id):
        whole = relaxed.table.id.index(name)
        np.testing.assert_array_equal(part.geometries["PBE"].cell[i], relaxed.geometries["PBE"].cell[whole])


def test_a_small_data_set_stays_as_it_is() -> None:
    dataset = EXAMPLES["equation_of_state"]().dataset
    assert some_items(dataset, 4) is dataset
    paths = EXAMPLES["reaction_paths"]().dataset
    assert some_items(paths, 1) is paths
