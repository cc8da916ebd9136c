"""Scores as LAMBench would publish them, against values computed by hand from its release 0.3.1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest

from judge.ranking.build import build_leaderboard
from judge.ranking.lambench_scores import PublishedScores, corrected_trees, dropped_for_all, published_release
from judge.ranking.score_inputs import Judged
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import Node, ScoringError, explain, load_release
from submissions.records import Submission
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite, Task
from tests.world.board_records import ENERGY, FORCE, VIRIAL, items_of, refused, result, runs, submission, task, timed

A, B = submission("alpha"), submission("beta")
INORGANIC, MOLECULES, CATALYSIS = "Inorganic Materials", "Molecules", "Catalysis"
ASE_UNITS_PS = 10.180505710759414


def published(name: str, kind: str, domain: str, release_name: str) -> Task:
    return replace(task(name, kind, domain), release_name=release_name)


TASKS = {
    t.name: t
    for t in (
        published("ani", "labelled_frames", MOLECULES, "ANI"),
        task("crystals", "labelled_frames", INORGANIC),
        published("torsions", "energy_profiles", MOLECULES, "torsionnet"),
        published("phonons", "phonons", INORGANIC, "phonon_mdr"),
        published("bands", "energy_differences", CATALYSIS, "neb"),
        task("moduli", "elasticity", INORGANIC),
        task("drift", "nve", INORGANIC),
        task("speed", "efficiency", INORGANIC),
    )
}
SUITE = Suite("published", "1", "As published", tuple(TASKS.values()), release="lambench-0.3.1")


def metric(value: float | None, unit: str, charged: float = 99.0, baseline: float | None = 50.0) -> Metric:
    """A metric whose failure cost and baseline must not change a score as published."""
    return Metric(
        value=value, unit=unit, n_items=10, n_failed=2, charged=charged, baseline=baseline, failure_cost=500.0
    )


METRICS: Mapping[str, Mapping[str, Metric]] = {
    "ani": {ENERGY: metric(0.05, "eV/atom"), FORCE: metric(0.5, "eV/Å")},
    "crystals": {
        ENERGY: metric(0.2, "eV/atom", baseline=1.0),
        FORCE: metric(0.3, "eV/Å", baseline=1.0),
        VIRIAL: metric(0.4, "eV/atom", baseline=1.0),
    },
    "torsions": {
        "profile_mae": metric(0.5, "kcal/mol"),
        "profile_rmse": metric(0.9, "kcal/mol"),
        "barrier_mae": metric(1.2, "kcal/mol"),
        "n_barriers_off": metric(100.0, ""),
    },
    "phonons": {
        "max_frequency_k_mae": metric(100.0, "K"),
        "entropy_j_per_mol_k_mae": metric(50.0, "J/mol/K"),
        "free_energy_kj_per_mol_mae": metric(10.0, "kJ/mol"),
        "heat_capacity_j_per_mol_k_mae": metric(60.0, "J/mol/K"),
    },
    "bands": {
        "barrier_mae": metric(0.5, "eV"),
        "reaction_energy_mae": metric(0.25, "eV"),
        "barrier_off_percent": metric(61.0, "%"),
        "barrier_off_percent:desorption": metric(50.0, "%"),
        "barrier_off_percent:dissociation": metric(60.0, "%"),
        "barrier_off_percent:transfer": metric(70.0, "%"),
    },
    "moduli": {
        "k_vrh_gpa_mae": metric(20.0, "GPa", baseline=100.0),
        "g_vrh_gpa_mae": metric(5.0, "GPa", baseline=50.0),
    },
    "drift": {},
    "speed": {"time_mean": timed(80.0, charged=200.0, n_failed=1)},
}
FAILURES: Mapping[str, dict[str, int]] = {"phonons": {"ERROR": 1, "UNSUPPORTED": 1}, "moduli": {"ERROR": 5}}
RUNS = runs([5e-3 / ASE_UNITS_PS, -1e-9, math.nan], [Cause.NONE, Cause.NONE, Cause.OVER_TIME])

# Every divisor is the release's; phonons and moduli have success rates of 0.8 and 0.5.
ANI = 0.5 * 0.05 / 0.19151186273205098 + 0.5 * 0.5 / 2.0784568378246826
CRYSTALS = 0.45 * 0.2 + 0.45 * 0.3 + 0.1 * 0.4
TORSIONS = (0.5 / 2.4939 + 1.2 / 5.8176 + 100 / 493) / 3
BANDS = (0.5 / 2.3595 + 0.25 / 0.9498 + 50 / 95.28 + 60 / 99.37 + 70 / 95.43) / 5
SOLIDS = ((100 / 1188.3 + 50 / 764.8 + 10 / 125.1 + 60 / 547.4) / 0.8 + (20 / 100 + 5 / 50) / 0.5) / 6


def results(submission: Submission, **changed: Result | None) -> list[Result]:
    """All results of a model, some of them changed by task; None: no result."""
    all_results = {
        name: result(submission, TASKS[name], metrics, failures=FAILURES.get(name, {}))
        for name, metrics in METRICS.items()
    }
    return [r for r in (all_results | changed).values() if r is not None]


def trees(
    *given: Result, items: Items | None = RUNS, suite: Suite = SUITE
) -> tuple[dict[str, dict[str, Node]], list[str]]:
    """By submission, the trees as published; and the problems."""
    by_unit = {(r.submission, r.task): r for r in given}
    judged = Judged(suite, by_unit, lambda r: items if r.kind == "nve" else items_of(r), [])
    release = published_release(suite)
    reader, keys = PublishedScores(judged, release, load_release()), sorted({r.submission for r in given})
    dropped = dropped_for_all({key: reader.lacking(key) for key in keys}, release)
    return {key: reader.trees(key, dropped) for key in keys}, judged.problems


def value(scores: dict[str, Node], name: str) -> float | None:
    return explain(scores[name]).value


def test_every_score_by_hand() -> None:
    by_model, problems = trees(*results(A))
    expected = (ANI + CRYSTALS) / 2
    assert value(by_model[A.id], "force_field") == pytest.approx(expected, abs=1e-7)  # rounded to 7 decimals
    assert value(by_model[A.id], "property_error") == pytest.approx((TORSIONS + BANDS + SOLIDS) / 3, rel=1e-12)
    assert value(by_model[A.id], "efficiency") == pytest.approx(100 / 80)
    # One decade above 5e-4 per 10.18 ps, 0, and 5 for the run that was not completed.
    assert value(by_model[A.id], "instability") == pytest.approx((1 + 0 + 5) / 3)
    assert problems == []


def test_failures_cost_nothing_as_published() -> None:
    """Only the corrected scores contain failure costs, here the largest possible ones."""
    shown = build_leaderboard(SUITE, [A], results(A), lambda r: RUNS if r.kind == "nve" else items_of(r)).rows[0]
    assert shown.scores["property_error"].value == pytest.approx((1 + 1 + (4 + 0.99 + 1) / 6) / 3)
    assert shown.as_published["property_error"].value == pytest.approx((TORSIONS + BANDS + SOLIDS) / 3)
    assert shown.scores["efficiency"].value == pytest.approx(0.5)


@pytest.mark.parametrize("missing", [None, refused(A, TASKS["bands"], Verdict.CRASHED)])
def test_a_domain_that_one_model_lacks_is_dropped_for_all(missing: Result | None) -> None:
    by_model, _ = trees(*results(A, bands=missing), *results(B))
    for key in (A.id, B.id):
        assert value(by_model[key], "property_error") == pytest.approx((TORSIONS + SOLIDS) / 2)
    nothing = [refused(A, t, Verdict.STARTUP_FAILED) for t in SUITE.tasks]
    by_model, _ = trees(*nothing, *results(B))
    assert value(by_model[B.id], "property_error") == pytest.approx((TORSIONS + BANDS + SOLIDS) / 3)
    assert value(by_model[A.id], "property_error") is None


def test_a_column_without_a_number_is_left_out_as_published() -> None:
    some = {**METRICS["torsions"], "barrier_mae": metric(None, "kcal/mol")}
    by_model, _ = trees(*results(A, torsions=result(A, TASKS["torsions"], some)))
    expected = ((0.5 / 2.4939 + 100 / 493) / 2 + BANDS + SOLIDS) / 3
    assert value(by_model[A.id], "property_error") == pytest.approx(expected)


def test_a_model_without_stress_has_no_published_force_field_error_and_a_corrected_one() -> None:
    silent = {**METRICS["crystals"], VIRIAL: metric(None, "eV/atom", charged=10.0, baseline=1.0)}
    given = results(A, crystals=result(A, TASKS["crystals"], silent))
    by_model, _ = trees(*given)
    assert value(by_model[A.id], "force_field") is None
    judged = Judged(SUITE, {(r.submission, r.task): r for r in given}, lambda r: RUNS, [])
    domain = explain(corrected_trees(judged, A.id, load_release())["force_field"]).part(INORGANIC)
    assert domain is not None
    virial = domain.part("virial")
    assert virial is not None
    assert (virial.share, virial.value) == (pytest.approx(0.1), 1.0)


@pytest.mark.parametrize("cause", [Cause.EXPLODED, Cause.OVER_TIME, Cause.MISSING, Cause.UNSUPPORTED, Cause.ERROR])
def test_every_uncompleted_run_counts_five_as_published(cause: Cause) -> None:
    by_model, _ = trees(*results(A), items=runs([math.nan, 1e-9], [cause, Cause.NONE]))
    assert value(by_model[A.id], "instability") == pytest.approx(2.5)


def test_dynamics_without_a_result_or_with_lost_items_are_no_failure() -> None:
    by_model, problems = trees(*results(A, drift=None))
    assert value(by_model[A.id], "instability") is None
    assert problems == []
    by_model, problems = trees(*results(A), items=None)
    assert value(by_model[A.id], "instability") is None
    assert problems == [f"results/{A.id}/drift: the items table cannot be read: no instability from it"]
    for verdict in (Verdict.TIME_LIMIT, Verdict.CRASHED):
        by_model, _ = trees(*results(A, drift=refused(A, TASKS["drift"], verdict, n_items=3)))
        assert value(by_model[A.id], "instability") == 5.0


def test_no_time_no_efficiency_as_published() -> None:
    for missing in (
        None,
        result(A, TASKS["speed"], {"time_mean": Metric(value=None, unit="µs/atom", n_items=9)}),
    ):
        by_model, _ = trees(*results(A, speed=missing))
        assert value(by_model[A.id], "efficiency") is None


def test_a_task_that_the_release_does_not_have_is_divided_by_its_success_rate_too() -> None:
    suite = replace(SUITE, tasks=tuple(replace(t, release_name="") for t in SUITE.tasks if t.name == "moduli"))
    moduli = result(A, TASKS["moduli"], METRICS["moduli"], failures={"ERROR": 5})
    by_model, _ = trees(moduli, suite=suite)
    assert value(by_model[A.id], "property_error") == pytest.approx((20 / 100 + 5 / 50) / 2 / 0.5)


def test_an_error_without_a_published_baseline_is_not_divided() -> None:
    release = load_release("lambench-0.3.1")
    facts = release.property_tasks["neb"].model_copy(update={"baselines": {"MAE_Ea": None}})
    bare = release.model_copy(update={"property_tasks": {"neb": facts}})
    bands = result(A, TASKS["bands"], METRICS["bands"])
    judged = Judged(replace(SUITE, tasks=(TASKS["bands"],)), {(A.id, "bands"): bands}, lambda r: None, [])
    trees = PublishedScores(judged, bare, load_release()).trees(A.id)
    assert value(trees, "property_error") == 0.5


@pytest.mark.parametrize(("label_set", "divisor"), [("PBE", 2.0), ("ωB97M-V", 4.0), ("wb97m-v", 4.0), ("", 2.0)])
def test_the_label_set_chooses_among_published_baselines(label_set: str, divisor: float) -> None:
    release = load_release("lambench-0.3.1")
    both: dict[str, float | None] = {"wB97": 4.0, "PBE": 2.0}
    facts = release.force_field_tasks["ANI"].model_copy(update={"energy": both, "force": both, "virial": None})
    ours = release.model_copy(update={"force_field_tasks": {"ANI": facts}})
    ani = result(A, TASKS["ani"], METRICS["ani"], label_set=label_set)
    judged = Judged(replace(SUITE, tasks=(TASKS["ani"],)), {(A.id, "ani"): ani}, lambda r: None, [])
    trees = PublishedScores(judged, ours, load_release()).trees(A.id)
    assert value(trees, "force_field") == pytest.approx(0.5 * 0.05 / divisor + 0.5 * 0.5 / divisor)


def test_another_unit_than_the_published_one_is_refused() -> None:
    """An error of 500 meV must not count as 500 eV."""
    wrong = {**METRICS["bands"], "barrier_mae": metric(500.0, "meV")}
    with pytest.raises(
        ScoringError, match=r"results/alpha.*release lambench-0.3.1: task bands: barrier_mae: unit 'meV'"
    ):
        trees(*results(A, bands=result(A, TASKS["bands"], wrong)))


@pytest.mark.parametrize(("name", "column"), [("bands", "barrier_mae"), ("crystals", FORCE)])
def test_a_negative_error_is_named_with_submission_release_task_and_field(name: str, column: str) -> None:
    wrong = {**METRICS[name], column: metric(-0.1, "eV", charged=-0.1)}
    given = results(A, **{name: result(A, TASKS[name], wrong)})
    with pytest.raises(ScoringError, match=rf"results/{A.id}: release lambench-0.3.1: task {name}: .* below zero"):
        trees(*given)
    judged = Judged(SUITE, {(r.submission, r.task): r for r in given}, lambda r: RUNS, [])
    with pytest.raises(ScoringError, match=rf"results/{A.id}: release corrected: task {name}: .* below zero"):
        corrected_trees(judged, A.id, load_release())
