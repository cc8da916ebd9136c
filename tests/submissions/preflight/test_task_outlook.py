"""Which tasks a model can do is what the traits of kinds say of its properties, and each task is in one row."""

from __future__ import annotations

import itertools

import pytest

from submissions.preflight.probes import public_structures
from submissions.preflight.task_outlook import CAN_DO, IN_PART, MISSED, SUITES, suite_counts, task_outlook
from tasks.kinds.registry import KINDS
from tasks.learning.training import Learning
from tasks.structures.predictions import ALL_PROPERTIES, Properties
from tasks.suites.suite import packaged_suites

EVERY = tuple(public_structures())


@pytest.mark.parametrize("properties", [ALL_PROPERTIES, ("energy", "forces"), ("energy", "stress"), ("energy",)])
@pytest.mark.parametrize("has_trainer", [True, False])
def test_each_kind_is_in_exactly_one_row(properties: Properties, has_trainer: bool) -> None:
    rows = task_outlook(properties, EVERY, has_trainer)
    assert rows[0].name == CAN_DO
    assert rows[-1].name == SUITES
    named = list(itertools.chain(*(row.value.rpartition(": ")[2].split(", ") for row in rows[:-1])))
    assert sorted(named) == sorted(kind.traits.title for kind in KINDS.values())
    missed = " ".join(row.value for row in rows if row.name == MISSED)
    for kind in KINDS.values():
        assert (kind.traits.title in missed) is not (set(kind.traits.needs) <= set(properties)), kind.name


def test_a_model_that_is_not_trained_is_asked_as_it_is() -> None:
    learning = [kind.traits.title for kind in KINDS.values() if isinstance(kind, Learning)]
    partly = [row.value for row in task_outlook(ALL_PROPERTIES, EVERY, False) if row.name == IN_PART]
    assert partly == [f"without a trainer (only an image names one), asked as it is: {', '.join(learning)}"]
    assert not [row for row in task_outlook(ALL_PROPERTIES, EVERY, True) if row.name == IN_PART]


def test_a_model_that_knows_no_crystal_misses_tasks_with_crystals() -> None:
    values = [row.value for row in task_outlook(ALL_PROPERTIES, ("water", "ethanol"), True) if row.name == MISSED]
    assert len(values) == 1
    assert "crystal" in values[0]
    assert "copper crystal, silicon crystal and rock salt" in values[0]
    assert not [row for row in task_outlook(ALL_PROPERTIES, ("rock salt", "water"), True) if row.name == MISSED]


def test_the_tasks_of_each_suite_are_counted() -> None:
    assert suite_counts(ALL_PROPERTIES) == f"all tasks of all {len(packaged_suites())} suites"
    counts = suite_counts(("energy",))
    assert "all tasks of diatomics, gscdb, " in counts
    assert counts.endswith("; none of kappa103")
    assert all(name in counts for name in packaged_suites())
