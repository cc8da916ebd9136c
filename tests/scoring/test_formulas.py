"""Every formula against numbers computed by hand, and the messages for bad input."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from scoring import (
    AskedTask,
    Placed,
    RankingEntry,
    Run,
    RunOutcome,
    ScoringError,
    efficiency_tree,
    explain,
    force_field_tree,
    instability_tree,
    load_release,
    parse_release,
    property_tree,
    ranking,
)
from scoring.lambench.rules import ForceFieldRule
from tests.world.made_answers import answers_of

RULES = load_release("corrected")
FF = RULES.force_field


def _ff(tasks: dict[str, tuple[str, dict[str, float | None]]], labels: Mapping[str, tuple[str, ...]]) -> float | None:
    """The force-field error of normalised errors (all baselines are 2)."""
    asked_tasks = [AskedTask(name, domain, labels[name]) for name, (domain, _) in tasks.items()]
    answers = answers_of(
        {
            name: {label: (None if e is None else 2 * e, 2.0) for label, e in row.items()}
            for name, (_, row) in tasks.items()
        }
    )
    return explain(force_field_tree(asked_tasks, answers, FF)).value


EF, EFV = ("energy", "force"), ("energy", "force", "virial")


def test_force_field_error_by_hand() -> None:
    tasks: dict[str, tuple[str, dict[str, float | None]]] = {
        "a": ("Catalysis", {"energy": 0.1, "force": 0.4, "virial": 0.5}),
        "b": ("Catalysis", {"energy": 0.4, "force": 0.9}),
        "c": ("Molecules", {"energy": 0.2, "force": 0.3}),
    }
    catalysis = 0.45 * math.sqrt(0.1 * 0.4) + 0.45 * math.sqrt(0.4 * 0.9) + 0.1 * 0.5
    molecules = 0.5 * 0.2 + 0.5 * 0.3
    assert _ff(tasks, {"a": EFV, "b": EF, "c": EF}) == pytest.approx((catalysis + molecules) / 2, rel=1e-12)


def test_no_error_beats_the_floor_or_exceeds_the_cap() -> None:
    labels = {"a": EF}
    assert _ff({"a": ("Molecules", {"energy": 0.0, "force": 0.0})}, labels) == pytest.approx(1e-3, rel=1e-12)
    assert _ff({"a": ("Molecules", {"energy": 7.0, "force": 1.5})}, labels) == 1.0


def test_one_memorised_set_does_not_zero_its_domain() -> None:
    tasks: dict[str, tuple[str, dict[str, float | None]]] = {
        "a": ("Molecules", {"energy": 0.0, "force": 0.0}),
        "b": ("Molecules", {"energy": 0.5, "force": 0.5}),
    }
    assert _ff(tasks, {"a": EF, "b": EF}) == pytest.approx(math.sqrt(1e-3 * 0.5), rel=1e-12)


def test_a_model_without_stress_has_the_worst_virial_error_and_still_scores() -> None:
    tasks: dict[str, tuple[str, dict[str, float | None]]] = {"a": ("Catalysis", {"energy": 0.1, "force": 0.2})}
    assert _ff(tasks, {"a": EFV}) == pytest.approx(0.45 * 0.1 + 0.45 * 0.2 + 0.1, rel=1e-12)


def test_weights_are_shared_among_the_labels_that_the_domain_has() -> None:
    tasks: dict[str, tuple[str, dict[str, float | None]]] = {"a": ("Catalysis", {"energy": 0.1, "virial": 0.4})}
    assert _ff(tasks, {"a": ("energy", "virial")}) == pytest.approx((0.45 * 0.1 + 0.1 * 0.4) / 0.55, rel=1e-12)


def test_a_missing_task_counts_as_worst_and_is_not_covered() -> None:
    tasks = [AskedTask("a", "Molecules", EF), AskedTask("b", "Molecules", EF), AskedTask("c", "Catalysis", EF)]
    score = explain(force_field_tree(tasks, answers_of({"a": {"energy": (0.25, 1.0), "force": (0.25, 1.0)}}), FF))
    assert score.value == pytest.approx((math.sqrt(0.25) + 1.0) / 2, rel=1e-12)
    assert (score.covered, score.total, score.complete) == (1, 3, False)
    nothing = explain(force_field_tree(tasks, {}, FF))
    assert (nothing.value, nothing.covered) == (None, 0)


def test_uncapped_release_keeps_errors_above_one() -> None:
    rule = ForceFieldRule.model_validate({**FF.model_dump(), "cap": None, "missing": "unscored"})
    score = explain(
        force_field_tree([AskedTask("a", "X", ("energy",))], answers_of({"a": {"energy": (3.0, 1.5)}}), rule)
    )
    assert score.value == pytest.approx(2.0)


def test_property_error_by_hand() -> None:
    tasks = [
        AskedTask("curves", "Inorganic Materials", ("v0", "b0", "b0_prime")),
        AskedTask("vacancies", "Inorganic Materials", ("mae",)),
        AskedTask("barriers", "Molecules", ("mae",)),
    ]
    answers = answers_of(
        {"curves": {"v0": (1.0, 10.0), "b0": (5.0, 10.0), "b0_prime": (99.0, 1.0)}, "barriers": {"mae": (0.3, 1.0)}}
    )
    score = explain(property_tree(tasks, answers, RULES.property_error))
    assert score.value == pytest.approx(((0.1 + 0.5 + 1.0 + 1.0) / 4 + 0.3) / 2, rel=1e-12)
    assert (score.covered, score.total) == (2, 3)


def test_instability_by_hand() -> None:
    runs = [
        Run("quiet", RunOutcome.COMPLETED, -1e-9),
        Run("drifting", RunOutcome.COMPLETED, -4.9e-3),
        Run("wild", RunOutcome.COMPLETED, 1e9),
        Run("blown up", RunOutcome.FAILED),
    ]
    score = explain(instability_tree(runs, RULES.instability))
    assert score.value == pytest.approx((0 + 2 + 5 + 5) / 4, rel=1e-12)
    at_stated = explain(instability_tree(runs, RULES.instability, 5e-4))
    assert at_stated.value == pytest.approx((0 + math.log10(9.8) + 5 + 5) / 4, rel=1e-12)


def test_a_run_out_of_time_is_left_out_and_counted() -> None:
    runs = [Run("a", RunOutcome.COMPLETED, 4.9e-4), Run("b", RunOutcome.UNMEASURED)]
    score = explain(instability_tree(runs, RULES.instability))
    assert score.value == pytest.approx(1.0)
    assert (score.covered, score.total) == (1, 2)
    assert score.at_worst == pytest.approx(3.0)


def test_the_default_tolerance_is_the_published_one_in_its_own_unit_of_time() -> None:
    ase_time_unit_fs = 10.180505  # Å sqrt(u/eV)
    stated, applied = 5e-4, RULES.instability.tolerances[0]
    assert applied == pytest.approx(stated / (1000 * ase_time_unit_fs / 1000), rel=3e-3)


def test_efficiency_by_hand() -> None:
    assert explain(efficiency_tree({"a": 50.0}, RULES.efficiency)).value == 2.0
    assert explain(efficiency_tree({"a": 50.0, "b": 150.0}, RULES.efficiency)).value == 1.0
    half = explain(efficiency_tree({"a": 50.0, "b": None}, RULES.efficiency))
    assert (half.value, half.covered, half.total) == (0.0, 1, 2)
    assert explain(efficiency_tree({"a": None}, RULES.efficiency)).value is None


def test_ranking_shares_ranks_and_leaves_incomplete_entries_out() -> None:
    entries = [
        RankingEntry("late", True, 0.3, 0.1),
        RankingEntry("tie b", True, 0.2, 0.5),
        RankingEntry("tie a", True, 0.2, 0.5),
        RankingEntry("first", True, 0.2, 0.4),
        RankingEntry("best but incomplete", False, 0.01, 0.01),
        RankingEntry("no number", True, math.nan, None),
    ]
    assert ranking(entries) == [
        Placed("first", 1), Placed("tie a", 2), Placed("tie b", 2), Placed("late", 4), Placed("no number", None),
        Placed("best but incomplete", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("task", "error", "words"),
    [
        (AskedTask("a", "X", ("magmom",)), (1.0, 1.0), "task a: columns: no label type ['magmom']"),
        (AskedTask("a", "X", ("energy",)), (-1.0, 1.0), "task a: energy: an error of -1.0 is below zero"),
        (AskedTask("a", "X", ("energy",)), (1.0, 0.0), "task a: energy: baseline 0.0 is not a positive number"),
        (AskedTask("a", "X", ("energy",)), (1.0, math.nan), "task a: energy: baseline nan"),
        (AskedTask("a", "X", ()), (1.0, 1.0), "task a: columns is empty"),
    ],
)
def test_bad_numbers_name_task_and_field(task: AskedTask, error: tuple[float, float], words: str) -> None:
    with pytest.raises(ScoringError) as caught:
        explain(force_field_tree([task], answers_of({"a": {"energy": error}}), FF))
    assert str(caught.value).startswith(words)


def test_a_task_named_twice_is_refused() -> None:
    with pytest.raises(ScoringError, match="task a: named twice"):
        explain(property_tree([AskedTask("a", "X", ("mae",)), AskedTask("a", "Y", ("mae",))], {}, RULES.property_error))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = ", "release mine: not TOML"),
        ("name = 'mine'", "release mine: title: Field required"),
    ],
)
def test_a_broken_release_names_its_field(text: str, words: str) -> None:
    with pytest.raises(ScoringError) as caught:
        parse_release(text, "mine")
    assert str(caught.value).startswith(words)
    with pytest.raises(ScoringError, match="release v9: not known; one of corrected"):
        load_release("v9")
