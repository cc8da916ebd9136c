"""MLIPAudit as in its paper, from invented items of all its benchmarks: each value and each score by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from judge.ranking.build import build_leaderboard
from sandbox.verdict import Verdict
from scoring.mlipaudit import load_mlipaudit
from scoring.names import MLIPAUDIT
from tasks.metrics.measurement import Items
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite, load_suite
from tests.judge.ranking.other_scores import A, Scored, below, scored
from tests.judge.ranking.small_board import row
from tests.judge.ranking.test_mlipaudit_018 import ITEMS as ITEMS_OF_018
from tests.judge.ranking.test_mlipaudit_018 import decays, joined, ok, runs
from tests.world.board_records import result

SUITE = load_suite("mlipaudit-2025")
FACTS = load_mlipaudit("mlipaudit")
N = 14
NAN = math.nan
E3 = math.exp(-3)


def folding(rmsd: float, tm_error: float, rmsd_in_nm: float = 0.0, tm_error_in_nm: float = -1.0) -> Items:
    """The analyses of one protein that fold: the mean RMSD does not count."""
    return joined(
        runs({"chignolin/rmsd": 9.0}, "rmsd"),
        runs({"chignolin/lowest_rmsd": rmsd}, "lowest_rmsd", stored_error=[rmsd_in_nm]),
        runs({"chignolin/highest_tm_score": tm_error}, "highest_tm_score", stored_error=[tm_error_in_nm]),
    )


SAMPLING = joined(
    runs({"chignolin/backbone GLY": 10.0, "chignolin/backbone PRO": 20.0}, "dihedral_outliers"),
    runs({"chignolin/side chain THR": 6.0}, "sidechain_outliers"),
)
OWN: Mapping[str, tuple[Items, Mapping[str, float]]] = {
    "water": (
        joined(
            runs({"water/rdf_rmse": 0.2}, "rdf_rmse"), runs({"water/first_peak": 0.49}, "first_peak", reference=2.8)
        ),
        {"water_radial_distribution": (E3 + math.exp(-0.3)) / 2},  # 0.29 Å outside of 2.8–3.0 Å, over 2.9 Å
    ),
    "solvents": (
        runs({"CCl4/first_peak": 0.59}, "first_peak", reference=5.9),
        {"solvent_radial_distribution": math.exp(-0.3)},
    ),
    "proteins": (
        joined(folding(3.0, -0.6, 0.4, -0.1), SAMPLING),  # TM-scores of 0.4, and of 0.9 in nm
        {"folding_stability": (math.exp(-1.5) + math.exp(-0.6)) / 2, "sampling": ((1 + E3) / 2 + E3) / 2},
    ),
}
SHARED = {task.name: ITEMS_OF_018[task.name] for task in SUITE.tasks if task.name not in OWN}
ALL = {name: items for name, (items, _) in (SHARED | OWN).items()}
EXPECTED = {benchmark: score for _, scores in (SHARED | OWN).values() for benchmark, score in scores.items()}
PUBLISHED = EXPECTED | {
    "reference_geometry_stability": (2 + E3) / 3,
    "tautomers": decays(2.3060547830618307, 0.05),
    "nudged_elastic_band": 0.5,
    "folding_stability": (1 + math.exp(-2.4)) / 2,
}


def board(items: Mapping[str, Items], suite: Suite = SUITE) -> Scored:
    by_model, problems = scored(suite, [A], [ok(t, items[t.name]) for t in suite.tasks if t.name in items], items)
    assert problems == []
    return by_model[A.id]


def both(name: str, items: Items, benchmark: str, *metric: str) -> tuple[float | None, float | None]:
    """The score of a benchmark, as published and corrected."""
    scores, category = board({name: items}), FACTS.benchmarks[benchmark].category
    published, corrected = (each[MLIPAUDIT] for each in (scores.as_published, scores.corrected))
    return below(published, category, benchmark, *metric).value, below(corrected, category, benchmark, *metric).value


def test_each_benchmark_by_hand_and_the_mean_over_all_14() -> None:
    assert EXPECTED.keys() == FACTS.benchmarks.keys()
    assert len(EXPECTED) == N
    scores = board(ALL)
    for overall, expected in ((scores.corrected[MLIPAUDIT], EXPECTED), (scores.as_published[MLIPAUDIT], PUBLISHED)):
        for name, benchmark in FACTS.benchmarks.items():
            assert below(overall, benchmark.category, name).value == pytest.approx(expected[name], rel=1e-9), name
        assert overall.value == pytest.approx(sum(expected.values()) / N, rel=1e-9)


def test_the_board_of_the_suite_has_both_scores() -> None:
    results = [ok(task, ALL[task.name]) for task in SUITE.tasks]
    shown = build_leaderboard(SUITE, [A], results, lambda r: ALL[r.task])
    assert row(shown, A).scores[MLIPAUDIT].value == pytest.approx(sum(EXPECTED.values()) / N)
    assert row(shown, A).as_published[MLIPAUDIT].value == pytest.approx(sum(PUBLISHED.values()) / N)


def test_both_energies_of_a_reaction_count_where_a_suite_states_its_release() -> None:
    one = replace(SUITE, tasks=tuple(task for task in SUITE.tasks if task.name == "reactivity"))
    items = {"reactivity": ALL["reactivity"]}
    assert board(items, one).corrected[MLIPAUDIT].value == pytest.approx((math.exp(-1) + E3) / 2 / N)
    unstated = replace(one, mlipaudit_release="")
    assert board(items, unstated).corrected[MLIPAUDIT].value == pytest.approx(math.exp(-1))


def test_a_task_that_was_not_run_or_crashed_counts_0() -> None:
    for task in SUITE.tasks:
        rest = {name: items for name, items in ALL.items() if name != task.name}
        expected = sum(score for name, score in EXPECTED.items() if name not in task.mlipaudit) / N
        assert board(rest).corrected[MLIPAUDIT].value == pytest.approx(expected), task.name
        given = [ok(each, rest[each.name]) for each in SUITE.tasks if each.name in rest]
        crashed = result(A, task, {}, verdict=Verdict.CRASHED)
        by_model, problems = scored(SUITE, [A], [*given, crashed], rest)
        assert by_model[A.id].corrected[MLIPAUDIT].value == pytest.approx(expected), task.name
        assert problems == []


@pytest.mark.parametrize(
    ("peak", "score"),
    [(2.51, math.exp(-0.3)), (2.8, 1.0), (2.9, 1.0), (3.0, 1.0), (3.29, math.exp(-0.3)), (NAN, 0.0)],
)
def test_the_peak_of_water_is_right_from_2_8_to_3_0(peak: float, score: float) -> None:
    items = joined(
        runs({"water/rdf_rmse": 0.0}, "rdf_rmse"), runs({"water/first_peak": peak - 2.8}, "first_peak", reference=2.8)
    )
    assert both("water", items, "water_radial_distribution", "peak_deviation") == pytest.approx((score, score))


@pytest.mark.parametrize(
    ("rmsd", "tm", "scores"),
    [
        (2.0, 0.5, (1.0, 1.0)),
        (4.0, 0.25, (E3, math.exp(-1.5))),
        (0.0, 1 + 1e-12, (1.0, 1.0)),
        (0.0, 0.0, (1.0, E3)),
        (NAN, NAN, (0.0, 0.0)),
    ],
)
def test_proteins_count_by_their_best_frames(rmsd: float, tm: float, scores: tuple[float, float]) -> None:
    items = joined(folding(rmsd, tm - 1), SAMPLING)
    for metric, score in zip(("rmsd", "tm_score"), scores, strict=True):
        _, corrected = both("proteins", items, "folding_stability", metric)
        assert corrected == pytest.approx(score), metric


@pytest.mark.parametrize(
    ("rmsd_in_nm", "tm_in_nm", "scores"),
    [(2.0, 0.5, (1.0, 1.0)), (4.0, 1.0, (E3, E3)), (0.149, 0.92, (1.0, math.exp(-2.52)))],
)
def test_as_published_means_in_nm_are_scored_and_a_smaller_tm_score_is_better(
    rmsd_in_nm: float, tm_in_nm: float, scores: tuple[float, float]
) -> None:
    items = joined(folding(0.0, 0.0, rmsd_in_nm, tm_in_nm - 1), SAMPLING)
    for metric, score in zip(("rmsd", "tm_score"), scores, strict=True):
        published, _ = both("proteins", items, "folding_stability", metric)
        assert published == pytest.approx(score), metric


@pytest.mark.parametrize(
    ("name", "measure", "benchmark", "metric"),
    [
        ("ring-planarity", "planarity", "ring_planarity", "avg_deviation"),
        ("bond-lengths", "bond_length", "bond_length_distribution", "avg_deviation"),
        ("water", "rdf_rmse", "water_radial_distribution", "rmse"),
        ("water", "first_peak", "water_radial_distribution", "peak_deviation"),
        ("solvents", "first_peak", "solvent_radial_distribution", "relative_peak_deviation"),
        ("proteins", "lowest_rmsd", "folding_stability", "rmsd"),
        ("proteins", "dihedral_outliers", "sampling", "outliers_ratio_backbone"),
        ("proteins", "sidechain_outliers", "sampling", "outliers_ratio_sidechain"),
    ],
)
def test_an_explosion_that_no_stored_frame_shows_counts_as_published(
    name: str, measure: str, benchmark: str, metric: str
) -> None:
    items = ALL[name]
    of_measure = items.columns[f"{measure}_count"] > 0
    exploded = replace(
        items,
        cause=np.where(of_measure, Cause.EXPLODED, items.cause).astype(np.int8),
        columns=items.columns
        | {"error": np.where(of_measure, NAN, items.columns["error"])}
        | {"stored_error": np.where(of_measure, 0.0, items.columns["stored_error"])},
    )
    assert both(name, exploded, benchmark, metric) == (1.0, 0.0)


def test_one_failed_band_fails_all_as_published() -> None:
    bands = ALL["reaction-paths"]
    failed = replace(
        bands,
        cause=np.array([Cause.NONE, Cause.ERROR], np.int8),
        columns={**bands.columns, "residual": np.array([0.04, NAN])},
    )
    assert both("reaction-paths", failed, "nudged_elastic_band") == (0.0, 0.5)


def test_runs_of_another_data_set_have_no_best_frames_and_are_named() -> None:
    items = {"proteins": ITEMS_OF_018["proteins"][0]}
    (proteins,) = (task for task in SUITE.tasks if task.name == "proteins")
    by_model, problems = scored(SUITE, [A], [ok(proteins, items["proteins"])], items)
    assert MLIPAUDIT not in by_model[A.id].corrected
    assert any("task proteins: items: lowest_rmsd_count: is missing" in line for line in problems)
