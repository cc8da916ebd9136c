"""Copies of structures are found, are one cluster, and contradict each other aloud."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule

from tasks.datasets.card import Card, Crystal, Difference, LabelSet, Summand, Table
from tasks.datasets.dataset import Dataset
from tasks.importing.checks.copies import find_copies
from tasks.importing.checks.copy_doubts import doubtful_copies
from tasks.importing.labelled_import import Imported, labelled_dataset
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels
from tests.tasks.kind_examples import EXAMPLES

CARD = Card(
    name="mine",
    version="1",
    title="Mine",
    domain="Inorganic Materials",
    periodic=True,
    default_label_set="PBE",
    label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)},
)


def cells(n: int) -> list[Atoms]:
    made = []
    for k in range(n):
        atoms = bulk(("Cu", "Ag")[k % 2], cubic=True)
        atoms.rattle(0.1, seed=k)
        made.append(atoms)
    return made


def labels(n: int) -> Labels:
    rng = np.random.default_rng(3)
    return Labels(rng.normal(size=n), rng.normal(size=(4 * n, 3)), 0.01 * rng.normal(size=(n, 6)))


def imported(structures: Sequence[Atoms], stated: Labels, group: Sequence[str] = ()) -> Imported:
    names = tuple(f"frame {i}" for i in range(len(structures)))
    return Imported(Frames.from_atoms(structures), stated, names, tuple(group) or ("",) * len(names))


def repeated(stated: Labels, times: int) -> Labels:
    return Labels(**{name: np.concatenate([array] * times) for name, array in stated.arrays.items()})


def test_copies_are_found_in_any_order_and_to_few_digits() -> None:
    first = cells(15)
    order = np.random.default_rng(1).permutation(45)
    rough = [atoms.copy() for atoms in first]
    for atoms in rough:
        atoms.positions = atoms.positions.round(5)
    mixed = [[*first, *rough, *first][k] for k in order.tolist()]
    copies = find_copies(Frames.from_atoms(mixed))
    assert copies.n_different == 15
    assert copies.later.size == 30
    assert copies.most[1] == 3
    for i, k in enumerate(copies.first.tolist()):
        assert k <= i
        assert order[i] % 15 == order[k] % 15


def test_what_is_no_copy() -> None:
    """Another element, place, order, cell, periodicity, charge or 2S+1; the cell of a molecule does not count."""
    crystal = bulk("NaCl", "rocksalt", a=5.64)
    others = [crystal.copy() for _ in range(8)]
    others[1].numbers[0] = 19
    others[2].positions[1] += [0.0, 0.0, 0.001]
    others[3] = crystal[[1, 0]]
    others[4].set_cell(1.001 * crystal.cell)
    others[5].pbc = [True, True, False]
    others[6].info["charge"] = 1
    others[7].info["spin"] = 2
    assert find_copies(Frames.from_atoms(others)).n_different == 8
    waters = [molecule("H2O"), molecule("H2O", vacuum=None)]
    waters[1].set_cell([20.0, 20.0, 20.0])
    assert find_copies(Frames.from_atoms(waters)).n_different == 1
    pressures = {"pressure_gpa": np.array([0.0, 10.0])}
    assert find_copies(Frames.from_atoms([crystal, crystal]), pressures).n_different == 2
    assert find_copies(Frames.from_atoms([crystal])).n_different == 1


def test_copies_are_one_cluster() -> None:
    made = imported(cells(20) * 3, repeated(labels(20), 3))
    dataset = labelled_dataset(CARD, Path("a.extxyz"), made)
    assert len(set(dataset.clusters)) == 20
    assert dataset.clusters[25] == "frame 5"
    line = "structures: 40 of 60 are copies, 20 are different (frame 0 is there 3 times); copies are one cluster"
    assert doubtful_copies(dataset) == [line]


def test_frames_that_are_different_are_each_their_own_cluster() -> None:
    dataset = labelled_dataset(CARD, Path("a.extxyz"), imported(cells(20), labels(20)))
    assert dataset.card.cluster_column is None
    assert doubtful_copies(dataset) == []


def test_copies_in_several_groups_are_doubted() -> None:
    made = imported(cells(20) * 2, repeated(labels(20), 2), ["one"] * 20 + ["two"] * 20)
    dataset = labelled_dataset(CARD, Path("a.extxyz"), made, cluster="group")
    assert set(dataset.clusters) == {"one", "two"}
    assert doubtful_copies(dataset)[0].endswith(
        "20 of them are in other clusters than their structure, so that intervals are too narrow: remove them"
    )


def test_copies_do_not_make_energies_enough() -> None:
    made = imported(cells(8) * 3, repeated(labels(8), 3))
    lines = doubtful_copies(labelled_dataset(CARD, Path("a.extxyz"), made))
    few = "energy: 8 frames with energy for 2 independent compositions are fewer than 10 each"
    assert lines[1:] == [f"PBE: without copies, {few}"]


@pytest.mark.parametrize(("field", "by"), [("energy", 0.5), ("forces", 2.0), ("stress", 0.3)])
def test_labels_that_contradict_each_other(field: str, by: float) -> None:
    stated = repeated(labels(20), 2)
    changed = np.array(stated.arrays[field])
    row = 4 * 27 + 1 if field == "forces" else 27
    changed[row] = changed[row] + (np.array([by, 0.0, 0.0]) if field == "forces" else by)
    dataset = labelled_dataset(CARD, Path("a.extxyz"), imported(cells(20) * 2, replace(stated, **{field: changed})))
    lines = doubtful_copies(dataset)[1:]
    assert len(lines) == 1
    unit = {"energy": "eV", "forces": "eV/Å", "stress": "eV/Å³"}[field]
    apart = f"with labels that are {by:g} {unit} apart (1 such copies in all)"
    assert lines[0].startswith(f"PBE: {field}: frame 7 and frame 27 are one structure, {apart}: of other states")


def test_labels_of_one_calculation_that_was_run_twice_do_not_contradict() -> None:
    stated = labels(20)
    again = Labels(**{name: array + 1e-6 for name, array in stated.arrays.items()})
    both = Labels(**{name: np.concatenate([array, again.arrays[name]]) for name, array in stated.arrays.items()})
    assert len(doubtful_copies(labelled_dataset(CARD, Path("a.extxyz"), imported(cells(20) * 2, both)))) == 1


def test_a_copy_without_a_label_contradicts_nothing() -> None:
    stated = repeated(labels(20), 2)
    energy = np.array(stated.energy)
    energy[25] = np.nan
    dataset = labelled_dataset(CARD, Path("a.extxyz"), imported(cells(20) * 2, replace(stated, energy=energy)))
    assert len(doubtful_copies(dataset)) == 1


def crystal_set(references: Sequence[float], clusters: Sequence[str]) -> Dataset:
    rows = tuple(
        Crystal(id=f"c{i}", cluster=cluster, structure=i, reference={"PBE": {"k_vrh_gpa": value}})
        for i, (value, cluster) in enumerate(zip(references, clusters, strict=True))
    )
    names = tuple(row.id for row in rows)
    table = Table(id=names, group=("",) * len(rows), cluster=names, crystals=rows)
    return Dataset(CARD, Frames.from_atoms([bulk("Cu")] * len(rows)), table, {})


def test_items_of_the_same_structures() -> None:
    assert doubtful_copies(crystal_set([140.0, 140.0], ["Cu", "Cu"])) == []
    lines = doubtful_copies(crystal_set([140.0, 140.0, 70.0], ["", "", ""]))
    assert lines == [
        "crystals: c0 and c1 are of the same structures and in two clusters (2 such items in all), so that intervals "
        "are too narrow: give them one cluster, or keep one",
        "crystals: c0 and c2 are of the same structures, with references that are 50 % apart (1 such items in all): of "
        "other states, or of several calculations: correct them, or keep one",
    ]


def test_a_structure_that_several_reactions_share_is_no_copy_of_an_item() -> None:
    structures = [molecule("H2O"), molecule("H2O"), molecule("CO"), molecule("N2")]
    for atoms in structures:
        atoms.info = {"charge": 0, "spin": 1}
    terms = [((0, 1.0), (2, -1.0)), ((1, 1.0), (3, -1.0)), ((2, -1.0), (1, 1.0))]
    rows = tuple(
        Difference(
            id=f"d{i}",
            terms=tuple(Summand(structure=structure, coefficient=share) for structure, share in of_row),
            reference={"PBE": 1.0},
        )
        for i, of_row in enumerate(terms)
    )
    card = CARD.model_copy(update={"periodic": False, "domain": "Molecules"})
    table = Table(id=("a", "b", "c", "d"), group=("",) * 4, cluster=("a", "b", "c", "d"), differences=rows)
    frames = Frames.from_atoms(structures)
    two = Dataset(card, frames, table.model_copy(update={"differences": rows[:2]}), {})
    assert doubtful_copies(two) == []
    lines = doubtful_copies(Dataset(card, frames, table, {}))
    assert len(lines) == 1
    assert lines[0].startswith("differences: d0 and d2 are of the same structures and in two clusters")


@pytest.mark.parametrize("kind", EXAMPLES)
def test_data_sets_of_all_kinds_are_read(kind: str) -> None:
    for line in doubtful_copies(EXAMPLES[kind]().dataset):
        assert "\n" not in line
