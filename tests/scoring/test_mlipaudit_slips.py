"""Each slip of the published MLIPAudit, as published and corrected."""

from __future__ import annotations

from math import exp, nan

import numpy as np
import pytest

from scoring.mlipaudit import (
    Measured,
)
from scoring.names import Variant
from tests.scoring.mlipaudit_tables import CORRECTED, PUBLISHED, Table, proteins, raw, term, value

KCAL_PER_EV = 23.060548  # CODATA 2018


def test_slip_tautomers_in_kcal_per_mol() -> None:
    table: Table = {"tautomers": {"abs_deviation": Measured([0.1], "kcal/mol")}}
    assert value(table, PUBLISHED, "tautomers") == pytest.approx(exp(-3))
    assert value(table, CORRECTED, "tautomers") == 1
    table = {"tautomers": {"abs_deviation": Measured([0.1 * KCAL_PER_EV], "kcal/mol")}}
    assert value(table, PUBLISHED, "tautomers") < 1e-50
    assert value(table, CORRECTED, "tautomers") == pytest.approx(exp(-3), rel=1e-6)
    assert dict(raw(table, PUBLISHED, "tautomers", "abs_deviation").facts)["threshold unit"] == "kcal/mol"
    assert dict(raw(table, CORRECTED, "tautomers", "abs_deviation").facts)["threshold unit"] == "eV"


def test_slip_tm_score_as_an_error() -> None:
    perfect = proteins([[0.0]], [[1.0]])
    assert value(perfect, PUBLISHED, "folding_stability", "tm_score") == pytest.approx(0.0498, abs=1e-4)
    assert value(perfect, CORRECTED, "folding_stability", "tm_score") == 1
    unfolded = proteins([[9.0]], [[0.1]])
    assert value(unfolded, PUBLISHED, "folding_stability", "tm_score") == 1
    assert value(unfolded, CORRECTED, "folding_stability", "tm_score") == pytest.approx(exp(-2.4))


def test_slip_means_for_minimum_and_maximum() -> None:
    table = proteins([[1.0, 7.0], [4.0, 8.0]], [[0.2, 0.6], [0.3, 0.4]])
    assert value(table, CORRECTED, "folding_stability", "rmsd") == pytest.approx((1 + exp(-3)) / 2)
    assert value(table, PUBLISHED, "folding_stability", "rmsd") == pytest.approx((exp(-3) + exp(-6)) / 2)
    assert value(table, CORRECTED, "folding_stability", "tm_score") == pytest.approx((1 + exp(-0.6)) / 2)
    assert value(table, PUBLISHED, "folding_stability", "tm_score") == 1
    assert "as published: the mean over the frames" in term(table, PUBLISHED, "folding_stability", "rmsd").rule
    assert "as published" not in term(table, CORRECTED, "folding_stability", "rmsd").rule


def test_slip_nm_for_angstroms() -> None:
    """Of arrays, whose values are over frames already, and of what the program sees of them."""
    rmsd = Measured(np.array([2.0, 4.0, nan]), "Å", seen=np.array([0.2, 4.0, 0.2]))
    tm_score = Measured(np.array([1.0, 0.25, nan]), "1", seen=np.array([1.0, 0.75, 0.5]))
    table: Table = {"folding_stability": {"rmsd": rmsd, "tm_score": tm_score}}
    assert value(table, CORRECTED, "folding_stability", "rmsd") == pytest.approx((1 + exp(-3)) / 3)
    assert value(table, PUBLISHED, "folding_stability", "rmsd") == pytest.approx((2 + exp(-3)) / 3)
    assert value(table, CORRECTED, "folding_stability", "tm_score") == pytest.approx((1 + exp(-1.5)) / 3)
    assert value(table, PUBLISHED, "folding_stability", "tm_score") == pytest.approx((exp(-3) + exp(-1.5) + 1) / 3)
    assert "nm are taken for Å" in term(table, PUBLISHED, "folding_stability", "rmsd").rule


@pytest.mark.parametrize(
    ("benchmark", "metric", "unit"),
    [
        ("reference_geometry_stability", "rmsd", "Å"),
        ("ring_planarity", "avg_deviation", "Å"),
        ("bond_length_distribution", "avg_deviation", "Å"),
        ("water_radial_distribution", "rmse", "1"),
        ("water_radial_distribution", "peak_deviation", "Å"),
        ("solvent_radial_distribution", "relative_peak_deviation", "1"),
    ],
)
def test_slips_of_what_stored_frames_show(benchmark: str, metric: str, unit: str) -> None:
    table: Table = {benchmark: {metric: Measured([0.0, None], unit, seen=[0.0, 0.0])}}
    assert value(table, CORRECTED, benchmark, metric) == 0.5
    assert value(table, PUBLISHED, benchmark, metric) == 1


def test_slip_unseen_explosions_of_stability() -> None:
    table: Table = {"stability": {"stability": Measured([0.2], "1", seen=[1.0])}}
    assert value(table, CORRECTED, "stability") == pytest.approx(0.2)
    assert value(table, PUBLISHED, "stability") == 1


def test_slip_failed_proteins_left_out() -> None:
    def sampling(*ratios: float | None) -> Table:
        return {"sampling": {"outliers_ratio_backbone": Measured(ratios, "1", groups=["ALA", "ALA", "GLY"])}}

    bad, failed = sampling(0.05, 0.35, 0.1), sampling(0.05, None, 0.1)
    # By residue: ALA mean 0.2, GLY 0.1; the failed one leaves 0.05. The other metric of two is missing.
    assert value(bad, PUBLISHED, "sampling") == pytest.approx((exp(-3) + 1) / 2 / 2)
    assert value(failed, PUBLISHED, "sampling") == pytest.approx(1 / 2)
    assert value(bad, CORRECTED, "sampling") == pytest.approx(((1 + exp(-7.5)) / 2 + 1) / 2 / 2)
    assert value(failed, CORRECTED, "sampling") == pytest.approx((0.5 + 1) / 2 / 2)
    for variant in Variant:
        assert value(sampling(None, None, None), variant, "sampling") == 0
    # A type of residue that only failed proteins have is not among the published ones.
    assert value(sampling(0.05, 0.05, None), PUBLISHED, "sampling", "outliers_ratio_backbone") == 1
    assert value(sampling(0.05, 0.05, None), CORRECTED, "sampling", "outliers_ratio_backbone") == 0.5
    assert value(sampling(0.05, nan, 0.1), PUBLISHED, "sampling", "outliers_ratio_backbone") == 0.5


def test_slips_of_the_nudged_elastic_band() -> None:
    def bands(*forces: float | None, n_failed: int = 0) -> Table:
        return {"nudged_elastic_band": {"final_force": Measured(forces, "eV/Å", n_failed)}}

    assert value(bands(0.04, 0.1), PUBLISHED, "nudged_elastic_band") == 0.5
    assert value(bands(0.04, 0.1), CORRECTED, "nudged_elastic_band") == pytest.approx((1 + exp(-3)) / 2)
    assert value(bands(0.05), PUBLISHED, "nudged_elastic_band") == 0
    assert value(bands(0.05), CORRECTED, "nudged_elastic_band") == 1
    for one_failed in (bands(0.04, None), bands(0.04, n_failed=1)):
        assert value(one_failed, PUBLISHED, "nudged_elastic_band") == 0
        assert value(one_failed, CORRECTED, "nudged_elastic_band") == 0.5


@pytest.mark.parametrize(
    ("benchmark", "metric"),
    [
        ("conformer_selection", "mae"),
        ("conformer_selection", "rmse"),
        ("dihedral_scan", "barrier_height_abs_error"),
        ("reactivity", "activation_energy_abs_error"),
    ],
)
def test_slip_one_nan_fails_all(benchmark: str, metric: str) -> None:
    def errors(*values: float | None, any_nan: bool = False) -> Table:
        return {benchmark: {metric: Measured(values, "kcal/mol", any_nan=any_nan)}}

    for nan_answered in (errors(0.1, nan), errors(0.1, None, any_nan=True)):
        assert value(nan_answered, PUBLISHED, benchmark, metric) == 0
        assert value(nan_answered, CORRECTED, benchmark, metric) == 0.5
    for variant in Variant:  # an item that raised costs itself alone
        assert value(errors(0.1, None), variant, benchmark, metric) == 0.5
    assert "one energy is NaN" in term(errors(0.1), PUBLISHED, benchmark, metric).rule


def test_a_nan_among_tautomers_and_complexes_costs_its_item_alone() -> None:
    for benchmark, metric in (
        ("tautomers", "abs_deviation"),
        ("noncovalent_interactions", "interaction_energy_abs_error"),
    ):
        table: Table = {benchmark: {metric: Measured([0.0, nan], "kcal/mol")}}
        for variant in Variant:
            assert value(table, variant, benchmark, metric) == 0.5
