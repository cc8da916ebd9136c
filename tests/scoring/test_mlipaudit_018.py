"""The release file of MLIPAudit 0.1.5 to 0.1.8, by hand: every metric at its edges, and what each slip does."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from scoring import ScoringError
from scoring.mlipaudit import Measured, load_mlipaudit, mlipaudit_score, parse_mlipaudit
from scoring.mlipaudit.facts import MlipAuditFacts
from scoring.names import Variant
from scoring.release_files import packaged

FACTS, OLD = load_mlipaudit("mlipaudit-0.1.8"), load_mlipaudit()
PUBLISHED, CORRECTED = Variant.AS_PUBLISHED, Variant.CORRECTED
NAN = math.nan


def score(benchmark: str, variant: Variant = CORRECTED, facts: MlipAuditFacts = FACTS, **metrics: Measured) -> float:
    overall = mlipaudit_score({benchmark: metrics}, facts, variant).overall
    category = overall.part(facts.benchmarks[benchmark].category)
    assert category is not None
    part = category.part(benchmark)
    assert part is not None
    assert part.value is not None
    return part.value


class Soft(NamedTuple):
    """A metric with a soft threshold t, 1 up to it and exp(−α (x − t)/t) beyond."""

    benchmark: str
    metric: str
    unit: str
    t: float
    alpha: float = 3.0


KCAL_PER_EV = 23.060547830619
SOFT = (
    Soft("reference_geometry_stability", "rmsd", "Å", 0.075),
    Soft("ring_planarity", "avg_deviation", "Å", 0.05),
    Soft("bond_length_distribution", "avg_deviation", "Å", 0.05),
    Soft("conformer_selection", "mae", "kcal/mol", 0.5),
    Soft("conformer_selection", "rmse", "kcal/mol", 1.5),
    Soft("dihedral_scan", "barrier_height_abs_error", "kcal/mol", 1.0),
    Soft("noncovalent_interactions", "interaction_energy_abs_error", "kcal/mol", 1.0),
    Soft("tautomers", "abs_deviation", "kcal/mol", 0.05 * KCAL_PER_EV),
    Soft("reactivity", "activation_energy_abs_error", "kcal/mol", 3.0),
    Soft("reactivity", "enthalpy_of_reaction_abs_error", "kcal/mol", 2.0),
    Soft("nudged_elastic_band", "final_force", "eV/Å", 0.05),
    Soft("water_radial_distribution", "rmse", "1", 0.1),
    Soft("water_density", "density_error", "1", 0.02, 0.1),
    Soft("solvent_density", "density_error", "1", 0.02, 0.1),
    Soft("nve_energy_conservation", "drift_ratio", "1", 1.0),
    Soft("folding_stability", "rmsd", "Å", 2.0),
    Soft("sampling", "outliers_ratio_backbone", "1", 0.1),
    Soft("sampling", "outliers_ratio_sidechain", "1", 0.03),
)
OF_BENCHMARK = {name: len(benchmark.metrics) for name, benchmark in FACTS.benchmarks.items()}


def of_one(each: Soft, *values: float | None) -> float:
    """The score of the metric alone: a missing one counts 0."""
    groups = [str(i) for i in range(len(values))] if each.benchmark == "sampling" else None
    return (
        score(each.benchmark, **{each.metric: Measured(values, each.unit, groups=groups)})
        * OF_BENCHMARK[each.benchmark]
    )


@pytest.mark.parametrize("each", SOFT, ids=lambda each: f"{each.benchmark} {each.metric}")
def test_a_soft_threshold_at_its_edges(each: Soft) -> None:
    t, alpha = each.t, each.alpha
    assert of_one(each, 0.0) == 1.0
    assert of_one(each, t * (1 - 1e-12)) == 1.0
    assert of_one(each, t * (1 + 1e-6)) == pytest.approx(math.exp(-alpha * 1e-6), rel=1e-6)
    assert of_one(each, t * (1 + 1e-6)) < 1.0
    assert of_one(each, 1.25 * t) == pytest.approx(math.exp(-alpha / 4))
    assert of_one(each, 1.25 * t, 0.0, None, NAN) == pytest.approx((math.exp(-alpha / 4) + 1) / 4)
    assert of_one(each, None) == of_one(each, NAN) == 0.0


def test_metrics_with_other_rules() -> None:
    def peak(x: float) -> float:
        return 2 * score("water_radial_distribution", peak_deviation=Measured([x], "Å"))

    assert [peak(0.0), peak(0.28)] == pytest.approx([1.0, math.exp(-0.3)])  # no tolerance, scale 2.80 Å
    solvents = Measured([0.0, 0.1, None], "1")
    expected = (1 + math.exp(-0.3)) / 3
    assert score("solvent_radial_distribution", relative_peak_deviation=solvents) == pytest.approx(expected)
    speeds = Measured([0.0, 1.0, 4.0, NAN], "1")
    assert score("inference_speed", time_ratio=speeds) == pytest.approx((1 + 0.5 + 1 / 9) / 4)
    assert score("stability", stability=Measured([0.0, 0.75, 1.0, None], "1")) == pytest.approx(1.75 / 4)
    with pytest.raises(ScoringError, match=r"stability: item 0 is 1\.1, more than 1"):
        score("stability", stability=Measured([1.1], "1"))


def test_the_reference_time_is_that_of_the_release() -> None:
    reference = FACTS.benchmarks["inference_speed"].metrics["time_ratio"].reference_time
    assert reference is not None
    assert [reference.of(0), reference.of(1000)] == pytest.approx([4.10, 13.10])


def test_all_18_are_in_the_mean_and_what_was_not_run_counts_0() -> None:
    assert len(FACTS.benchmarks) == 18
    assert [sum(b.category == c for b in FACTS.benchmarks.values()) for c in FACTS.categories] == [9, 4, 3, 2]
    perfect = {
        name: {
            metric: Measured(
                [1.0 if metric == "stability" else 0.0], facts.unit, groups=["x"] if facts.by_group else None
            )
            for metric, facts in benchmark.metrics.items()
        }
        for name, benchmark in FACTS.benchmarks.items()
    }
    for variant in Variant:
        assert mlipaudit_score(perfect, FACTS, variant).overall.value == pytest.approx(1.0)
        for name in perfect:
            without = {other: metrics for other, metrics in perfect.items() if other != name}
            assert mlipaudit_score(without, FACTS, variant).overall.value == pytest.approx(17 / 18)


def test_both_releases_are_packaged_and_the_old_one_keeps_what_it_had() -> None:
    assert packaged("mlipaudit") == ("mlipaudit", "mlipaudit-0.1.8")
    assert len(OLD.benchmarks) == 14
    water = 2 * score("water_radial_distribution", facts=OLD, peak_deviation=Measured([0.29], "Å"))
    assert water == pytest.approx(math.exp(-0.3))  # the distance from 2.8–3.0 Å, over 2.9 Å
    assert "tm_score" in OLD.benchmarks["folding_stability"].metrics
    assert "tm_score" not in FACTS.benchmarks["folding_stability"].metrics
    for name in ("water_density", "solvent_density", "nve_energy_conservation", "inference_speed"):
        with pytest.raises(ScoringError, match=f"benchmark '{name}' is not known"):
            mlipaudit_score({name: {"x": Measured([0.0], "1")}}, OLD)


class Slipped(NamedTuple):
    """What a slip does: made-up values, and their scores as published and corrected."""

    slip: str
    metric: str
    measured: Measured
    published: float
    corrected: float


E3, T = math.exp(-3), 0.05 * KCAL_PER_EV
SLIPPED = (
    Slipped("the start is scored", "rmsd", Measured([0.15, 0.15], "Å", seen=[0.0, 0.15]), (1 + E3) / 2, E3),
    Slipped("one set fails all", "rmsd", Measured([0.0, NAN], "Å", sets=["neutral", "charged"]), 0.0, 0.5),
    Slipped("one set fails all", "rmsd", Measured([0.0, NAN, 0.0], "Å", sets=["n", "c", "c"]), 2 / 3, 2 / 3),
    Slipped("unseen explosions, ring planarity", "avg_deviation", Measured([NAN], "Å", seen=[0.0]), 1.0, 0.0),
    Slipped("unseen explosions, bond length distribution", "avg_deviation", Measured([NAN], "Å", seen=[0.0]), 1.0, 0.0),
    Slipped("unseen explosions, water radial distribution", "rmse", Measured([NAN], "1", seen=[0.0]), 0.5, 0.0),
    Slipped(
        "unseen explosions, water radial distribution", "peak_deviation", Measured([NAN], "Å", seen=[0.0]), 0.5, 0.0
    ),
    Slipped(
        "unseen explosions, solvent radial distribution",
        "relative_peak_deviation",
        Measured([NAN, 0.0], "1", seen=[0.0, 0.0]),
        1.0,
        0.5,
    ),
    Slipped("unseen explosions, water density", "density_error", Measured([NAN], "1", seen=[0.0]), 1.0, 0.0),
    Slipped("unseen explosions, solvent density", "density_error", Measured([NAN], "1", seen=[0.01]), 1.0, 0.0),
    Slipped("unseen explosions, stability", "stability", Measured([0.2], "1", seen=[1.0]), 1.0, 0.2),
    Slipped("unseen explosions, folding stability", "rmsd", Measured([NAN], "Å", seen=[1.0]), 1.0, 0.0),
    Slipped(
        "unseen explosions, sampling",
        "outliers_ratio_backbone",
        Measured([NAN], "1", groups=["GLY"], seen=[0.0]),
        0.5,
        0.0,
    ),
    Slipped(
        "failed proteins left out",
        "outliers_ratio_sidechain",
        Measured([None, 0.0], "1", groups=["THR", "THR"]),
        0.5,
        0.25,
    ),
    Slipped("one run that raised fails all", "avg_deviation", Measured([0.0, NAN], "Å", any_error=True), 0.0, 0.5),
    Slipped("fluctuation with the failure in it", "drift_ratio", Measured([NAN], "1", seen=[0.6]), 1.0, 0.0),
    Slipped("unknown elements left out", "drift_ratio", Measured([0.0], "1", n_unsupported=1), 1.0, 0.5),
    Slipped("tautomers in kcal/mol", "abs_deviation", Measured([T], "kcal/mol"), math.exp(-3 * (T - 0.05) / 0.05), 1.0),
    Slipped("converged or not", "final_force", Measured([0.05, 0.0499], "eV/Å"), 0.5, 1.0),
    Slipped("one NaN fails all, conformer selection", "mae", Measured([0.0, NAN], "kcal/mol"), 0.0, 0.25),
    Slipped("one NaN fails all, dihedral scan", "barrier_height_abs_error", Measured([0.0, NAN], "kcal/mol"), 0.0, 0.5),
    Slipped(
        "one NaN fails all, reactivity", "activation_energy_abs_error", Measured([0.0, NAN], "kcal/mol"), 0.0, 0.25
    ),
)


@pytest.mark.parametrize("case", SLIPPED, ids=lambda case: f"{case.slip}, {case.metric}")
def test_what_a_slip_does_to_a_score(case: Slipped) -> None:
    (slip,) = (slip for slip in FACTS.slips if slip.name == case.slip)
    assert score(slip.benchmark, PUBLISHED, **{case.metric: case.measured}) == pytest.approx(case.published)
    assert score(slip.benchmark, CORRECTED, **{case.metric: case.measured}) == pytest.approx(case.corrected)


def test_every_slip_is_among_them() -> None:
    assert {case.slip for case in SLIPPED} == {slip.name for slip in FACTS.slips}


def test_bad_releases_and_sets_are_named() -> None:
    with pytest.raises(ScoringError, match="rmsd: sets: 1 for 2 items; give one for each"):
        score("reference_geometry_stability", rmsd=Measured([0.0, 0.0], "Å", sets=["neutral"]))
    text = 'name = "x"\ntitle = "x"\nalpha = 3.0\nsource = "x"\n[benchmarks.b]\ntitle = "B"\ncategory = "C"\n'
    metric = '[benchmarks.b.metrics.m]\nunit = "1"\nthreshold = 1.0\nsource = "s"\n'
    assert parse_mlipaudit(text + metric, "x").benchmarks["b"].metrics["m"].alpha is None
    with pytest.raises(ScoringError, match=r"release x: benchmarks\.b\.metrics\.m\.alpha"):
        parse_mlipaudit(text + metric + "alpha = 0.0", "x")


def test_seen_values_as_arrays() -> None:
    measured = Measured(np.array([NAN, 0.0]), "Å", seen=np.array([0.0, 0.0]))
    assert score("ring_planarity", PUBLISHED, avg_deviation=measured) == 1.0
    assert score("ring_planarity", CORRECTED, avg_deviation=measured) == 0.5
