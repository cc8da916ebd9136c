"""Relaxed structures from a folder: what is kept, and one line for each kind of bad input."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, molecule
from ase.constraints import FixAtoms
from ase.io import write

from judge.data.import_options import is_folder
from judge.data.importing import FORMATS
from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.datasets.dataset import load_dataset, load_structures, save_dataset
from tasks.datasets.dataset_checks import LABELS
from tasks.importing.import_summary import summarise
from tasks.importing.relaxed_structures import import_relaxed_structures

CARD = Card(
    name="relaxed", version="1", title="Relaxed", domain="Catalysis", periodic=False,
    label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)}, default_label_set="PBE",
)  # fmt: skip
HELD = (0, 1, 2, 3)
REACTIONS = {
    "reference_unit": "eV",
    "reactions": [
        {
            "id": "atomisation", "reference": 12.0, "unbalanced": True,
            "terms": [{"structure": "water", "coefficient": -1}],
        }
    ],
}  # fmt: skip


def starts() -> dict[str, Atoms]:
    """A crystal, a slab whose lower layer is fixed, and a molecule."""
    slab = fcc111("Cu", (2, 2, 2), vacuum=5.0)
    slab.info.clear()
    slab.set_constraint(FixAtoms(list(HELD)))  # type: ignore[no-untyped-call]
    made = {"copper": bulk("Cu", cubic=True), "slab": slab, "water": molecule("H2O")}
    made["water"].info["multiplicity"] = 1
    return made


def references() -> dict[str, Atoms]:
    made = {name: atoms.copy() for name, atoms in starts().items()}
    made["copper"].set_cell(1.01 * made["copper"].cell, scale_atoms=True)
    made["slab"].positions[4:, 2] += 0.05  # FixAtoms keeps the others
    made["water"].positions[1, 0] += 0.02
    return made


Edit = Callable[[dict[str, Atoms], dict[str, Atoms]], Any]


def folder(where: Path, edit: Edit | None = None, reactions: dict[str, Any] | None = None) -> Path:
    before, after = starts(), references()
    if edit is not None:
        edit(before, after)
    for name, structures in (("structures", before), ("references", after)):
        for key, atoms in structures.items():
            atoms.info["name"] = key
        if structures:
            write(where / f"{name}.extxyz", list(structures.values()))
    if reactions is not None:
        (where / "reactions.json").write_text(json.dumps(reactions))
    return where


def test_geometries_are_labels_and_fixed_atoms_are_conditions(tmp_path: Path) -> None:
    def reordered(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
        after["slab"] = after.pop("slab")  # comes last: names count, not the order

    imported = import_relaxed_structures(folder(tmp_path, reordered, REACTIONS), CARD)
    saved = save_dataset(imported, tmp_path)
    dataset, expected = load_dataset(saved), references()
    for i, name in enumerate(starts()):
        chosen = dataset.frames.atom_slice(i)
        np.testing.assert_allclose(dataset.geometries["PBE"].positions[chosen], expected[name].positions, atol=1e-7)
        np.testing.assert_allclose(dataset.geometries["PBE"].cell[i], expected[name].cell.array, atol=1e-7)
    held = dataset.conditions["fixed"][dataset.frames.atom_slice(1)]
    assert np.flatnonzero(held).tolist() == list(HELD)
    assert dataset.conditions["fixed"].sum() == len(HELD)
    assert [row.id for row in dataset.table.differences] == ["atomisation"]
    # Without the labels, the questions are the same.
    (saved / LABELS).unlink()
    assert load_structures(saved).frames_sha256 == dataset.structures.frames_sha256


def test_the_summary_shows_how_far_the_starts_are_from_their_references(tmp_path: Path) -> None:
    summary = summarise(import_relaxed_structures(folder(tmp_path), CARD))
    distances = summary.references["PBE: distance of the start [Å]"]
    np.testing.assert_allclose([distances.low, distances.high], [0.0, 0.05], atol=1e-6)
    volumes = summary.references["PBE: volume of the start, above the reference's [%]"]
    assert volumes.median == pytest.approx(100 * (1.01**-3 - 1), abs=1e-4)
    assert not summary.impossible


def test_a_structure_that_is_in_a_reaction_needs_no_reference(tmp_path: Path) -> None:
    imported = import_relaxed_structures(folder(tmp_path, lambda _, after: after.pop("water"), REACTIONS), CARD)
    assert imported.geometries["PBE"].known.tolist() == [True, True, False]
    only = tmp_path / "reactions alone"
    only.mkdir()

    def water_alone(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
        after.clear()
        del before["copper"], before["slab"]

    assert not import_relaxed_structures(folder(only, water_alone, REACTIONS), CARD).geometries


def test_a_column_fixed_and_pressures_are_read(tmp_path: Path) -> None:
    def columns(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
        for structures in (before, after):
            structures["slab"].set_constraint()
        before["slab"].arrays["fixed"] = np.arange(8) < 4
        before["copper"].info["pressure_gpa"] = 2.5

    dataset = import_relaxed_structures(folder(tmp_path, columns), CARD)
    assert np.flatnonzero(dataset.conditions["fixed"]).tolist() == [4, 5, 6, 7]
    assert dataset.conditions["pressure_gpa"].tolist() == [2.5, 0.0, 0.0]


def overlap(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
    before["copper"].positions[3] = before["copper"].positions[1] + (0.1, 0, 0)


def flat(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
    after["copper"].cell[2] = after["copper"].cell[1]


def fewer(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
    del after["water"][2]


def other_order(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
    after["water"] = after["water"][[1, 0, 2]]


def moved(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
    after["slab"].set_constraint()
    after["slab"].positions[2, 0] += 0.3


def other_cell(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
    after["slab"].cell[0, 0] += 0.1


def not_periodic(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
    after["slab"].pbc = (True, False, False)


def all_fixed(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
    before["water"].set_constraint(FixAtoms([0, 1, 2]))  # type: ignore[no-untyped-call]


def half_fixed(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
    before["water"].arrays["fixed"] = np.array([0.5, 0.0, 1.0])


def one_pressure(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
    before["silicon"] = after["silicon"] = bulk("Si")
    before["copper"].info["pressure_gpa"] = 2.5


def pressed_molecule(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
    before["copper"].info["pressure_gpa"] = before["water"].info["pressure_gpa"] = 2.5


def pressure_in_words(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
    before["copper"].info["pressure_gpa"] = "high"


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda before, after: after.pop("slab"), "references.extxyz: there is no reference of slab, which is in no"),
        (lambda before, after: before.pop("slab"), "references.extxyz: slab: structures.extxyz has no structure of"),
        (lambda before, after: after.clear(), "references.extxyz: is missing: add it, or reactions.json"),
        (overlap, "structures.extxyz: copper: positions: atom 1 (Cu) and atom 3 (Cu) overlap: they are 0.1 Å apart"),
        (flat, "references.extxyz: copper: cell: has no volume: its vectors lie in a plane"),
        (fewer, "references.extxyz: water: has 2 atoms, its start has 3"),
        (other_order, "references.extxyz: water: atom 0 (H) is atom 0 (O) of its start: bring the atoms into the same"),
        (moved, "references.extxyz: slab: atom 2 (Cu) is fixed, and moved by 0.3 Å"),
        (other_cell, "references.extxyz: slab: cell: is not that of its start, which stays, since it has fixed atoms"),
        (not_periodic, "references.extxyz: slab: pbc: is not that of its start"),
        (all_fixed, "structures.extxyz: water: fixed: every atom is: leave the structure out, or free some"),
        (half_fixed, "structures.extxyz: water: fixed: must be T or F of each atom, as a column fixed:L:1"),
        (one_pressure, "structures.extxyz: silicon: pressure_gpa: is missing, which other crystals state"),
        (pressed_molecule, "structures.extxyz: water: pressure_gpa: is for structures that are periodic in all"),
        (pressure_in_words, "structures.extxyz: copper: pressure_gpa: must be a number, not 'high'"),
    ],
)
def test_bad_input_gets_one_line_that_names_it(edit: Edit, message: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=re.escape(message)) as caught:
        import_relaxed_structures(folder(tmp_path, edit), CARD)
    assert "\n" not in str(caught.value)


@pytest.mark.data
def test_published_crystals_and_molecules_are_imported_as_they_are(reference_data: Path) -> None:
    """X23: lattice energies, without reference geometries."""
    dataset = import_relaxed_structures(reference_data / "x23", CARD)
    assert (len(dataset.frames), len(dataset.table.differences)) == (45, 23)
    assert not dataset.geometries
    assert not dataset.conditions
    assert int(dataset.frames.periodic.sum()) == 23


def test_the_command_has_the_format() -> None:
    assert FORMATS["relaxed-structures"].takes == {"multiplicity"}
    assert is_folder("relaxed-structures")


def test_an_alternative_is_a_structure_of_a_reaction(tmp_path: Path) -> None:
    def bent(before: dict[str, Atoms], after: dict[str, Atoms]) -> None:
        before["bent"] = before["water"].copy()
        before["bent"].positions[1, 0] += 0.1

    term = {"structure": "water", "coefficient": -1, "alternatives": ["bent"]}
    reactions = {**REACTIONS, "reactions": [{**REACTIONS["reactions"][0], "terms": [term]}]}
    imported = import_relaxed_structures(folder(tmp_path, bent, reactions), CARD)
    assert imported.table.differences[0].terms[0].alternatives == (3,)
