"""Conditions of simulations in a data set: one row a structure, or one an atom."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms

from tasks.datasets.card import DatasetError
from tasks.datasets.dataset_checks import check_conditions
from tasks.structures.frames import Frames

FRAMES = Frames.from_atoms([Atoms("H2", [[0, 0, 0], [0, 0, 0.74]]), Atoms("He")])


def test_rows_of_structures_and_of_atoms_are_told_apart() -> None:
    check_conditions({"fixed": np.zeros(3, np.bool_), "molecule": np.zeros(3, np.int64)}, FRAMES)
    check_conditions({"path": np.zeros(2, np.int64), "pressure_gpa": np.zeros(2)}, FRAMES)
    with pytest.raises(DatasetError, match=r"fixed: must be bool\(3,\)"):
        check_conditions({"fixed": np.zeros(2, np.bool_)}, FRAMES)
    with pytest.raises(DatasetError, match=r"path: must be int64\(2,\)"):
        check_conditions({"path": np.zeros(3, np.int64)}, FRAMES)
