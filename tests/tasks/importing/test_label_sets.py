"""Two label sets of the same structures, which must be the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import write

from tasks.datasets.card import DatasetError, LabelSet
from tasks.importing.importers import read_structures
from tasks.importing.labelled_import import LabelSource, labelled_dataset
from tests.tasks.importing.labelled_structures import CARD, structures

TWO = CARD.model_copy(
    update={"label_sets": {name: LabelSet(theory=name, dispersion=False) for name in ("EMT", "twice")}}
)


def read(path: Path, made: list[Atoms]) -> LabelSource:
    write(path, made, format="extxyz")
    return LabelSource(path, read_structures(path))


def copies(scale: float = 1.0) -> list[Atoms]:
    """The structures, their labels `scale` times as large."""
    made = []
    for atoms in structures():
        copy = atoms.copy()
        results = {name: scale * np.asarray(value) for name, value in atoms.calc.results.items() if name in KEPT}
        copy.calc = SinglePointCalculator(copy, **results)
        made.append(copy)
    return made


KEPT = ("energy", "forces", "stress")


def test_two_label_sets_of_the_same_structures(tmp_path: Path) -> None:
    main, other = read(tmp_path / "one.xyz", copies()), read(tmp_path / "two.xyz", copies(2.0))
    dataset = labelled_dataset(TWO, *main, also={"twice": other}, without=("stress",))
    single, double = dataset.labels("EMT"), dataset.labels("twice")
    np.testing.assert_allclose(double.energy, 2 * single.energy, rtol=1e-6)
    np.testing.assert_allclose(double.forces, 2 * single.forces, atol=1e-6)
    assert single.stress is double.stress is None


def moved(made: list[Atoms]) -> None:
    made[3].positions[1, 2] += 2e-6


def swapped(made: list[Atoms]) -> None:
    made[4], made[6] = made[6], made[4]


def reordered(made: list[Atoms]) -> None:
    made[2].positions[[0, 3]] = made[2].positions[[3, 0]]


def renamed(made: list[Atoms]) -> None:
    made[3].numbers[0] = 7


def strained(made: list[Atoms]) -> None:
    made[2].cell[1, 1] += 1e-5


def charged(made: list[Atoms]) -> None:
    made[5].info["charge"] = -1


def shortened(made: list[Atoms]) -> None:
    made.pop()


def exchanged(made: list[Atoms]) -> None:
    made[0], made[1] = made[1], made[0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (moved, "frame 3: positions: differs; bring the frames into the same order"),
        (swapped, "frame 4: positions: differs"),
        (reordered, "frame 2: positions: atoms 0 and 3 are exchanged; bring the atoms into the same order"),
        (renamed, "frame 3: numbers: differs"),
        (strained, "frame 2: cell: differs"),
        (charged, "frame 5: charge: differs"),
        (shortened, "it has 39 frames, not 40"),
        (exchanged, "frame 0: n_atoms: differs"),
    ],
)
def test_other_structures_are_no_other_label_set(change: Any, says: str, tmp_path: Path) -> None:
    other = copies()
    change(other)
    main = read(tmp_path / "one.xyz", copies())
    with pytest.raises(DatasetError) as refused:
        labelled_dataset(TWO, *main, also={"twice": read(tmp_path / "two.xyz", other)})
    assert str(refused.value).startswith(f"{tmp_path / 'two.xyz'}: is not of the structures of {tmp_path / 'one.xyz'}")
    assert says in str(refused.value)
