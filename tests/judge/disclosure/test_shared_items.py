"""Data sets with items in common are found, also if structures were turned, moved, sorted or rounded."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule

from judge.disclosure.shared_items import item_fingerprints, sharing
from tasks.datasets.card import Difference
from tasks.kind import DatasetPart
from tests.judge.pages.choice_site import CRYSTALS, SURFACES, dataset


def turned(atoms: Atoms) -> Atoms:
    moved = atoms.copy()
    moved.rotate(40, (1, 2, 3))
    moved.positions = np.round(moved.positions + 3.0, 6)
    return moved[np.random.default_rng(1).permutation(len(moved))]


@pytest.mark.parametrize(("second", "shared"), [("CH3CONH2", True), ("CH3SH", False)])
def test_a_common_structure_is_found(second: str, shared: bool) -> None:
    sets = {
        "one": [molecule("CH3CH2OH"), molecule("CH3CONH2")],
        "two": [turned(molecule(second)), molecule("C6H6")],
        "three": [bulk("Cu")],
    }
    known = {name: item_fingerprints(dataset(CRYSTALS, each), DatasetPart.LABELS) for name, each in sets.items()}
    assert sharing(known) == ({"one", "two"} if shared else set())


def test_a_structure_of_two_reactions_is_no_common_item() -> None:
    frames = [molecule(name) for name in ("H2O", "CO", "CO2", "H2")]

    def reactions(*pairs: tuple[int, int]) -> list[str]:
        terms = [[{"structure": a, "coefficient": -1.0}, {"structure": b, "coefficient": 1.0}] for a, b in pairs]
        rows = tuple(Difference(id=str(k), terms=each, reference={"exact": 0.0}) for k, each in enumerate(terms))
        return item_fingerprints(dataset(SURFACES, frames, differences=rows), DatasetPart.DIFFERENCES)

    assert sharing({"one": reactions((0, 1), (1, 2)), "two": reactions((0, 2), (0, 3))}) == set()
    assert sharing({"one": reactions((0, 1), (1, 2)), "two": reactions((0, 3), (2, 1))}) == {"one", "two"}
