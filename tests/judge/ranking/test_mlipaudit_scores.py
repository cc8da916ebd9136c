"""MLIPAudit over stored results: scores of items by hand; lost items and unknown units are named."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from ase import units

from judge.ranking.other_schemes import other_trees
from judge.ranking.score_inputs import Judged
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import ScoringError, load_release
from scoring.names import COMPATIBLE, ML_PEG, MLIPAUDIT
from submissions.records import Submission
from tasks.metrics.measurement import Items
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite, Task, load_suite
from tests.judge.ranking.other_scores import NOTHING, A, B, below, scored, scores_of
from tests.world.board_records import (
    SUITE,
    good_results,
    refused,
    result,
    task,
)

KCAL = units.kcal / units.mol
NOTE = {"items in": "eV"}


def items(errors: Sequence[float], causes: Sequence[Cause] | None = None, **columns: Sequence[float]) -> Items:
    words = [f"item {i}" for i in range(len(errors))]
    codes = np.array(causes or [Cause.NONE] * len(errors), np.int8)
    table = {"error": np.array(errors), **{name: np.array(column) for name, column in columns.items()}}
    return Items(id=words, group=words, cluster=words, cause=codes, columns=table)


def audited(name: str, benchmark: str, kind: str = "energy_differences") -> Task:
    return replace(task(name, kind, "Molecules"), mlipaudit=(benchmark,) if benchmark else ())


S22 = audited("s22", "noncovalent_interactions")
DBH24 = audited("dbh24", "reactivity")
ROTORS = audited("rotors", "dihedral_scan", "energy_profiles")
AUDIT = Suite("audit", "1", "Audit", (S22, DBH24, ROTORS))
# 1 kcal/mol is within the threshold; 2 kcal/mol score exp(-3); a failed item counts 0; one error is negative.
S22_ERRORS = [1.0 * KCAL, 2.0 * KCAL, math.nan, -0.5 * KCAL]
S22_SCORE = (1 + math.exp(-3) + 0 + 1) / 4
S22_ITEMS = items(S22_ERRORS, [Cause.NONE, Cause.NONE, Cause.ERROR, Cause.NONE])
DBH24_ITEMS = items([3.0 * KCAL, 4.5 * KCAL])
DBH24_SCORE = (1 + math.exp(-1.5)) / 2
ROTORS_ITEMS = items([0.0, 0.0], barrier_error=[0.4, -3.0])  # kcal/mol already
ROTORS_SCORE = (1 + math.exp(-6)) / 2
ALL = {"s22": S22_ITEMS, "dbh24": DBH24_ITEMS, "rotors": ROTORS_ITEMS}


def ok(submission: Submission, task: Task, n_items: int = 4, **more: object) -> Result:
    notes = NOTE if task.kind == "energy_differences" else {}
    return result(submission, task, {}, **{"notes": notes, "n_items": n_items, **more})  # type: ignore[arg-type]


def test_mlipaudit_by_hand_per_item() -> None:
    by_model, problems = scored(AUDIT, [A], [ok(A, t) for t in AUDIT.tasks], ALL)
    for scores in (by_model[A.id].corrected, by_model[A.id].as_published):
        overall = scores[MLIPAUDIT]
        assert overall.value == pytest.approx((S22_SCORE + DBH24_SCORE + ROTORS_SCORE) / 3, rel=1e-9)
        assert scores[COMPATIBLE].value == pytest.approx(overall.value)
        leaf = below(overall, "Small molecules", "noncovalent_interactions", "interaction_energy_abs_error")
        assert leaf.value == pytest.approx(S22_SCORE)
        assert leaf.raw is not None
        assert (leaf.raw.n_items, leaf.raw.n_failed) == (4, 1)
        # In kcal/mol, though the task's items are in eV.
        assert dict(leaf.raw.facts)["mean"] == pytest.approx((1 + 2 + 0.5) / 3)
    assert problems == []


@pytest.mark.parametrize(("cause", "published"), [(Cause.NON_FINITE, 0.0), (Cause.ERROR, 0.5)])
def test_as_published_a_nan_takes_all_reactions_and_a_call_that_raised_takes_one(
    cause: Cause, published: float
) -> None:
    answers = items([0.0, math.nan], [Cause.NONE, cause])
    by_model, _ = scored(replace(AUDIT, tasks=(DBH24,)), [A], [ok(A, DBH24)], {"dbh24": answers})
    assert by_model[A.id].corrected[MLIPAUDIT].value == pytest.approx(0.5)
    assert by_model[A.id].as_published[MLIPAUDIT].value == pytest.approx(published)


def test_as_published_keeps_the_slip_of_the_tautomers() -> None:
    """2 kcal/mol against 0.05, which is in kcal/mol in the program, and in eV (1.153 kcal/mol) in the documentation."""
    tautomers = audited("tautomers", "tautomers")
    by_model, _ = scored(replace(AUDIT, tasks=(tautomers,)), [A], [ok(A, tautomers)], {"tautomers": items([2 * KCAL])})
    threshold = 0.05 / KCAL
    assert by_model[A.id].corrected[MLIPAUDIT].value == pytest.approx(math.exp(-3 * (2 - threshold) / threshold))
    assert by_model[A.id].as_published[MLIPAUDIT].value == pytest.approx(math.exp(-3 * (2 - 0.05) / 0.05))


def test_a_benchmark_that_was_not_run_counts_0() -> None:
    for missing in ([], [refused(A, DBH24, Verdict.CRASHED)], [ok(A, DBH24, verdict=Verdict.TOO_MANY_FAILURES)]):
        by_model, problems = scored(AUDIT, [A], [ok(A, S22), ok(A, ROTORS), *missing], ALL)
        expected = (S22_SCORE + 0 + ROTORS_SCORE) / 3
        assert by_model[A.id].corrected[MLIPAUDIT].value == pytest.approx(expected)
        assert by_model[A.id].corrected[COMPATIBLE].value == pytest.approx(expected)
        assert problems == []


def test_a_benchmark_of_unknown_elements_counts_0_and_is_not_among_the_compatible() -> None:
    unsupported = ok(A, DBH24, verdict=Verdict.UNSUPPORTED)
    by_model, _ = scored(AUDIT, [A], [ok(A, S22), ok(A, ROTORS), unsupported], ALL)
    scores = by_model[A.id].corrected
    assert scores[MLIPAUDIT].value == pytest.approx((S22_SCORE + 0 + ROTORS_SCORE) / 3)
    assert scores[COMPATIBLE].value == pytest.approx((S22_SCORE + ROTORS_SCORE) / 2)
    assert "elements" in below(scores[MLIPAUDIT], "Small molecules", "reactivity").rule


def test_noncovalent_complexes_of_unknown_elements_are_left_out_one_by_one() -> None:
    causes = [Cause.NONE, Cause.NONE, Cause.UNSUPPORTED, Cause.NONE]
    some = ALL | {"s22": items(S22_ERRORS, causes)}
    by_model, _ = scored(AUDIT, [A], [ok(A, t) for t in AUDIT.tasks], some)
    rest = DBH24_SCORE + ROTORS_SCORE
    assert by_model[A.id].corrected[MLIPAUDIT].value == pytest.approx((S22_SCORE + rest) / 3)
    assert by_model[A.id].corrected[COMPATIBLE].value == pytest.approx(((2 + math.exp(-3)) / 3 + rest) / 3)
    none = [ok(A, S22, verdict=Verdict.UNSUPPORTED), ok(A, DBH24), ok(A, ROTORS)]
    by_model, _ = scored(AUDIT, [A], none, some)
    assert by_model[A.id].corrected[MLIPAUDIT].value == pytest.approx((0 + rest) / 3)
    assert by_model[A.id].corrected[COMPATIBLE].value == pytest.approx(rest / 2)


def test_in_other_benchmarks_an_item_of_unknown_elements_has_failed() -> None:
    some = ALL | {"dbh24": items([3.0 * KCAL, math.nan], [Cause.NONE, Cause.UNSUPPORTED])}
    by_model, problems = scored(AUDIT, [A], [ok(A, t) for t in AUDIT.tasks], some)
    for name in (MLIPAUDIT, COMPATIBLE):
        assert by_model[A.id].corrected[name].value == pytest.approx((S22_SCORE + 0.5 + ROTORS_SCORE) / 3)
    assert problems == []


def test_two_tasks_of_one_benchmark_are_one_set_of_items_and_failing_one_never_helps() -> None:
    more = audited("more", "reactivity")
    suite = replace(AUDIT, tasks=(DBH24, more))
    both = {"dbh24": DBH24_ITEMS, "more": items([9.0 * KCAL, 9.0 * KCAL])}
    worse = math.exp(-6)
    by_model, _ = scored(suite, [A], [ok(A, DBH24, 2), ok(A, more, 2)], both)
    whole = by_model[A.id].corrected[MLIPAUDIT].value
    assert whole == pytest.approx((1 + math.exp(-1.5) + 2 * worse) / 4)
    for verdict in (Verdict.CRASHED, Verdict.UNSUPPORTED, Verdict.TIME_LIMIT):
        # The second task has two items, as another model's result states.
        by_model, _ = scored(suite, [A, B], [ok(A, DBH24, 2), refused(A, more, verdict), ok(B, more, 2)], both)
        value = by_model[A.id].corrected[MLIPAUDIT].value
        assert value == pytest.approx((1 + math.exp(-1.5)) / 4)
        assert value is not None
        assert whole is not None
        assert value < whole


def test_a_model_without_any_result_has_no_score() -> None:
    refusals = [refused(A, t, Verdict.STARTUP_FAILED) for t in AUDIT.tasks]
    for given in ([], refusals):
        by_model, problems = scored(AUDIT, [A], given, ALL)
        assert by_model[A.id] == NOTHING
        assert problems == []


def test_a_suite_without_benchmarks_has_no_such_score() -> None:
    by_model, _ = scored(SUITE, [A], good_results(A, 0.5))
    assert set(by_model[A.id].corrected) == {ML_PEG}


def test_lost_items_are_named_and_no_fault_of_the_model() -> None:
    given = [ok(model, t) for model in (A, B) for t in AUDIT.tasks]
    judged = Judged(
        AUDIT,
        {(r.submission, r.task): r for r in given},
        lambda r: None if (r.submission, r.task) == (A.id, "dbh24") else ALL[r.task],
        [],
    )
    by_model = scores_of(other_trees(judged, [A, B], load_release()))
    assert by_model[A.id] == NOTHING
    assert by_model[B.id].corrected[MLIPAUDIT].value == pytest.approx((S22_SCORE + DBH24_SCORE + ROTORS_SCORE) / 3)
    assert judged.problems == [f"results/{A.id}/dbh24: the items table cannot be read: no MLIPAudit score"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: ({"notes": {}}, DBH24_ITEMS), "cannot be converted from a unit that is not noted to kcal/mol"),
        (lambda: ({"notes": {"items in": "J/m²"}}, DBH24_ITEMS), "cannot be converted from J/m² to kcal/mol"),
        (lambda: ({}, replace(DBH24_ITEMS, columns={})), "items: error: is missing: measure it again"),
        (lambda: ({}, items([1.0], a_count=[1.0], b_count=[0.0])), "of 2 quantities, 0 are barriers"),
    ],
)
def test_items_that_cannot_be_scored_are_named(
    change: Callable[[], tuple[dict[str, object], Items]], message: str
) -> None:
    more, table = change()
    by_model, problems = scored(AUDIT, [A], [ok(A, S22), ok(A, DBH24, **more)], ALL | {"dbh24": table})
    assert by_model[A.id] == NOTHING
    (problem,) = problems
    assert problem.startswith(f"results/{A.id}: task dbh24: items: ")
    assert message in problem


def test_of_several_quantities_the_barriers_are_scored() -> None:
    table = items([3.0, 90.0, 4.5], barrier_count=[1.0, 0.0, 1.0], reaction_energy_count=[0.0, 1.0, 0.0])
    suite = replace(AUDIT, tasks=(DBH24,))
    by_model, _ = scored(suite, [A], [ok(A, DBH24, notes={"items in": "kcal/mol"})], {"dbh24": table})
    assert by_model[A.id].corrected[MLIPAUDIT].value == pytest.approx(DBH24_SCORE)


def test_a_benchmark_that_is_not_measured_is_named_with_the_suite() -> None:
    suite = replace(AUDIT, tasks=(audited("x", "ring_planarity"),))
    line = "suite audit: task x: mlipaudit: energy_differences does not measure ring_planarity: take one of noncoval"
    with pytest.raises(ScoringError, match=line):
        scored(suite, [A], [])
    unknown = replace(AUDIT, tasks=(audited("x", "water_density", "dynamics"),))
    with pytest.raises(ScoringError, match=r"task x: mlipaudit: MLIPAudit 0.1.0–0.1.4 has no water_density: take one"):
        scored(unknown, [A], [])


def test_the_quickstart_suite_has_benchmarks() -> None:
    suite = load_suite("quickstart")
    tables = {"s22": S22_ITEMS, "dbh24": DBH24_ITEMS, "rotors": ROTORS_ITEMS}
    given = [ok(A, t) for t in suite.tasks if t.mlipaudit]
    by_model, problems = scored(suite, [A], given, tables)
    assert by_model[A.id].corrected[MLIPAUDIT].total == 3
    assert problems == []


@pytest.mark.parametrize("cause", [Cause.NONE, Cause.ERROR, Cause.UNSUPPORTED])
def test_statistics_by_cluster_give_the_mlipaudit_metrics(cause: Cause) -> None:
    some = ALL | {"dbh24": items([3.0 * KCAL, math.nan if cause else KCAL], [Cause.NONE, cause])}
    some |= {"s22": items(S22_ERRORS, [Cause.NONE, Cause.NONE, cause, Cause.NONE])}
    by_model, _ = scored(AUDIT, [A], [ok(A, t) for t in AUDIT.tasks], some)
    values = {sums.key: sums.value for sums in by_model[A.id].stats}
    leaves = by_model[A.id].corrected[MLIPAUDIT].node.leaves
    assert len(leaves) == 3
    assert values == {leaf.key: pytest.approx(leaf.raw.value, rel=1e-12) for leaf in leaves}


def test_a_benchmark_without_items_has_no_statistics() -> None:
    results = [ok(A, S22), ok(A, ROTORS), refused(A, DBH24, Verdict.CRASHED)]
    by_model, _ = scored(AUDIT, [A], results, ALL)
    assert {sums.task for sums in by_model[A.id].stats} == {"noncovalent_interactions", "dihedral_scan"}
