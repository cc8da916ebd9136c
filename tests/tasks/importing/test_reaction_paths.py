"""Import of reaction paths: what a folder states, and one line for each mistake."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.io import write
from ase.units import kcal, mol

from tasks.datasets.card import Card, DatasetError, LabelSet, PathReference, Table
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.datasets.path_roles import PathRole, path_structures
from tasks.importing.reaction_paths import import_reaction_paths

CARD = Card(
    name="hcn",
    version="1",
    title="HCN to HNC",
    domain="Molecules",
    periodic=False,
    label_sets={"CCSD(T)": LabelSet(theory="CCSD(T)", dispersion=True)},
    default_label_set="CCSD(T)",
)
Change = Callable[[list[Atoms], dict[str, Any]], None]


def structures() -> list[Atoms]:
    made = []
    for name, hydrogen in (("HCN", (0, 0, -1.07)), ("HNC", (0, 0, 2.15)), ("TS", (0, 1.1, 0.7))):
        atoms = Atoms("CNH", positions=[(0, 0, 0), (0, 0, 1.16), hydrogen])
        atoms.info |= {"name": name, "charge": 0, "multiplicity": 1}
        made.append(atoms)
    return made


def table() -> dict[str, Any]:
    reference = {"barrier": 48.0, "reaction_energy": 15.0}
    path = {"id": "HCN", "reactant": "HCN", "product": "HNC", "guess": "TS", "transition_state": "TS"}
    return {"reference_unit": "kcal/mol", "paths": [{**path, "reference": reference}]}


def folder(place: Path, change: Change = lambda atoms, stated: None) -> Path:
    atoms, stated = structures(), table()
    change(atoms, stated)
    write(place / "structures.extxyz", atoms)
    (place / "paths.json").write_text(json.dumps(stated))
    return place


def test_a_folder_becomes_a_dataset_that_is_read_again(tmp_path: Path) -> None:
    dataset = load_dataset(save_dataset(import_reaction_paths(folder(tmp_path), CARD), tmp_path / "data"))
    (row,) = dataset.table.paths
    size = kcal / mol
    assert row.reference == {"CCSD(T)": PathReference(barrier=48 * size, reaction_energy=15 * size)}
    assert path_structures(dataset.structures) == [dict(zip(PathRole, range(4), strict=True))]
    assert dataset.table.id[-1] == "HCN: transition state"
    np.testing.assert_allclose(dataset.frames.positions[2], [0, 0, -1.07])


def test_a_table_without_paths_has_the_bytes_that_it_had_before() -> None:
    assert "paths" not in Table(id=(), group=(), cluster=()).stored()


def swap(atoms: list[Atoms], _: dict[str, Any]) -> None:
    atoms[1].numbers[:2] = atoms[1].numbers[1::-1]


def drop(atoms: list[Atoms], _: dict[str, Any]) -> None:
    del atoms[1][2]
    atoms[1].info["multiplicity"] = 2


def same(atoms: list[Atoms], _: dict[str, Any]) -> None:
    atoms[1].positions = atoms[0].positions


def charge(atoms: list[Atoms], _: dict[str, Any]) -> None:
    atoms[2].info |= {"charge": 2}


def cell(atoms: list[Atoms], _: dict[str, Any]) -> None:
    atoms[1].cell = np.eye(3) * 9


def unknown(_: list[Atoms], stated: dict[str, Any]) -> None:
    stated["paths"][0]["product"] = "HMC"


def nothing(_: list[Atoms], stated: dict[str, Any]) -> None:
    stated["paths"][0]["reference"] = {}


def missing(_: list[Atoms], stated: dict[str, Any]) -> None:
    del stated["paths"][0]["reference"]


def twice(_: list[Atoms], stated: dict[str, Any]) -> None:
    stated["paths"] *= 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (swap, "paths.0 .HCN.: product .HNC.: atom 0 is N, in the reactant it is C: give all structures of a path"),
        (drop, "product .HNC.: has 2 atoms, the reactant has 3"),
        (same, "product: is the reactant: no atom moves by 0.001 Å"),
        (charge, "guess .TS.: charge is not that of the reactant"),
        (cell, "product .HNC.: has another cell than the reactant"),
        (unknown, "product: there is no structure 'HMC' in structures.extxyz"),
        (nothing, "has neither barrier nor reaction_energy"),
        (missing, "reference: state reference or references, one of both"),
        (twice, "paths.1: id: 'HCN' is that of 0, too"),
    ],
)
def test_each_mistake_gets_one_line(tmp_path: Path, change: Change, message: str) -> None:
    with pytest.raises(DatasetError, match=message) as raised:
        import_reaction_paths(folder(tmp_path, change), CARD)
    assert "\n" not in str(raised.value)
