"""Import: the same labels from every format, and bad input refused with file and frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk, molecule
from ase.calculators.emt import EMT
from ase.db import connect
from ase.io import write

from tasks.card import Card, DatasetError, LabelSet
from tasks.importers import import_frames, read_structures, summarise
from tasks.reactions import import_reactions

CARD = Card(
    name="mine", version="1", title="Mine", domain="Molecules", periodic=False,
    label_sets={"EMT": LabelSet(theory="EMT", dispersion=False)}, default_label_set="EMT",
)  # fmt: skip


def structures() -> list[Atoms]:
    crystal = bulk("Cu", cubic=True)
    crystal.rattle(0.1, seed=1)
    made = [crystal, molecule("CO")]
    for atoms in made:
        atoms.calc = EMT()
        atoms.get_forces()
    crystal.get_stress()
    made[1].info |= {"charge": 1, "multiplicity": 2, "group": "small"}
    return made


@pytest.mark.parametrize("suffix", ["extxyz", "traj"])
def test_labels_of_a_calculator_survive(suffix: str, tmp_path: Path) -> None:
    path, made = tmp_path / f"mine.{suffix}", structures()
    write(path, made)
    dataset = import_frames(path, CARD)
    labels = dataset.labels()
    np.testing.assert_allclose(labels.energy, [a.get_potential_energy() for a in made], atol=1e-7)
    np.testing.assert_allclose(labels.forces, np.concatenate([a.get_forces() for a in made]), atol=1e-7)
    np.testing.assert_allclose(labels.stress[0], made[0].get_stress(), atol=1e-7)
    assert np.isnan(labels.stress[1]).all()
    assert not dataset.card.periodic
    if suffix == "extxyz":  # a trajectory keeps info too, but that is ASE's business
        assert (dataset.frames.charge[1], dataset.frames.multiplicity[1]) == (1, 2)
        assert dataset.table.group == ("", "small")
    summary = summarise(dataset)
    assert (summary.n_structures, summary.n_atoms, summary.largest, summary.elements) == (2, 6, 4, (6, 8, 29))
    assert summary.force is not None
    assert summary.force[1] == pytest.approx(np.linalg.norm(labels.forces, axis=1).max())


def test_a_database_is_read(tmp_path: Path) -> None:
    path, made = tmp_path / "mine.db", structures()
    with connect(path) as database:
        for atoms in made:
            database.write(atoms)
    labels = import_frames(path, CARD).labels()
    np.testing.assert_allclose(labels.energy, [a.get_potential_energy() for a in made], atol=1e-9)


@pytest.mark.data
def test_mlearn_is_read_as_it_was_written(reference_data: Path) -> None:
    found = read_structures(reference_data / "mlearn" / "Cu_test.extxyz")
    assert found.labels.energy[0] == -426.34693886
    assert found.group[0] == "Vacancy"
    assert found.labels.forces[0].tolist() == [-0.45379089, 1.30609493, -0.42509356]
    # xx, yy, zz, yz, xz, xy of the first line's 3 × 3 matrix.
    np.testing.assert_allclose(
        found.labels.stress[0],
        [-0.0185336035, -0.0249131150, -0.0211687191, -0.0002030198, -0.0002684901, 0.0001707081],
        atol=1e-9,
    )


ONE = '1\nProperties=species:S:1:pos:R:3{more} pbc="{pbc}" {info}\nH 0 0 {z}{values}\n'


def xyz(z: str = "0", info: str = "energy=1.0", more: str = "", values: str = "", pbc: str = "F F F") -> str:
    return ONE.format(z=z, info=info, more=more, values=values, pbc=pbc)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (xyz() + xyz(z="nan"), r"frame 1: positions"),
        (xyz() + xyz(info="energy=nan"), r"frame 1: energy: is not finite"),
        (xyz() + xyz(info='energy="much"'), r"frame 1: energy: is not a number"),
        (xyz(info="energy=1.0 charge=0.5"), r"frame 0: charge: must be a whole number"),
        (xyz(info="energy=1.0 multiplicity=-2"), r"frame 0: multiplicity"),
        (xyz(info='energy=1.0 stress="1 0 0 0 1 0 0 0 1"'), r"frame 0: stress: the structure is not periodic"),
        (xyz() + "2\nx\nH 0 0 0\n", r"frame 1: cannot be read"),
        (xyz(info=""), r"no frame has any"),
        ("", r"(has no structures|cannot be read)"),
        ("nonsense", r"cannot be read"),
    ],
)
def test_bad_frames_are_refused_with_file_and_frame(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.extxyz"
    path.write_text(text)
    with pytest.raises(DatasetError, match=says) as refused:
        import_frames(path, CARD)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


def reactions(folder: Path, **change: Any) -> Path:
    a, b = molecule("H2"), molecule("H")
    a.info["name"], b.info["name"] = "H2", "H"
    write(folder / "structures.extxyz", [a, b])
    terms = [{"coefficient": -1.0, "structure": "H2"}, {"coefficient": 2.0, "structure": "H"}]
    reaction = {"id": "split", "terms": terms, "reference_kcal_per_mol": 109.5} | change
    stated = {"dataset": "x", "reference_unit": "kcal/mol", "reactions": [reaction]}
    (folder / "reactions.json").write_text(json.dumps(stated))
    return folder


def test_references_are_kept_in_ev(tmp_path: Path) -> None:
    item = import_reactions(reactions(tmp_path), CARD).table.differences[0]
    assert item.reference["EMT"] == pytest.approx(109.5 * units.kcal / units.mol)
    assert [(t.structure, t.coefficient) for t in item.terms] == [(0, -1.0), (1, 2.0)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"terms": [{"coefficient": 1.0, "structure": "He"}]}, r"reactions\.0 \(split\): terms: .*'He'"),
        ({"terms": []}, r"reactions\.0 \(split\): terms"),
        ({"reference_kcal_per_mol": "much"}, r"reactions\.0\.reference_kcal_per_mol"),
        ({"reference_kcal_per_mol": None}, r"reactions\.0 \(split\): reference"),
    ],
)
def test_bad_reactions_are_refused(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=says):
        import_reactions(reactions(tmp_path, **change), CARD)
    (tmp_path / "reactions.json").unlink()
    with pytest.raises(DatasetError, match=r"reactions\.json: cannot be read"):
        import_reactions(tmp_path, CARD)
