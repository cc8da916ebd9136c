"""Reaction tables: references in every unit come out in eV, and what is wrong is named in one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from ase import Atoms, units
from ase.build import bulk, molecule
from ase.io import write

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.importing.reactions import import_reactions

KCAL = units.kcal / units.mol


def card(*label_sets: str) -> Card:
    sets = {name: LabelSet(theory=name, dispersion=False) for name in label_sets}
    return Card(
        name="mine", version="1", title="Mine", domain="Molecules", periodic=False,
        label_sets=sets, default_label_set=label_sets[0] if label_sets else None,
    )  # fmt: skip


ONE = card("CCSD(T)")
TERMS = [{"coefficient": -1.0, "structure": "H2"}, {"coefficient": 2.0, "structure": "H"}]


def folder(where: Path, unit: str = "kcal/mol", *items: dict[str, Any], **info: Any) -> Path:
    """H2 → 2 H with its reference, changed by `items`; the hydrogen atom has 2S+1 = 2, or as `info` says."""
    pair, atom = molecule("H2"), Atoms("H")
    pair.info |= {"name": "H2", "multiplicity": 1}
    atom.info |= {"name": "H", "multiplicity": 2} | info
    write(where / "structures.extxyz", [pair, atom])
    reactions = [{"id": "split", "terms": TERMS} | item for item in items]
    (where / "reactions.json").write_text(
        json.dumps({"source": "mine", "reference_unit": unit, "reactions": reactions})
    )
    return where


@pytest.mark.parametrize(
    ("unit", "stated", "area", "kept"),
    [
        ("kcal/mol", {"reference_kcal_per_mol": 109.5}, None, 109.5 * KCAL),
        ("hartree", {"reference_kcal_per_mol": 109.5}, None, 109.5 * KCAL),
        ("kcal/mol", {"reference": 109.5}, None, 109.5 * KCAL),
        ("kJ/mol", {"reference": 458.0}, None, 458.0 * units.kJ / units.mol),
        ("eV", {"reference": 4.75}, None, 4.75),
        ("meV", {"reference": 4750.0}, None, 4.75),
        ("hartree", {"reference": 0.1745}, None, 0.1745 * 27.211386),
        ("eV/Å²", {"reference": 0.05}, 12.0, 0.05),
        ("meV/Å²", {"reference": 50.0}, 12.0, 0.05),
        ("J/m²", {"reference": 1.0}, 12.0, 1 / 16.021766),
        ("mJ/m²", {"reference": 1000.0}, 12.0, 1 / 16.021766),
        ("mJ/m²", {"references": {"CCSD(T)": 1000.0}}, 12.0, 1 / 16.021766),
    ],
)
def test_references_are_kept_in_ev(
    unit: str, stated: dict[str, Any], area: float | None, kept: float, tmp_path: Path
) -> None:
    more = {} if area is None else {"area_angstrom2": area}
    item = import_reactions(folder(tmp_path, unit, stated | more), ONE).table.differences[0]
    assert item.reference["CCSD(T)"] == pytest.approx(kept, rel=1e-7)
    assert item.area == area
    assert [(t.structure, t.coefficient) for t in item.terms] == [(0, -1.0), (1, 2.0)]
    assert (item.quantity, item.group, item.cluster) == ("", "", "split")  # its own cluster


def test_several_label_sets_quantities_and_clusters(tmp_path: Path) -> None:
    forward = {
        "references": {"PBE": 4.5, "CCSD(T)": 4.75},
        "quantity": "reaction energy",
        "group": "bond",
        "cluster": "H2",
    }
    backward = {"id": "join", "references": {"PBE": 0.0, "CCSD(T)": 0.1}, "quantity": "barrier", "cluster": "H2"}
    dataset = import_reactions(folder(tmp_path, "eV", forward, backward), card("PBE", "CCSD(T)"))
    first, second = dataset.table.differences
    assert first.reference == {"PBE": 4.5, "CCSD(T)": 4.75}
    assert (first.quantity, first.group, first.cluster) == ("reaction energy", "bond", "H2")
    assert (second.quantity, second.group, second.cluster) == ("barrier", "", "H2")


@pytest.mark.data
def test_a_published_set_is_the_same_in_the_longer_form(reference_data: Path, tmp_path: Path) -> None:
    """BH46 rewritten in hartree and by label set gives the same table."""
    source = reference_data / "gscdb" / "BH46"
    plain = import_reactions(source, ONE)
    shutil.copy(source / "structures.extxyz", tmp_path)
    stated = json.loads((source / "reactions.json").read_text())
    for reaction in stated["reactions"]:
        in_hartree = reaction.pop("reference_kcal_per_mol") * KCAL / units.Hartree
        reaction |= {"references": {"CCSD(T)": in_hartree}, "group": "", "quantity": ""}
    (tmp_path / "reactions.json").write_text(json.dumps(stated | {"reference_unit": "hartree"}))
    longer = import_reactions(tmp_path, ONE)
    assert longer.frames.sha256() == plain.frames.sha256()
    assert len(longer.table.differences) == 46
    for a, b in zip(plain.table.differences, longer.table.differences, strict=True):
        assert a.terms == b.terms
        assert a.reference["CCSD(T)"] == pytest.approx(b.reference["CCSD(T)"], rel=1e-14)


GOOD = {"reference": 4.75}


@pytest.mark.parametrize(
    ("unit", "change", "says"),
    [
        ("eV", {"terms": [{"coefficient": 1.0, "structure": "He"}]}, r"terms: there is no structure 'He'"),
        ("eV", {"terms": []}, r"terms: must have at least 1"),
        ("eV", {"reference": "much"}, r"reactions\.0\.reference: must be a number"),
        ("eV", {"area": 3.0}, r"reactions\.0\.area: there is no such field"),
        ("eV", {"area_angstrom2": -3.0}, r"area_angstrom2: must be greater than 0"),
        ("eV", {"reference": None}, r"reference: state one of reference, references, reference_kcal_per_mol"),
        ("eV", {"reference_kcal_per_mol": 1.0}, r"reference: state one of"),
        ("Ry", {}, r"reactions\.json: reference_unit: must be 'eV', 'meV'"),
        ("mJ/m²", {}, r"reactions\.0 \(split\): reference_unit: mJ/m² does not fit items that have no area"),
        ("eV", {"area_angstrom2": 3.0}, r"\(split\): reference_unit: eV does not fit items that are divided"),
        ("mJ/m²", {"reference": None, "reference_kcal_per_mol": 1.0, "area_angstrom2": 3.0}, r"has an area"),
        ("eV", {"reference": None, "references": {"PBE": 1.0}}, r"references: has PBE, but .* are CCSD\(T\)"),
        (
            "eV",
            {"terms": [{"coefficient": -1.0, "structure": "H2"}, {"coefficient": 1.0, "structure": "H"}]},
            r"\(split\): terms: the sum has -1 H atoms, not 0: correct the coefficients",
        ),
    ],
)
def test_bad_reactions_are_refused(unit: str, change: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=says) as refused:
        import_reactions(folder(tmp_path, unit, GOOD | change), ONE)
    assert str(refused.value).startswith(str(tmp_path / "reactions.json"))
    assert "\n" not in str(refused.value)


def test_items_and_structures_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "reactions.json"
    with pytest.raises(DatasetError) as refused:
        import_reactions(folder(tmp_path, "eV", GOOD, GOOD | {"id": "other"}, GOOD), ONE)
    assert str(refused.value) == f"{path}: reactions.2: id: 'split' is that of 0, too: give each its own"
    with pytest.raises(DatasetError) as refused:
        import_reactions(folder(tmp_path, "eV"), ONE)
    assert str(refused.value) == f"{path}: reactions: must have at least 1"
    structures = tmp_path / "structures.extxyz"
    with pytest.raises(DatasetError) as refused:
        import_reactions(folder(tmp_path, "eV", GOOD, name="H2"), ONE)
    assert str(refused.value) == f"{structures}: frame 1: name: two frames are called H2, this one and frame 0"
    structures.write_text(structures.read_text().replace("name=H2 ", "", 1))
    with pytest.raises(DatasetError) as refused:
        import_reactions(tmp_path, ONE)
    assert str(refused.value) == f"{structures}: frame 0: name: is missing: write name= in its comment line"


def test_a_structure_may_be_called_as_fluorine_is(tmp_path: Path) -> None:
    """ASE takes `name=F` for false and `name=T` for true."""
    atom, pair = Atoms("F"), molecule("F2")
    atom.info |= {"name": "F", "multiplicity": 2}
    pair.info |= {"name": "T", "multiplicity": 1}
    write(tmp_path / "structures.extxyz", [pair, atom])
    terms = [{"coefficient": -1.0, "structure": "T"}, {"coefficient": 2.0, "structure": "F"}]
    reactions = [{"id": "split", "terms": terms, "reference": 1.6}]
    (tmp_path / "reactions.json").write_text(json.dumps({"reference_unit": "eV", "reactions": reactions}))
    assert import_reactions(tmp_path, ONE).table.id == ("T", "F")


def test_missing_files_and_label_sets_are_named(tmp_path: Path) -> None:
    folder(tmp_path, "eV", GOOD)
    with pytest.raises(DatasetError, match=r"default|card names no label set"):
        import_reactions(tmp_path, card())
    with pytest.raises(DatasetError, match=r"references: has CCSD\(T\), but the card's label sets are CCSD\(T\), PBE"):
        import_reactions(tmp_path, card("CCSD(T)", "PBE"))
    (tmp_path / "reactions.json").unlink()
    with pytest.raises(DatasetError, match=r"reactions\.json: cannot be read"):
        import_reactions(tmp_path, ONE)


@pytest.mark.parametrize("multiplicity", [0, 1])
def test_a_molecule_states_its_multiplicity(multiplicity: int, tmp_path: Path) -> None:
    """None, and one that a single electron cannot have."""
    with pytest.raises(DatasetError, match=r"structures\.extxyz: H: multiplicity"):
        import_reactions(folder(tmp_path, "eV", GOOD, multiplicity=multiplicity), ONE)


def test_a_crystal_needs_no_multiplicity_and_a_sum_may_be_unbalanced_on_purpose(tmp_path: Path) -> None:
    crystal = bulk("Cu", cubic=True)
    crystal.info["name"] = "Cu4"
    write(tmp_path / "structures.extxyz", [crystal])
    reaction = {"id": "total", "terms": [{"structure": "Cu4", "coefficient": 1}], "reference": -14.0}
    stated = {"reference_unit": "eV", "reactions": [reaction | {"unbalanced": True}]}
    (tmp_path / "reactions.json").write_text(json.dumps(stated))
    dataset = import_reactions(tmp_path, card("PBE"))
    assert dataset.card.periodic
    assert dataset.table.differences[0].reference == {"PBE": -14.0}
