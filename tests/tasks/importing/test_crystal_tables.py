"""Crystals with properties and structures alone, imported from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.io import write

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.importing.crystal_tables import import_crystals, import_structures


def card(*label_sets: str) -> Card:
    return Card(
        name="crystals",
        version="1",
        title="Crystals",
        domain="Inorganic Materials",
        periodic=True,
        label_sets={name: LabelSet(theory=name, dispersion=False) for name in label_sets},
        default_label_set=label_sets[0] if label_sets else None,
    )


def folder(place: Path, *crystals: dict[str, Any], structures: list[Atoms] | None = None) -> Path:
    made = structures or [bulk("Cu"), bulk("Si")]
    for atoms in made:
        atoms.info["name"] = str(atoms.symbols)
    write(place / "structures.extxyz", made)
    (place / "crystals.json").write_text(json.dumps({"crystals": list(crystals)}))
    return place


def test_crystals_at_pressures_come_back_from_disk(tmp_path: Path) -> None:
    rows = [
        {"id": f"Cu {p}", "structure": "Cu", "cluster": "Cu", "pressure_gpa": p, "reference": {"volume_per_atom": v}}
        for p, v in ((25.0, 10.4), (50.0, 9.6))
    ]
    saved = save_dataset(import_crystals(folder(tmp_path, *rows), card("PBE")), tmp_path / "data")
    dataset = load_dataset(saved)
    assert dataset.structures.condition("pressure_gpa").tolist() == [25.0, 50.0]
    assert dataset.table.cluster == ("Cu", "Cu")
    assert [c.reference for c in dataset.table.crystals] == [
        {"PBE": {"volume_per_atom": 10.4}},
        {"PBE": {"volume_per_atom": 9.6}},
    ]
    assert [c.structure for c in dataset.table.crystals] == [0, 1]
    assert (dataset.frames.numbers == 29).all()


def test_supercells_and_several_label_sets(tmp_path: Path) -> None:
    supercell = [[2, 0, 0], [0, 2, 0], [0, 0, 3]]
    references = {"PBE": {"k_vrh_gpa": 88.6}, "r2SCAN": {"k_vrh_gpa": 96.1, "g_vrh_gpa": 64.0}}
    row = {"id": "Si", "structure": "Si2", "supercell": supercell, "references": references}
    dataset = import_crystals(folder(tmp_path, row), card("PBE", "r2SCAN"))
    assert dataset.conditions["supercell"].dtype == np.int64
    assert dataset.conditions["supercell"].tolist() == [supercell]
    assert dataset.table.crystals[0].reference == references


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"structure": "Xx"}, "crystals.0 (one): there is no structure 'Xx'"),
        ({"reference": None}, "reference: state reference or references"),
        ({"reference": {"k_vrh": 1.0}}, "k_vrh is not of"),
        ({"reference": {}}, "nothing is not of"),
        ({"references": {"PBE": {"k_vrh_gpa": 1.0}}}, "one of both"),
        ({"reference": None, "references": {"LDA": {"k_vrh_gpa": 1.0}}}, "has LDA, but the card's label sets are PBE"),
        ({"pressure": 3}, "there is no such field"),
        ({"pressure_gpa": 3.0}, "two: pressure_gpa: is missing, which other crystals state"),
    ],
)
def test_what_cannot_be_is_refused_with_file_and_field(tmp_path: Path, change: dict[str, Any], line: str) -> None:
    row = {"id": "one", "structure": "Cu", "reference": {"k_vrh_gpa": 140.0}}
    changed = {k: v for k, v in (row | change).items() if v is not None}
    with pytest.raises(DatasetError) as caught:
        import_crystals(folder(tmp_path, changed, row | {"id": "two"}), card("PBE"))
    assert line in str(caught.value)
    assert str(tmp_path / "crystals.json") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_slab_is_no_crystal(tmp_path: Path) -> None:
    slab = bulk("Cu")
    slab.pbc = (True, True, False)
    row = {"id": "one", "structure": "Cu", "reference": {"k_vrh_gpa": 140.0}}
    with pytest.raises(DatasetError, match="pbc: is no crystal"):
        import_crystals(folder(tmp_path, row, structures=[slab]), card("PBE"))


def test_structures_alone_have_no_label_set(tmp_path: Path) -> None:
    write(tmp_path / "cells.extxyz", [bulk("Cu"), bulk("Al", cubic=True)])
    dataset = import_structures(tmp_path / "cells.extxyz", card("PBE"))
    assert dataset.card.label_sets == {}
    assert len(dataset.frames) == 2
    assert dataset.card.periodic
    write(tmp_path / "water.extxyz", molecule("H2O"))
    with pytest.raises(DatasetError, match="multiplicity"):
        import_structures(tmp_path / "water.extxyz", card())


def test_items_and_structures_have_names_of_their_own(tmp_path: Path) -> None:
    row = {"id": "one", "structure": "Cu", "reference": {"k_vrh_gpa": 140.0}}
    path = tmp_path / "crystals.json"
    with pytest.raises(DatasetError) as refused:
        import_crystals(folder(tmp_path, row, row), card("PBE"))
    assert str(refused.value) == f"{path}: crystals.1: id: 'one' is that of 0, too: give each its own"
    with pytest.raises(DatasetError) as refused:
        import_crystals(folder(tmp_path), card("PBE"))
    assert str(refused.value) == f"{path}: crystals: must have at least 1"
    with pytest.raises(DatasetError) as refused:
        import_crystals(folder(tmp_path, row, structures=[bulk("Cu"), bulk("Cu")]), card("PBE"))
    structures = tmp_path / "structures.extxyz"
    assert str(refused.value) == f"{structures}: frame 1: name: two frames are called Cu, this one and frame 0"
    write(structures, [bulk("Cu")])
    with pytest.raises(DatasetError, match=r"frame 0: name: is missing: write name= in its comment line"):
        import_crystals(tmp_path, card("PBE"))


def test_a_supercell_without_volume_is_named_in_the_file_that_states_it(tmp_path: Path) -> None:
    row = {"id": "one", "structure": "Cu", "reference": {"max_frequency_k": 350.0}}
    flat = [[2, 0, 0], [0, 2, 0], [2, 2, 0]]
    rows = (row | {"supercell": [[2, 0, 0], [0, 2, 0], [0, 0, 2]]}, row | {"id": "two", "supercell": flat})
    with pytest.raises(DatasetError, match=r"crystals\.json: crystals\.1 \(two\): supercell: has no volume"):
        import_crystals(folder(tmp_path, *rows), card("PBE"))
