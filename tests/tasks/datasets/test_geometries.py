"""Reference geometries in a data set: kept as labels, checked, and absent from what a model is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase.build import bulk, molecule
from safetensors.numpy import load_file

from tasks.datasets.card import DatasetError
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.datasets.dataset_checks import FRAMES, LABELS
from tasks.datasets.geometries import Geometries, geometries_of
from tasks.datasets.rounding import rounded
from tasks.structures.frames import FRAME_DTYPES, Frames
from tasks.structures.predictions import Labels
from tests.tasks.made_up import make_dataset

STRUCTURES = Frames.from_atoms([bulk("Cu", cubic=True), molecule("H2O")])


def with_geometries(positions: Any = None, cell: Any = None, label_set: str = "PBE") -> Dataset:
    plain = make_dataset(STRUCTURES, Labels(energy=np.array([1.0, 2.0])))
    positions = STRUCTURES.positions + 0.01 if positions is None else positions
    geometries = Geometries(positions, STRUCTURES.cell.copy() if cell is None else cell)
    return Dataset(plain.card, plain.frames, plain.table, plain.label_arrays, {}, {label_set: geometries})


def changed(array: np.ndarray, where: Any, value: float) -> np.ndarray:
    copy = array.copy()
    copy[where] = value
    return copy


def test_what_is_saved_is_what_is_loaded_and_no_part_of_the_structures(tmp_path: Path) -> None:
    made = with_geometries()
    folder = save_dataset(made, tmp_path)
    again = load_dataset(folder)
    np.testing.assert_array_equal(again.geometries["PBE"].positions, made.geometries["PBE"].positions)
    np.testing.assert_array_equal(again.geometries["PBE"].cell, made.geometries["PBE"].cell)
    np.testing.assert_array_equal(again.labels().energy, [1.0, 2.0])
    assert set(load_file(folder / LABELS)) == {"PBE/energy", "PBE/positions", "PBE/cell"}
    assert set(load_file(folder / FRAMES)) == set(FRAME_DTYPES)
    plain = make_dataset(STRUCTURES, Labels(energy=np.array([1.0, 2.0])))
    assert again.structures.frames_sha256 == plain.structures.frames_sha256


def test_geometries_alone_are_labels_enough_and_are_rounded(tmp_path: Path) -> None:
    made = with_geometries(STRUCTURES.positions + 1e-11)
    alone = Dataset(made.card, made.frames, made.table, {}, {}, made.geometries)
    assert load_dataset(save_dataset(alone, tmp_path)).geometries.keys() == {"PBE"}
    grid = rounded(alone).geometries["PBE"]
    np.testing.assert_array_equal(grid.positions, np.round(STRUCTURES.positions, 9) + 0.0)


NAN = np.nan
POSITIONS, CELL = STRUCTURES.positions, STRUCTURES.cell


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positions": POSITIONS[:-1]}, "PBE/positions: must have shape (7, 3), not (6, 3)"),
        ({"cell": CELL[:1]}, "PBE/cell: must have shape (2, 3, 3), not (1, 3, 3)"),
        ({"positions": changed(POSITIONS, 2, NAN)}, "PBE/positions: structure 0: must be finite, or all NaN"),
        ({"positions": changed(POSITIONS, slice(4, 7), NAN)}, "PBE/positions: structure 1: must be finite, or all"),
        ({"cell": changed(CELL, 0, NAN)}, "PBE/positions: structure 0: must be finite, or all NaN"),
        ({"positions": POSITIONS * NAN, "cell": CELL * NAN}, "PBE/positions: is NaN everywhere; leave it out"),
        ({"cell": changed(CELL, (0, 2), 0.0)}, "PBE/cell: structure 0: has no volume"),
        ({"label_set": "HSE"}, "HSE: is not a label set"),
    ],
)
def test_broken_geometries_are_refused_in_one_line(arguments: Mapping[str, Any], message: str) -> None:
    with pytest.raises(DatasetError, match=re.escape(message)) as caught:
        with_geometries(**arguments)
    assert "\n" not in str(caught.value)


def test_positions_without_a_cell_are_refused() -> None:
    with pytest.raises(DatasetError, match="labels: PBE/cell: is missing"):
        geometries_of({"PBE": {"positions": POSITIONS}, "HSE": {"energy": POSITIONS}}, "labels")
