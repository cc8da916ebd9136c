"""Reaction tables with references in kcal/mol: converted to eV, or refused with the reaction and the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ase import units
from ase.build import molecule
from ase.io import write

from tasks.datasets.card import DatasetError
from tasks.importing.reactions import import_reactions
from tests.tasks.importing.labelled_structures import CARD


def reactions(folder: Path, **change: Any) -> Path:
    a, b = molecule("H2"), molecule("H")
    a.info |= {"name": "H2", "multiplicity": 1}
    b.info |= {"name": "H", "multiplicity": 2}
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
