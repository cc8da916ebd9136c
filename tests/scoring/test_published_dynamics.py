"""Every switch of a published release for efficiency and instability."""

from __future__ import annotations

import math

import pytest

from tests.scoring.five_domains import model_scores
from tests.scoring.published_tables import FIVE, GENERAL, USE, Json, changed, scored

UNIT_PS = 10.180505710759414  # 1000 Å·√(u/eV)


def test_efficiency_of_all_frames_or_of_systems() -> None:
    rows: Json = {"water": {"average_time": 50.0}, "copper": {"average_time": 150.0}}
    path = f"{USE}.inference_efficiency"
    assert model_scores(table=changed(GENERAL, path, rows)).scores["efficiency"].value == pytest.approx(1.0)
    assert model_scores(changed(FIVE, "efficiency.eta0_us_per_atom", 50.0)).scores["efficiency"].value == pytest.approx(
        50 / 250
    )
    for lacking in ({"average_time": None}, None):
        table = changed(GENERAL, path, {**rows, "copper": lacking})
        published, corrected = model_scores(table=table), model_scores(table=table, corrected=True)
        assert published.scores["efficiency"].value is None
        assert "inference_efficiency: average_time: missing, so there is no score: copper" in published.notes
        assert corrected.scores["efficiency"].value == 0.0
        assert "inference_efficiency: average_time: missing, counted as worst: copper" in corrected.notes
    for nothing in ({"average_time": None}, {}, None):
        scores = model_scores(table=changed(GENERAL, path, nothing))
        assert scores.scores["efficiency"].value is None
        assert scores.notes == ("inference_efficiency: average_time: missing: no efficiency",)


def test_a_system_that_only_other_models_have_timed_is_missing() -> None:
    path = f"{USE}.inference_efficiency"
    both: Json = {"water": {"average_time": 50.0}, "copper": {"average_time": 150.0}}
    raw = {"general": changed(GENERAL, path, both), "fast": changed(GENERAL, path, {"water": {"average_time": 1.0}})}
    assert scored(FIVE, raw)["fast"].scores["efficiency"].value is None
    assert scored(FIVE, raw, corrected=True)["fast"].scores["efficiency"].value == 0.0
    assert scored(FIVE, raw, corrected=True)["general"].scores["efficiency"].value == pytest.approx(1.0)


def test_instability_of_all_runs_or_of_each() -> None:
    config = changed(FIVE, "stability.n_structures", 5)
    runs: Json = {
        "a": {"slope": 5e-6, "steps": 10000.0},  # quiet
        "b": {"slope": 5e-3, "steps": 10000.0},  # one decade
        "c": {"slope": 5e3, "steps": 10000.0},  # seven decades
        "d": {"slope": 5e-6, "steps": 900.0},  # ended early
        "e": {"slope": None, "steps": 10000.0},
    }
    table = changed(GENERAL, f"{USE}.nve_md", runs)
    scores = model_scores(config, table)
    assert scores.scores["instability"].value == pytest.approx((0 + 1 + 7 + 5 + 5) / 5)
    assert not scores.is_lower_bound
    capped = model_scores(changed(config, "stability.cap_slope_at_5_decades", True), table)
    assert capped.scores["instability"].value == pytest.approx((0 + 1 + 5 + 5 + 5) / 5)
    assert model_scores(changed(config, "stability.num_steps", 900), table).scores[
        "instability"
    ].value == pytest.approx(4 * 5 / 5)
    assert model_scores(changed(config, "stability.failure_value", 6), table).scores[
        "instability"
    ].value == pytest.approx(20 / 5)


def test_a_run_that_is_not_in_the_table_is_failed_when_corrected() -> None:
    run: Json = {"slope": 5e-6, "steps": 10000.0}
    table = changed(GENERAL, f"{USE}.nve_md", {"a": run, "b": None})
    published, corrected = model_scores(table=table), model_scores(table=table, corrected=True)
    assert published.scores["instability"].value == pytest.approx(5 / 2)
    assert corrected.scores["instability"].value == pytest.approx(8 * 5 / 9)
    assert "nve_md: no row of b: counted as failed" in published.notes
    assert "nve_md: 2 runs of 9: the others are left out" in published.notes
    assert "nve_md: 2 runs of 9: the others are counted as failed" in corrected.notes


@pytest.mark.parametrize(("rate", "failed"), [(1.0, 0), (0.89, 1), (0.67, 3), (0.11, 8), (0.0, 9)])
def test_the_least_instability_of_a_summary(rate: float, failed: int) -> None:
    scores = model_scores(table=changed(GENERAL, f"{USE}.nve_md.success_rate", rate))
    assert scores.scores["instability"].value == pytest.approx(((9 - failed) * 2 + failed * 5) / 9)
    assert scores.is_lower_bound


def test_no_run_succeeded_and_there_is_no_slope() -> None:
    assert (
        model_scores(table=changed(GENERAL, f"{USE}.nve_md", {"success_rate": 0.0})).scores["instability"].value == 5.0
    )


@pytest.mark.parametrize(
    ("summary", "least", "gone"),
    [
        ({"success_rate": 0.67}, 3 * 5 / 9, "slope"),  # the 6 others may have no drift
        ({"slope": 0.05}, 2.0, "success_rate"),  # all may have succeeded
        ({"steps": 10000.0}, 0.0, "slope and success_rate"),
    ],
)
def test_half_a_summary_gives_a_lower_bound_and_the_worst_when_corrected(
    summary: dict[str, float], least: float, gone: str
) -> None:
    table = changed(GENERAL, f"{USE}.nve_md", dict(summary))
    published, corrected = model_scores(table=table), model_scores(table=table, corrected=True)
    assert published.scores["instability"].value == pytest.approx(least)
    assert published.notes == (f"nve_md: {gone}: missing: the least instability that fits the rest",)
    assert corrected.scores["instability"].value == 5.0
    assert f"nve_md: {gone}: missing: every run counts as failed" in corrected.notes


def test_without_dynamics_there_is_no_instability_and_a_note() -> None:
    none: list[Json | None] = [{}, None]
    for nothing in none:
        scores = model_scores(table=changed(GENERAL, f"{USE}.nve_md", nothing))
        assert scores.scores["instability"].value is None
        assert scores.notes == ("nve_md: missing: no instability",)


def test_slopes_are_in_lambenchs_unit_of_time_as_published_and_in_ps_when_corrected() -> None:
    table = changed(GENERAL, f"{USE}.nve_md.success_rate", 1.0)
    assert model_scores(table=table).scores["instability"].value == pytest.approx(math.log10(0.05 / 5e-4))
    corrected = model_scores(table=table, corrected=True)
    drift = 0.05 / UNIT_PS  # eV/atom/ps
    assert list(corrected.instability) == [4.9e-5, 5e-4]
    assert corrected.instability[4.9e-5].value == pytest.approx(math.log10(drift / 4.9e-5))
    assert corrected.instability[5e-4].value == pytest.approx(math.log10(drift / 5e-4))
    assert corrected.scores["instability"] is corrected.instability[4.9e-5]
    other = model_scores(changed(FIVE, "stability.tolerance", 5e-3), table)
    assert other.scores["instability"].value == pytest.approx(1.0)
    wild = changed(table, f"{USE}.nve_md.slope", 5e4)
    assert model_scores(table=wild).scores["instability"].value == pytest.approx(8.0)
    assert (
        model_scores(changed(FIVE, "stability.cap_slope_at_5_decades", True), wild).scores["instability"].value == 5.0
    )
    assert model_scores(table=wild, corrected=True).instability[5e-4].value == 5.0
