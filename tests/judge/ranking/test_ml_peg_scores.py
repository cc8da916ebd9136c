"""ML-PEG over stored results: means by hand, failures, label sets and units."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from judge.ranking.ml_peg_scores import TRIVIAL_ERROR
from sandbox.verdict import Verdict
from scoring.names import ML_PEG
from submissions.records import StatedLabelSet
from tasks.metrics.metric import Metric, MetricPart
from tests.judge.ranking.other_scores import NOTHING, TASKS, A, B, below, scored
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

LOW, DATA = "low_dimensional_relaxation", "ml-peg-low-dimensional-relaxation"


def test_ml_peg_by_hand() -> None:
    """Good is an error of 0, bad the trivial model's error; means over metrics, benchmarks and categories (domains)."""
    metrics = {ENERGY: error(0.2), FORCE: error(1.0, "eV/Å", baseline=4.0), VIRIAL: error(3.0)}
    given = [
        result(A, TASKS["crystals"], metrics),
        result(A, TASKS["molecules"], frames_metrics(0.5)),
        result(A, TASKS["barriers"], {"mae": error(0.3, "eV"), "rmse": error(0.9, "eV")}),
    ]
    scores, problems = scored(SUITE, [A], given)
    overall = scores[A.id].corrected[ML_PEG]
    crystals = (0.8 + 0.75 + 0.0) / 3
    assert overall.value == pytest.approx((crystals + (0.5 + 0.7) / 2) / 2)
    assert overall.at_best is None
    assert below(overall, "Inorganic Materials", "crystals", "force_rmse").value == pytest.approx(0.75)
    assert problems == []


def test_ml_peg_penalises_failures_only_in_corrected_scores() -> None:
    barriers = {"mae": replace(error(0.8, "eV", n_failed=3), value=0.2)}
    suite = replace(SUITE, tasks=(TASKS["barriers"],))
    scores, _ = scored(suite, [A], [result(A, TASKS["barriers"], barriers)])
    assert scores[A.id].corrected[ML_PEG].value == pytest.approx(0.2)
    assert scores[A.id].as_published[ML_PEG].value == pytest.approx(0.8)


@pytest.mark.parametrize("verdict", [Verdict.CRASHED, Verdict.UNSUPPORTED, None])
def test_a_failed_task_counts_0_and_in_the_best_case_1(verdict: Verdict | None) -> None:
    """Also if no other model was judged in the task: a model that crashes is not asked for fewer metrics."""
    some = [r for r in good_results(A, 0.4) if r.task != "barriers"]
    some += [] if verdict is None else [refused(A, TASKS["barriers"], verdict)]
    for others in ([], good_results(B, 0.1)):
        scores, _ = scored(SUITE, [A, B], some + others)
        overall = scores[A.id].corrected[ML_PEG]
        assert overall.value == pytest.approx((0.6 + (0.6 + 0.0) / 2) / 2)
        assert overall.at_best == pytest.approx((0.6 + (0.6 + 1.0) / 2) / 2)
        assert scores[A.id].as_published[ML_PEG].value == pytest.approx(0.6)
        missing = below(overall, "Molecules", "barriers", "mae")
        assert missing.raw is not None
        assert missing.raw.unit == ("eV" if others else TRIVIAL_ERROR)


def test_nobody_judged_has_no_score() -> None:
    scores, problems = scored(SUITE, [A], [])
    assert scores == {A.id: NOTHING}
    assert problems == []


def test_a_pure_number_has_a_unit_too() -> None:
    count = {"n_barriers_off": error(5.0, "", baseline=20.0)}
    scans = task("scans", "energy_profiles", "Molecules")
    scores, problems = scored(replace(SUITE, tasks=(scans,)), [A], [result(A, scans, count)])
    assert scores[A.id].corrected[ML_PEG].value == pytest.approx(0.75)
    assert problems == []


@pytest.mark.parametrize(
    ("declared", "stated"),
    [("PBE", None), ("wB97M-V", "wB97M-V"), ("", "not stated")],
)
def test_another_level_of_theory_than_the_label_sets_is_flagged(declared: str, stated: str | None) -> None:
    sets = {"Molecules": StatedLabelSet(name=declared)} if declared else {}
    model = submission("gamma", label_sets=sets)
    given = [result(model, TASKS["barriers"], {"mae": error(0.3, "eV")}, label_set="PBE")]
    scores, _ = scored(replace(SUITE, tasks=(TASKS["barriers"],)), [model], given)
    leaf = below(scores[model.id].corrected[ML_PEG], "Molecules", "barriers", "mae")
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
        scores, _ = scored(suite, [A, B], order)
        assert [scores[key].corrected[ML_PEG].value for key in (A.id, B.id)] == [pytest.approx(0.4), pytest.approx(0.9)]


def test_an_error_below_zero_takes_the_score_and_is_named() -> None:
    wrong = {"mae": Metric(value=0.1, charged=-0.1, unit="eV", n_items=10, baseline=1.0)}
    scores, problems = scored(SUITE, [A, B], [result(A, TASKS["barriers"], wrong), *good_results(B, 0.5)])
    assert scores[A.id] == NOTHING
    assert ML_PEG in scores[B.id].corrected
    (problem,) = problems
    assert problem.startswith(f"results/{A.id}: release small: benchmark barriers: metric mae: value")


def test_a_suite_that_names_the_release_has_its_thresholds_and_all_its_benchmarks_count() -> None:
    lattice = replace(task("x23", "energy_differences", "Molecules"), ml_peg="X23")
    dimers = replace(task("gmtkn55", "energy_differences", "Molecules"), ml_peg="GMTKN55")
    suite = replace(SUITE, tasks=(lattice, dimers), ml_peg_release="ml-peg")
    given = [
        result(A, lattice, {"mae": error(25.0, "kJ/mol"), "rmse": error(30.0, "kJ/mol")}),
        result(A, dimers, {"mae": error(3.0, "kcal/mol"), "wtmad": replace(error(10.4, "kcal/mol"), value=5.45)}),
    ]
    scores, problems = scored(suite, [A], given)
    assert problems == []
    overall = scores[A.id].corrected[ML_PEG]
    assert below(overall, "Molecular Crystals", "X23", "MAE").value == pytest.approx(0.75)
    assert below(overall, "Molecular Systems", "GMTKN55").value == pytest.approx(0.8)
    # One of three benchmarks in each of two of nine categories that weigh something.
    assert overall.value == pytest.approx((0.75 / 3 + 0.8 / 3) / 9)
    assert overall.at_best == pytest.approx((7 + (0.75 + 2) / 3 + (0.8 + 2) / 3) / 9)
    published = scores[A.id].as_published[ML_PEG]
    assert published.value == pytest.approx((0.75 + 0.9) / 2)  # without failures, and what is missing left out
    wrong = result(A, lattice, {"mae": error(25.0, "eV")})
    _, problems = scored(suite, [A], [wrong])
    assert any("ML-PEG's MAE in kJ/mol" in problem for problem in problems)


def test_groups_shares_and_data_sets_under_the_names_of_the_release() -> None:
    """Ion-ion errors of PLA15 are a part; the minimum of Relastab is a share, convergence what is left to one."""
    proteins = replace(task("pla15", "energy_differences", "Molecules"), ml_peg="PLA15")
    triples = replace(task("oc157", "energy_differences", "Catalysis"), ml_peg="OC157")
    cells = replace(task("relastab", "energy_differences", "Inorganic Materials"), ml_peg="Relastab")
    layers, chains = (
        replace(task(f"layers-{end}", "relaxed_structures", "Molecules"), ml_peg=LOW, dataset=f"{DATA}{end}@1")
        for end in ("", "-1d")
    )
    suite = replace(SUITE, tasks=(proteins, triples, cells, layers, chains), ml_peg_release="ml-peg")
    ions = MetricPart("group", "ion-ion", "mae", 25.25, "kcal/mol", 4, 0)
    failed = MetricPart("group", "ion-neutral", "mae", 0.5, "kcal/mol", 4, 1)
    parts = result(A, proteins, {"mae": error(0.5, "kcal/mol")}).model_copy(update={"parts": (ions, failed)})
    found = Metric(75.0, "%", 8, 0, 75.0)
    given = [
        parts,
        result(A, triples, {"mae": error(0.5, "eV"), "ranking_error": Metric(0.25, "", 8, 0, 0.25)}),
        result(A, cells, {"fe_lowest_found_percent": found}),
        result(A, layers, {"mae": error(0.025, "eV"), "not_converged_percent": Metric(0.5, "%", 9, 0, 0.5)}),
        result(A, chains, {"mae": error(0.02, "eV")}),
    ]
    scores, problems = scored(suite, [A], given)
    assert problems == []
    overall = scores[A.id].corrected[ML_PEG]
    of_pla15 = partial(below, overall, "Supramolecular Complexes", "PLA15")
    assert of_pla15("Ion-Ion MAE").value == pytest.approx(0.5)
    assert of_pla15("Ion-Neutral MAE").value == 0.0  # one of its items failed
    assert below(overall, "Surfaces", "OC157", "Ranking Error").value == pytest.approx(0.75)
    assert below(overall, "Defects", "Relastab", "Global Min Fe").value == pytest.approx(0.75)
    of_low = partial(below, overall, "Bulk Crystals", LOW)
    assert of_low("Energy MAE (2D)").value == pytest.approx(0.5)
    assert of_low("Energy MAE (1D)").value == pytest.approx(1.0)
    assert of_low("Convergence (2D)").value == pytest.approx(0.5)
    published = scores[A.id].as_published[ML_PEG]
    assert below(published, "Supramolecular Complexes", "PLA15", "Ion-Neutral MAE").value == pytest.approx(1.0)
