"""Charge and 2S+1: whole numbers of a possible size, in every format; all else is one line."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.db import connect
from ase.io import write

from tasks.datasets.card import DatasetError
from tasks.importing.importers import read_structures
from tasks.importing.reading.stated_states import stated_charge, stated_multiplicity
from tests.tasks.importing.labelled_structures import xyz

WRONG = [math.nan, math.inf, -math.inf, 1e300, 10**400, 0.5, 101, "1", "abc", None, True, [1], np.float32("nan")]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: str(value)[:12])
def test_what_is_no_state_is_refused(value: object) -> None:
    with pytest.raises(DatasetError, match=r"^f\.x: frame 2: charge: must be a whole number from -100 to 100, not "):
        stated_charge(value, "f.x: frame 2")
    with pytest.raises(DatasetError, match=r"^f\.x: spin: must be a whole number from 0 to 100, not "):
        stated_multiplicity(value, "f.x", "spin")
    with pytest.raises(DatasetError, match="not -1"):
        stated_multiplicity(-1, "f.x")


@pytest.mark.parametrize("value", [3, 3.0, np.int32(3), np.float64(3.0)])
def test_whole_numbers_of_any_type_are_taken(value: float) -> None:
    charge, multiplicity = stated_charge(value, ""), stated_multiplicity(value, "")
    assert (charge, multiplicity) == (3, 3)
    assert {type(charge), type(multiplicity)} == {int}


@pytest.mark.parametrize("text", ["nan", "inf", "1e300", "-1e300", "0.5", "T", "abc", '"1 1"', "9" * 30])
@pytest.mark.parametrize("field", ["charge", "multiplicity", "spin"])
def test_a_wrong_state_in_a_comment_line_is_named(field: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "states.extxyz"
    path.write_text(xyz() + xyz(info=f"energy=1.0 {field}={text}"))
    with pytest.raises(DatasetError, match=rf"states\.extxyz: frame 1: {field}: must be a whole number"):
        read_structures(path, format="extxyz")


@pytest.mark.parametrize("format", ["traj", "db"])
def test_a_wrong_state_in_other_formats_is_named(format: str, tmp_path: Path) -> None:
    path = tmp_path / f"states.{format}"
    atoms = [Atoms("H", info={"charge": 0}), Atoms("H", info={"charge": 1e300})]
    if format == "db":
        with connect(path) as database:
            for each in atoms:
                database.write(each, key_value_pairs=each.info)
    else:
        write(path, atoms)
    with pytest.raises(
        DatasetError, match=rf"states\.{format}: frame 1: charge: must be a whole number .*, not 1e\+300"
    ):
        read_structures(path, format=format)
