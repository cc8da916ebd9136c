"""ML-PEG and MLIPAudit over stored results: by hand, and nothing of a lost table or an odd unit passes in silence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from ase import units

from judge.ranking.ml_peg_scores import TRIVIAL_ERROR
from judge.ranking.other_schemes import other_trees
from judge.ranking.score_inputs import Judged
from judge.ranking.score_trees import ScoreTrees, corrected_terms, published_terms
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import ScoringError, Term, load_release
from scoring.clusters import ClusterSums
from scoring.names import COMPATIBLE, ML_PEG, MLIPAUDIT
from submissions.records import StatedLabelSet, Submission
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite, Task, load_suite
from tests.world.board_records import (
    ENERGY,
    FORCE,
    SUITE,
    VIRIAL,
    error,
    frames_metrics,
    good_results,
    refused,
    result,
    submission,
    task,
)

A, B = submission("alpha"), submission("beta")
TASKS = {t.name: t for t in SUITE.tasks}
KCAL = units.kcal / units.mol
NOTE = {"items in": "eV"}


class Scored(NamedTuple):
    """The scores of a submission, and sums by cluster."""

    corrected: Mapping[str, Term]
    as_published: Mapping[str, Term]
    stats: tuple[ClusterSums, ...]


NOTHING = Scored({}, {}, ())


def scores_of(trees: Mapping[str, ScoreTrees]) -> dict[str, Scored]:
    corrected, as_published = corrected_terms(trees), published_terms(trees)
    return {id: Scored(corrected[id], as_published[id], of.stats) for id, of in trees.items()}


def scored(
    suite: Suite, models: Sequence[Submission], results: Sequence[Result], items: Mapping[str, Items] | None = None
) -> tuple[dict[str, Scored], list[str]]:
    """By submission, and the problems; items by task."""
    judged = Judged(suite, {(r.submission, r.task): r for r in results}, lambda r: (items or {}).get(r.task), [])
    return scores_of(other_trees(judged, models, load_release())), judged.problems


def below(term: Term, *path: str) -> Term:
    for name in path:
        part = term.part(name)
        assert part is not None, (name, [p.name for p in term.parts])
        term = part
    return term


# ML-PEG


def test_ml_peg_by_hand() -> None:
    """Good is no error and bad the trivial model's: means over metrics, benchmarks and categories (domains)."""
    metrics = {ENERGY: error(0.2), FORCE: error(1.0, "eV/Å", baseline=4.0), VIRIAL: error(3.0)}
    given = [
        result(A, TASKS["crystals"], metrics),
        result(A, TASKS["molecules"], frames_metrics(0.5)),
        result(A, TASKS["barriers"], {"mae": error(0.3, "eV"), "rmse": error(0.9, "eV")}),
    ]
    found, problems = scored(SUITE, [A], given)
    overall = found[A.id].corrected[ML_PEG]
    crystals = (0.8 + 0.75 + 0.0) / 3
    assert overall.value == pytest.approx((crystals + (0.5 + 0.7) / 2) / 2)
    assert overall.at_best is None
    assert below(overall, "Inorganic Materials", "crystals", "force_rmse").value == pytest.approx(0.75)
    assert problems == []


def test_ml_peg_corrected_takes_charged_errors_and_as_published_those_of_what_succeeded() -> None:
    barriers = {"mae": replace(error(0.8, "eV", n_failed=3), value=0.2)}
    suite = replace(SUITE, tasks=(TASKS["barriers"],))
    found, _ = scored(suite, [A], [result(A, TASKS["barriers"], barriers)])
    assert found[A.id].corrected[ML_PEG].value == pytest.approx(0.2)
    assert found[A.id].as_published[ML_PEG].value == pytest.approx(0.8)


@pytest.mark.parametrize("verdict", [Verdict.CRASHED, Verdict.UNSUPPORTED, None])
def test_what_a_model_failed_counts_0_and_beside_it_1(verdict: Verdict | None) -> None:
    """Also where nobody else was judged in that task: to crash is never to be asked less."""
    some = [r for r in good_results(A, 0.4) if r.task != "barriers"]
    some += [] if verdict is None else [refused(A, TASKS["barriers"], verdict)]
    for others in ([], good_results(B, 0.1)):
        found, _ = scored(SUITE, [A, B], some + others)
        overall = found[A.id].corrected[ML_PEG]
        assert overall.value == pytest.approx((0.6 + (0.6 + 0.0) / 2) / 2)
        assert overall.at_best == pytest.approx((0.6 + (0.6 + 1.0) / 2) / 2)
        assert found[A.id].as_published[ML_PEG].value == pytest.approx(0.6)
        missing = below(overall, "Molecules", "barriers", "mae")
        assert missing.raw is not None
        assert missing.raw.unit == ("eV" if others else TRIVIAL_ERROR)


def test_nobody_judged_has_no_score() -> None:
    found, problems = scored(SUITE, [A], [])
    assert found == {A.id: NOTHING}
    assert problems == []


def test_a_pure_number_has_a_unit_too() -> None:
    count = {"n_barriers_off": error(5.0, "", baseline=20.0)}
    scans = task("scans", "energy_profiles", "Molecules")
    found, problems = scored(replace(SUITE, tasks=(scans,)), [A], [result(A, scans, count)])
    assert found[A.id].corrected[ML_PEG].value == pytest.approx(0.75)
    assert problems == []


@pytest.mark.parametrize(
    ("declared", "stated"),
    [("PBE", None), ("wB97M-V", "wB97M-V"), ("", "not stated")],
)
def test_another_level_of_theory_than_the_label_sets_is_flagged(declared: str, stated: str | None) -> None:
    sets = {"Molecules": StatedLabelSet(name=declared)} if declared else {}
    model = submission("gamma", label_sets=sets)
    given = [result(model, TASKS["barriers"], {"mae": error(0.3, "eV")}, label_set="PBE")]
    found, _ = scored(replace(SUITE, tasks=(TASKS["barriers"],)), [model], given)
    leaf = below(found[model.id].corrected[ML_PEG], "Molecules", "barriers", "mae")
    assert leaf.raw is not None
    facts = dict(leaf.raw.facts)
    assert facts["level of theory"] == "PBE"
    assert facts.get("level of theory of the model") == stated


def test_two_label_sets_are_held_each_against_its_own_baseline() -> None:
    suite = replace(SUITE, tasks=(TASKS["barriers"],))
    given = [
        result(A, TASKS["barriers"], {"mae": error(0.3, "eV", baseline=0.5)}, label_set="PBE"),
        result(B, TASKS["barriers"], {"mae": error(0.3, "eV", baseline=3.0)}, label_set="wB97M-V"),
    ]
    for order in (given, given[::-1]):
        found, _ = scored(suite, [A, B], order)
        assert [found[key].corrected[ML_PEG].value for key in (A.id, B.id)] == [pytest.approx(0.4), pytest.approx(0.9)]


def test_an_error_below_zero_takes_the_score_and_is_named() -> None:
    wrong = {"mae": Metric(value=0.1, charged=-0.1, unit="eV", n_items=10, baseline=1.0)}
    found, problems = scored(SUITE, [A, B], [result(A, TASKS["barriers"], wrong), *good_results(B, 0.5)])
    assert found[A.id] == NOTHING
    assert ML_PEG in found[B.id].corrected
    (problem,) = problems
    assert problem.startswith(f"results/{A.id}: release small: benchmark barriers: metric mae: value")


# MLIPAudit


def items(errors: Sequence[float], causes: Sequence[Cause] | None = None, **columns: Sequence[float]) -> Items:
    words = [f"item {i}" for i in range(len(errors))]
    codes = np.array(causes or [Cause.NONE] * len(errors), np.int8)
    table = {"error": np.array(errors), **{name: np.array(column) for name, column in columns.items()}}
    return Items(id=words, group=words, cluster=words, cause=codes, columns=table)


def audited(name: str, benchmark: str, kind: str = "energy_differences") -> Task:
    return replace(task(name, kind, "Molecules"), mlipaudit=benchmark)


S22 = audited("s22", "noncovalent_interactions")
DBH24 = audited("dbh24", "reactivity")
ROTORS = audited("rotors", "dihedral_scan", "energy_profiles")
AUDIT = Suite("audit", "1", "Audit", (S22, DBH24, ROTORS))
# 1 kcal/mol is up to the threshold; 2 are exp(-3); a failed one counts 0; 0.5 has a sign.
S22_ERRORS = [1.0 * KCAL, 2.0 * KCAL, math.nan, -0.5 * KCAL]
S22_SCORE = (1 + math.exp(-3) + 0 + 1) / 4
S22_ITEMS = items(S22_ERRORS, [Cause.NONE, Cause.NONE, Cause.ERROR, Cause.NONE])
DBH24_ITEMS = items([3.0 * KCAL, 4.5 * KCAL])
DBH24_SCORE = (1 + math.exp(-1.5)) / 2
ROTORS_ITEMS = items([0.0, 0.0], barrier_error=[0.4, -3.0])  # kcal/mol already
ROTORS_SCORE = (1 + math.exp(-6)) / 2
ALL = {"s22": S22_ITEMS, "dbh24": DBH24_ITEMS, "rotors": ROTORS_ITEMS}


def ok(of: Submission, own: Task, n_items: int = 4, **more: object) -> Result:
    notes = NOTE if own.kind == "energy_differences" else {}
    return result(of, own, {}, **{"notes": notes, "n_items": n_items, **more})  # type: ignore[arg-type]


def test_mlipaudit_by_hand_per_item() -> None:
    found, problems = scored(AUDIT, [A], [ok(A, own) for own in AUDIT.tasks], ALL)
    for scores in (found[A.id].corrected, found[A.id].as_published):
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


def test_as_published_keeps_the_slip_of_the_tautomers() -> None:
    """2 kcal/mol against 0.05: taken for kcal/mol by the program, meant in eV (1.153 kcal/mol) by its text."""
    tautomers = audited("tautomers", "tautomers")
    found, _ = scored(replace(AUDIT, tasks=(tautomers,)), [A], [ok(A, tautomers)], {"tautomers": items([2 * KCAL])})
    threshold = 0.05 / KCAL
    assert found[A.id].corrected[MLIPAUDIT].value == pytest.approx(math.exp(-3 * (2 - threshold) / threshold))
    assert found[A.id].as_published[MLIPAUDIT].value == pytest.approx(math.exp(-3 * (2 - 0.05) / 0.05))


def test_a_benchmark_that_was_not_run_counts_0() -> None:
    for missing in ([], [refused(A, DBH24, Verdict.CRASHED)], [ok(A, DBH24, verdict=Verdict.TOO_MANY_FAILURES)]):
        found, problems = scored(AUDIT, [A], [ok(A, S22), ok(A, ROTORS), *missing], ALL)
        expected = (S22_SCORE + 0 + ROTORS_SCORE) / 3
        assert found[A.id].corrected[MLIPAUDIT].value == pytest.approx(expected)
        assert found[A.id].corrected[COMPATIBLE].value == pytest.approx(expected)
        assert problems == []


def test_a_benchmark_of_unknown_elements_counts_0_and_is_not_among_the_compatible() -> None:
    unsupported = ok(A, DBH24, verdict=Verdict.UNSUPPORTED)
    found, _ = scored(AUDIT, [A], [ok(A, S22), ok(A, ROTORS), unsupported], ALL)
    scores = found[A.id].corrected
    assert scores[MLIPAUDIT].value == pytest.approx((S22_SCORE + 0 + ROTORS_SCORE) / 3)
    assert scores[COMPATIBLE].value == pytest.approx((S22_SCORE + ROTORS_SCORE) / 2)
    assert "elements" in below(scores[MLIPAUDIT], "Small molecules", "reactivity").rule


def test_noncovalent_complexes_of_unknown_elements_are_left_out_one_by_one() -> None:
    causes = [Cause.NONE, Cause.NONE, Cause.UNSUPPORTED, Cause.NONE]
    some = ALL | {"s22": items(S22_ERRORS, causes)}
    found, _ = scored(AUDIT, [A], [ok(A, own) for own in AUDIT.tasks], some)
    rest = DBH24_SCORE + ROTORS_SCORE
    assert found[A.id].corrected[MLIPAUDIT].value == pytest.approx((S22_SCORE + rest) / 3)
    assert found[A.id].corrected[COMPATIBLE].value == pytest.approx(((2 + math.exp(-3)) / 3 + rest) / 3)
    none = [ok(A, S22, verdict=Verdict.UNSUPPORTED), ok(A, DBH24), ok(A, ROTORS)]
    found, _ = scored(AUDIT, [A], none, some)
    assert found[A.id].corrected[MLIPAUDIT].value == pytest.approx((0 + rest) / 3)
    assert found[A.id].corrected[COMPATIBLE].value == pytest.approx(rest / 2)


def test_in_other_benchmarks_an_item_of_unknown_elements_has_failed() -> None:
    some = ALL | {"dbh24": items([3.0 * KCAL, math.nan], [Cause.NONE, Cause.UNSUPPORTED])}
    found, problems = scored(AUDIT, [A], [ok(A, own) for own in AUDIT.tasks], some)
    for name in (MLIPAUDIT, COMPATIBLE):
        assert found[A.id].corrected[name].value == pytest.approx((S22_SCORE + 0.5 + ROTORS_SCORE) / 3)
    assert problems == []


def test_two_tasks_of_one_benchmark_are_one_set_of_items_and_failing_one_never_helps() -> None:
    more = audited("more", "reactivity")
    suite = replace(AUDIT, tasks=(DBH24, more))
    both = {"dbh24": DBH24_ITEMS, "more": items([9.0 * KCAL, 9.0 * KCAL])}
    worse = math.exp(-6)
    found, _ = scored(suite, [A], [ok(A, DBH24, 2), ok(A, more, 2)], both)
    whole = found[A.id].corrected[MLIPAUDIT].value
    assert whole == pytest.approx((1 + math.exp(-1.5) + 2 * worse) / 4)
    for verdict in (Verdict.CRASHED, Verdict.UNSUPPORTED, Verdict.TIME_LIMIT):
        # The second task has two items, which another model's result tells.
        found, _ = scored(suite, [A, B], [ok(A, DBH24, 2), refused(A, more, verdict), ok(B, more, 2)], both)
        value = found[A.id].corrected[MLIPAUDIT].value
        assert value == pytest.approx((1 + math.exp(-1.5)) / 4)
        assert value is not None
        assert whole is not None
        assert value < whole


def test_a_model_with_nothing_to_show_has_no_score() -> None:
    refusals = [refused(A, own, Verdict.STARTUP_FAILED) for own in AUDIT.tasks]
    for given in ([], refusals):
        found, problems = scored(AUDIT, [A], given, ALL)
        assert found[A.id] == NOTHING
        assert problems == []


def test_a_suite_without_benchmarks_has_no_such_score() -> None:
    found, _ = scored(SUITE, [A], good_results(A, 0.5))
    assert set(found[A.id].corrected) == {ML_PEG}


def test_lost_items_are_named_and_no_fault_of_the_model() -> None:
    given = [ok(of, own) for of in (A, B) for own in AUDIT.tasks]
    judged = Judged(
        AUDIT,
        {(r.submission, r.task): r for r in given},
        lambda r: None if (r.submission, r.task) == (A.id, "dbh24") else ALL[r.task],
        [],
    )
    found = scores_of(other_trees(judged, [A, B], load_release()))
    assert found[A.id] == NOTHING
    assert found[B.id].corrected[MLIPAUDIT].value == pytest.approx((S22_SCORE + DBH24_SCORE + ROTORS_SCORE) / 3)
    assert judged.problems == [f"results/{A.id}/dbh24: the items table cannot be read: no MLIPAudit score"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: ({"notes": {}}, DBH24_ITEMS), "cannot be converted from a unit that is not noted to kcal/mol"),
        (lambda: ({"notes": {"items in": "J/m²"}}, DBH24_ITEMS), "cannot be converted from J/m² to kcal/mol"),
        (lambda: ({}, replace(DBH24_ITEMS, columns={})), "items: error: is missing: measure it again"),
        (lambda: ({}, items([1.0], a_count=[1.0], b_count=[0.0])), "of 2 quantities, 0 are barriers"),
    ],
)
def test_items_that_cannot_be_scored_are_named(
    change: Callable[[], tuple[dict[str, object], Items]], said: str
) -> None:
    more, table = change()
    found, problems = scored(AUDIT, [A], [ok(A, S22), ok(A, DBH24, **more)], ALL | {"dbh24": table})
    assert found[A.id] == NOTHING
    (problem,) = problems
    assert problem.startswith(f"results/{A.id}: task dbh24: items: ")
    assert said in problem


def test_of_several_quantities_the_barriers_are_scored() -> None:
    table = items([3.0, 90.0, 4.5], barrier_count=[1.0, 0.0, 1.0], reaction_energy_count=[0.0, 1.0, 0.0])
    suite = replace(AUDIT, tasks=(DBH24,))
    found, _ = scored(suite, [A], [ok(A, DBH24, notes={"items in": "kcal/mol"})], {"dbh24": table})
    assert found[A.id].corrected[MLIPAUDIT].value == pytest.approx(DBH24_SCORE)


def test_a_benchmark_that_is_not_measured_is_named_with_the_suite() -> None:
    suite = replace(AUDIT, tasks=(audited("x", "ring_planarity"),))
    with pytest.raises(ScoringError, match=r"suite audit: mlipaudit: ring_planarity is not measured: take one of non"):
        scored(suite, [A], [])


def test_the_quickstart_suite_has_benchmarks() -> None:
    suite = load_suite("quickstart")
    tables = {"s22": S22_ITEMS, "dbh24": DBH24_ITEMS, "rotors": ROTORS_ITEMS}
    given = [ok(A, t) for t in suite.tasks if t.mlipaudit]
    found, problems = scored(suite, [A], given, tables)
    assert found[A.id].corrected[MLIPAUDIT].total == 3
    assert problems == []


@pytest.mark.parametrize("cause", [Cause.NONE, Cause.ERROR, Cause.UNSUPPORTED])
def test_statistics_by_cluster_give_the_mlipaudit_metrics(cause: Cause) -> None:
    some = ALL | {"dbh24": items([3.0 * KCAL, math.nan if cause else KCAL], [Cause.NONE, cause])}
    some |= {"s22": items(S22_ERRORS, [Cause.NONE, Cause.NONE, cause, Cause.NONE])}
    found, _ = scored(AUDIT, [A], [ok(A, own) for own in AUDIT.tasks], some)
    values = {of.key: of.value for of in found[A.id].stats}
    leaves = found[A.id].corrected[MLIPAUDIT].node.leaves
    assert len(leaves) == 3
    assert values == {leaf.key: pytest.approx(leaf.raw.value, rel=1e-12) for leaf in leaves}


def test_a_benchmark_without_items_has_no_statistics() -> None:
    results = [ok(A, S22), ok(A, ROTORS), refused(A, DBH24, Verdict.CRASHED)]
    found, _ = scored(AUDIT, [A], results, ALL)
    assert {of.task for of in found[A.id].stats} == {"noncovalent_interactions", "dihedral_scan"}
