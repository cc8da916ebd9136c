"""MLIPAudit's scores, computed by hand from its definition: rules, items, benchmarks and compatible models."""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, nan

import numpy as np
import pytest

from scoring.mlipaudit import (
    Direction,
    Measured,
    Rule,
    item_scores,
    mlipaudit_score,
    mlipaudit_tree,
    mlipaudit_trees,
)
from scoring.names import Variant
from tests.scoring.mlipaudit_tables import CORRECTED, FACTS, Table, proteins, raw, rmsds, term, value
from tests.world.one_tree import score

N = 14  # benchmarks with a score


@pytest.mark.parametrize(
    ("x", "expected"),
    [(0.0, 1), (1.9, 1), (2.0, 1), (3.0, exp(-1.5)), (4.0, exp(-3)), (6.0, exp(-6)), (None, 0), (nan, 0), (inf, 0)],
)
def test_soft_threshold(x: float | None, expected: float) -> None:
    assert item_scores([x], 2.0)[0] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("x", "expected"), [(1.0, 1), (0.5, 1), (0.25, exp(-1.5)), (0.0, exp(-3)), (None, 0), (nan, 0), (inf, 0)]
)
def test_mirrored_where_larger_is_better(x: float | None, expected: float) -> None:
    assert item_scores([x], 0.5, direction=Direction.LARGER_IS_BETTER)[0] == pytest.approx(expected, abs=1e-15)


def test_alpha_is_the_steepness() -> None:
    assert item_scores([2.0], 1.0, alpha=1.0)[0] == pytest.approx(exp(-1))
    assert item_scores([2.0], 1.0, alpha=5.0)[0] == pytest.approx(exp(-5))


def test_other_rules() -> None:
    assert item_scores([0.0, 2.9], 2.9, rule=Rule.DECAY) == pytest.approx([1, exp(-3)])
    assert item_scores([0.049, 0.05, 0.051], 0.05, rule=Rule.STEP).tolist() == [1, 0, 0]
    assert item_scores([0.0, 0.3, None], 1.0, rule=Rule.SCORE).tolist() == [0, 0.3, 0]


@pytest.mark.parametrize("variant", Variant)
def test_items_are_scored_and_then_averaged(variant: Variant) -> None:
    table = rmsds(0.0, 0.15)
    assert value(table, variant, "reference_geometry_stability") == pytest.approx((1 + exp(-3)) / 2)
    # The mean error is at the threshold: its score would be 1.
    assert dict(raw(table, variant, "reference_geometry_stability", "rmsd").facts)["mean"] == 0.075


@pytest.mark.parametrize("variant", Variant)
def test_failed_items_count_nothing_and_are_shown(variant: Variant) -> None:
    metric = raw(rmsds(0.0, None, nan, inf, n_failed=1), variant, "reference_geometry_stability", "rmsd")
    assert metric.value == pytest.approx(1 / 5)
    assert (metric.n_items, metric.n_failed, metric.uncharged) == (5, 4, 1.0)


def test_metrics_are_averaged() -> None:
    table = {
        "reactivity": {
            "activation_energy_abs_error": Measured([6.0], "kcal/mol"),
            "enthalpy_of_reaction_abs_error": Measured([1.0], "kcal/mol"),
        }
    }
    assert value(table, CORRECTED, "reactivity") == pytest.approx((exp(-3) + 1) / 2)
    del table["reactivity"]["enthalpy_of_reaction_abs_error"]
    assert value(table, CORRECTED, "reactivity") == pytest.approx(exp(-3) / 2)


@pytest.mark.parametrize("variant", Variant)
def test_a_benchmark_not_run_counts_0(variant: Variant) -> None:
    overall = mlipaudit_score(rmsds(0.01), FACTS, variant).overall
    assert overall.value == pytest.approx(1 / N)
    assert (overall.covered, overall.total) == (1, N)
    assert [part.share for part in overall.parts] == pytest.approx([1 / N, 9 / N, 2 / N, 2 / N])


@pytest.mark.parametrize("variant", Variant)
def test_the_compatible_score(variant: Variant) -> None:
    away = frozenset(FACTS.benchmarks) - {"reference_geometry_stability", "reactivity", "noncovalent_interactions"}
    scores = mlipaudit_score(rmsds(0.01), FACTS, variant, away)
    assert scores.overall.value == pytest.approx(1 / N)
    # The elements of reactivity and of non-covalent interactions are supported.
    assert scores.compatible.value == pytest.approx(1 / 3)
    assert scores.compatible.total == 3
    stability = scores.overall.part("General")
    assert stability is not None
    assert stability.parts[0].rule == "not run: it has elements that the model does not know; counts 0"


@pytest.mark.parametrize("variant", Variant)
def test_noncovalent_interactions_are_left_out_one_by_one(variant: Variant) -> None:
    errors = Measured([0.5, 2.0], "kcal/mol", n_unsupported=2)
    table: Table = {"noncovalent_interactions": {"interaction_energy_abs_error": errors}}
    away = frozenset(FACTS.benchmarks) - {"noncovalent_interactions"}
    scores = mlipaudit_score(table, FACTS, variant, away)
    assert scores.overall.value == pytest.approx((1 + exp(-3)) / 4 / N)
    assert scores.compatible.value == pytest.approx((1 + exp(-3)) / 2)
    seen = raw(table, variant, "noncovalent_interactions", "interaction_energy_abs_error")
    assert dict(seen.facts)["unsupported items"] == 2
    assert (seen.n_items, seen.n_failed) == (4, 2)


def test_no_supported_complex_at_all_is_incompatible() -> None:
    none: Table = {"noncovalent_interactions": {"interaction_energy_abs_error": Measured([], "kcal/mol", 0, 5)}}
    scores = mlipaudit_score({**none, **rmsds(0.0)}, FACTS, CORRECTED)
    assert scores.overall.value == pytest.approx(1 / N)
    assert scores.compatible.total == N - 1
    only = mlipaudit_score(none, FACTS, CORRECTED, frozenset(FACTS.benchmarks) - set(none))
    assert only.overall.value == 0
    assert only.compatible.value is None


@pytest.mark.parametrize("frames", [[], [1.0, nan], [inf], None])
def test_a_broken_trajectory_counts_0(frames: list[float] | None) -> None:
    metric = raw(proteins([[1.0], frames], [[0.9], frames]), CORRECTED, "folding_stability", "rmsd")
    assert (metric.value, metric.n_failed) == (0.5, 1)


@pytest.mark.parametrize("variant", Variant)
def test_liquids_and_stability(variant: Variant) -> None:
    water = {"rmse": Measured([0.2], "1"), "peak_deviation": Measured([0.29], "Å")}
    solvents = {"relative_peak_deviation": Measured([0.0, 0.1, None], "1")}
    table = {
        "water_radial_distribution": water,
        "solvent_radial_distribution": solvents,
        "stability": {"stability": Measured([1.0, 0.25], "1")},
    }
    assert value(table, variant, "water_radial_distribution") == pytest.approx((exp(-3) + exp(-0.3)) / 2)
    assert value(table, variant, "solvent_radial_distribution") == pytest.approx((1 + exp(-0.3)) / 3)
    assert value(table, variant, "stability") == pytest.approx(0.625)


def test_thresholds_are_those_of_the_published_table() -> None:
    """https://instadeepai.github.io/mlipaudit/scores, Table 1."""
    table = {
        ("reference_geometry_stability", "rmsd"): 0.075,
        ("noncovalent_interactions", "interaction_energy_abs_error"): 1.0,
        ("dihedral_scan", "barrier_height_abs_error"): 1.0,
        ("conformer_selection", "mae"): 0.5,
        ("conformer_selection", "rmse"): 1.5,
        ("tautomers", "abs_deviation"): 0.05,
        ("ring_planarity", "avg_deviation"): 0.05,
        ("bond_length_distribution", "avg_deviation"): 0.05,
        ("reactivity", "activation_energy_abs_error"): 3.0,
        ("reactivity", "enthalpy_of_reaction_abs_error"): 2.0,
        ("nudged_elastic_band", "final_force"): 0.05,
        ("water_radial_distribution", "rmse"): 0.1,
        ("sampling", "outliers_ratio_backbone"): 0.1,
        ("sampling", "outliers_ratio_sidechain"): 0.03,
        ("folding_stability", "rmsd"): 2.0,
        ("folding_stability", "tm_score"): 0.5,
    }
    for variant in Variant:
        assert {key: FACTS.metric(*key, variant).threshold for key in table} == table
    assert FACTS.alpha == 3
    assert len(FACTS.benchmarks) == N


def test_evidence_states_the_threshold_and_the_mean() -> None:
    metric = raw(rmsds(0.15, 0.0, None), CORRECTED, "reference_geometry_stability", "rmsd")
    assert metric.facts == (
        ("threshold", 0.075),
        ("threshold unit", "Å"),
        ("alpha", 3.0),
        ("direction", "smaller is better"),
        ("mean", 0.075),
        ("mean unit", "Å"),
    )
    rule = term(rmsds(0.0), CORRECTED, "reference_geometry_stability", "rmsd").rule
    assert rule == "mean over items of: 1 up to t, else exp(-3 (x - t)/t), t = 0.075 Å; a failed item counts 0"


def test_resampled_items_reach_the_score() -> None:
    tree = mlipaudit_tree(rmsds(0.0, 0.15), FACTS)
    resampled = np.array([1.0, exp(-3), np.nan])
    drawn = score(tree, metrics={("reference_geometry_stability", "rmsd"): resampled})
    assert drawn[:2] == pytest.approx(np.array([1.0, exp(-3)]) / N)
    assert np.isnan(drawn[2])


@pytest.mark.parametrize("benchmark", ["tautomers", "noncovalent_interactions"])
def test_trees_made_together_are_those_made_one_by_one_also_from_arrays(benchmark: str) -> None:
    (name, metric), *_ = FACTS.benchmarks[benchmark].metrics.items()
    n_unsupported = 2 if FACTS.benchmarks[benchmark].elements_per_item else 0
    listed = Measured([0.0, 0.7, None, 30.0], metric.unit, n_failed=1, n_unsupported=n_unsupported)
    arrayed = replace(listed, values=np.array([0.0, 0.7, nan, 30.0]))
    together = mlipaudit_trees({benchmark: {name: arrayed}}, FACTS)
    assert len(together) == 4
    for (variant, only), tree in together.items():
        assert tree == mlipaudit_tree({benchmark: {name: listed}}, FACTS, variant, compatible_only=only)
