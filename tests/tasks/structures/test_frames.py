"""Frames: round trips, selection, batching, and refused arrays."""

from __future__ import annotations

import numpy as np
import pytest
from ase.build import bulk, fcc111, molecule
from hypothesis import given
from hypothesis import strategies as st

from tasks.structures.frames import Frames, FramesError


def mixed() -> Frames:
    charged = molecule("OH")
    charged.info |= {"charge": -1, "spin": 1}
    return Frames.from_atoms([bulk("Cu", cubic=True), charged, fcc111("Pt", (2, 2, 2), vacuum=5.0), molecule("C6H6")])


def test_frames_give_back_the_structures_they_were_made_of() -> None:
    frames = mixed()
    again = Frames.from_atoms([frames.atoms(i) for i in range(len(frames))])
    assert again.sha256() == frames.sha256() == Frames.from_arrays(frames.arrays()).sha256()
    assert frames.atoms(1).info == {"charge": -1, "spin": 1}
    assert frames.periodic.tolist() == [True, False, False, False]
    assert frames.volumes[0] == pytest.approx(bulk("Cu", cubic=True).get_volume())


@given(order=st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_take_gives_the_structures_in_the_order_asked(order: list[int]) -> None:
    frames = mixed()
    taken = frames.take(order)
    assert taken.sha256() == Frames.from_atoms([frames.atoms(i) for i in order]).sha256()


@given(budget=st.integers(1, 40))
def test_batches_cover_all_in_order_within_the_budget(budget: int) -> None:
    frames = mixed()
    ranges = list(frames.batches(budget))
    assert [i for a, b in ranges for i in range(a, b)] == list(range(len(frames)))
    for start, stop in ranges:
        assert stop == start + 1 or frames.n_atoms[start:stop].sum() <= budget
    parts = [frames.between(*r) for r in ranges]
    assert Frames.concatenate(parts).sha256() == frames.sha256()


@pytest.mark.parametrize(
    ("field", "change", "says"),
    [
        ("positions", lambda a: a * np.nan, "finite"),
        ("numbers", lambda a: a * 0, "numbers"),
        ("cell", lambda a: a * 0, "pbc"),
        ("charge", lambda a: a[:-1], "charge"),
        ("multiplicity", lambda a: a - 9, "multiplicity"),
    ],
)
def test_impossible_arrays_are_refused_by_field(field: str, change: object, says: str) -> None:
    arrays = mixed().arrays()
    with pytest.raises(FramesError, match=says):
        Frames.from_arrays(arrays | {field: change(arrays[field])})  # type: ignore[operator]
