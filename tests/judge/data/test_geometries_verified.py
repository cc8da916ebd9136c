"""`judge data verify --with IMAGE` states that geometries are not compared."""

from __future__ import annotations

from ase.build import bulk

from judge.data.reference_comparison import not_compared
from tests.tasks.kinds.relaxed_sets import relaxation_set


def test_geometries_are_named_as_not_compared() -> None:
    dataset = relaxation_set([bulk("Cu")], [bulk("Cu")])
    (line,) = not_compared(dataset, dataset.table)
    assert line == "geometries: not compared: they take relaxations: evaluate their task"
