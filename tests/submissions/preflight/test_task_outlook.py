"""Which tasks a model can do is what the traits of kinds say of its properties, and each task is in one row."""

from __future__ import annotations

import itertools

import pytest

from submissions.preflight.public_structures import CRYSTALS, IONS, MOLECULES, public_structures
from submissions.preflight.task_outlook import CAN_DO, IN_PART, MISSED, SUITES, suite_counts, task_outlook
from tasks.kinds.registry import KINDS
from tasks.learning.training import Learning
from tasks.structures.predictions import ALL_PROPERTIES, Properties
from tasks.suites.suite import load_suite, packaged_suites

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


def values(row: str, *failed: str) -> list[str]:
    """The rows about sorts of structures, of a model that fails some."""
    answered = [name for name in EVERY if name not in failed]
    return [check.value for check in task_outlook(ALL_PROPERTIES, answered, True) if check.name == row]


def test_a_model_that_knows_no_crystal_misses_tasks_with_crystals() -> None:
    (missed,) = values(MISSED, *CRYSTALS)
    assert missed == "all with crystals, if they fail as copper crystal, silicon crystal and rock salt did"
    assert not values(MISSED, "copper crystal", "water")
    assert values(IN_PART, "copper crystal", "water") == [
        "with crystals like copper crystal, which failed",
        "with molecules like water, which failed",
    ]


def test_a_model_that_fails_in_some_states_misses_tasks_with_them() -> None:
    assert values(MISSED, *IONS) == [
        "all with charged molecules, if they fail as hydroxide ion and ammonium ion did",
    ]
    assert values(MISSED, "oxygen triplet") == []
    assert values(IN_PART, "oxygen triplet") == ["with open-shell molecules like oxygen triplet, which failed"]
    molecules = [name for name in EVERY if name not in (*CRYSTALS, "platinum slab")]
    assert len(values(MISSED, *molecules)) == 1  # those in special states are molecules


@pytest.mark.parametrize("failed", EVERY)
def test_a_structure_that_fails_counts_against_all_tasks_of_all_suites(failed: str) -> None:
    (counts,) = values(SUITES, failed)
    assert "all tasks" not in counts
    assert f"items like {failed} fail in them" in counts
    assert values(SUITES) == [f"all tasks of all {len(packaged_suites())} suites"]


def test_tasks_of_a_domain_whose_structures_all_fail_are_not_counted() -> None:
    (counts,) = values(SUITES, *MOLECULES)
    tasks = load_suite("lambench-2026").tasks
    n = sum(task.domain != "Molecules" for task in tasks)
    assert 0 < n < len(tasks)
    assert f"{n} of {len(tasks)} in lambench-2026" in counts
    assert "none of " in counts


def test_the_tasks_of_each_suite_are_counted() -> None:
    assert suite_counts(ALL_PROPERTIES) == f"all tasks of all {len(packaged_suites())} suites"
    counts = suite_counts(("energy",))
    assert "all tasks of diatomics, gscdb, " in counts
    assert counts.endswith("; none of kappa103")
    assert all(name in counts for name in packaged_suites())
