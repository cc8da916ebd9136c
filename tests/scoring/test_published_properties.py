"""Every switch of a published release for property errors: caps, success rates, missing columns and domains."""

from __future__ import annotations

import math

import pytest

from tests.scoring.five_domains import model_scores, pc_domains
from tests.scoring.published_tables import (
    FIVE,
    GENERAL,
    PC,
    Json,
    changed,
    columns,
    labels,
    model,
    release,
    scored,
    without,
)


def test_the_cap_of_property_errors_before_the_success_rate_divides() -> None:
    capped = model_scores(changed(FIVE, "pc.cap_at_1_before_penalty", True))
    # min(1.5, 1) / 0.5 = 2: the cap does not apply after the division.
    assert pc_domains(capped)["Inorganic Materials"] == pytest.approx((0.4 + 2.0 + 0.2) / 3, abs=1e-12)
    assert capped.scores["force_field"].value == model_scores().scores["force_field"].value


def test_no_column_divides_or_another_does() -> None:
    none = changed(FIVE, "pc.tasks.phonon.penalty", None)
    assert pc_domains(model_scores(none))["Inorganic Materials"] == pytest.approx((0.2 + 1.5 + 0.2) / 3, abs=1e-12)
    other = changed(FIVE, "pc.tasks.phonon.penalty", "converged")
    table = changed(GENERAL, f"{PC}.phonon.converged", 0.25)
    assert pc_domains(model_scores(other, table))["Inorganic Materials"] == pytest.approx(
        (0.8 + 6.0 + 0.2) / 3, abs=1e-12
    )


@pytest.mark.parametrize(
    ("cap", "rate", "phonon"),
    [
        (True, 1.0, (0.2, 1.0)),
        (True, 100.0, (0.2, 1.0)),  # in percent: capped at 1 with the errors, as the published code does
        (False, 100.0, (0.002, 0.015)),  # without a cap, divided by the stated rate
        (True, 0.8, (0.25, 1.25)),
        (False, 0.8, (0.25, 1.875)),
    ],
)
def test_success_rates_that_divide(cap: bool, rate: float, phonon: tuple[float, float]) -> None:
    config = changed(FIVE, "pc.cap_at_1_before_penalty", cap)
    scores = model_scores(config, changed(GENERAL, f"{PC}.phonon.success_rate", rate))
    assert pc_domains(scores)["Inorganic Materials"] == pytest.approx((sum(phonon) + 0.2) / 3)
    assert any("success rate 100: capped at 1" in note for note in scores.notes) == (cap and rate > 1)


def test_a_success_rate_of_zero_makes_the_error_infinite_with_a_note() -> None:
    scores = model_scores(table=changed(GENERAL, f"{PC}.phonon.success_rate", 0.0))
    assert scores.scores["property_error"].value == math.inf
    assert f"{PC}: infinite: divided by a success rate of 0" in scores.notes
    corrected = model_scores(table=changed(GENERAL, f"{PC}.phonon.success_rate", 0.0), corrected=True)
    # Corrected, errors over no items do not count: two of three columns are worst.
    assert pc_domains(corrected)["Inorganic Materials"] == pytest.approx((1.0 + 1.0 + 0.2) / 3)
    assert "phonon: success rate 0: counted as worst: nothing is known to have succeeded" in corrected.notes


def test_zero_by_zero_is_missing() -> None:
    row = {"entropy": 0.0, "frequency": 0.0, "success_rate": 0.0}
    scores = model_scores(table=changed(GENERAL, f"{PC}.phonon", row))
    assert pc_domains(scores)["Inorganic Materials"] == pytest.approx(0.2)
    assert scores.notes == (f"{PC}: missing, left out: phonon (entropy, frequency)",)


@pytest.mark.parametrize("gone", [True, False])
def test_without_the_success_rate_that_divides_there_is_no_value(gone: bool) -> None:
    path = f"{PC}.phonon.success_rate"
    lacking = without(GENERAL, path) if gone else changed(GENERAL, path, None)
    both = scored(FIVE, {"general": GENERAL, "lacking": lacking})
    assert pc_domains(both["lacking"])["Inorganic Materials"] == pytest.approx(0.2)  # elastic alone
    assert both["lacking"].notes == (f"{PC}: missing, left out: phonon (entropy, frequency)",)
    assert pc_domains(both["general"]) == pc_domains(model_scores())
    assert pc_domains(model_scores(table=lacking, corrected=True))["Inorganic Materials"] == pytest.approx(
        (1 + 1 + 0.2) / 3
    )


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("gone", [True, False])
def test_a_missing_column_is_skipped_as_published_and_worst_when_corrected(gone: bool, together: bool) -> None:
    path = f"{PC}.neb.ø_Transfer"
    lacking = without(GENERAL, path) if gone else changed(GENERAL, path, None)
    raw = {"general": GENERAL, "lacking": lacking} if together else {"lacking": lacking}
    published, corrected = (scored(FIVE, raw, corrected=c)["lacking"] for c in (False, True))
    assert pc_domains(published)["Catalysis"] == pytest.approx(0.5)
    assert pc_domains(corrected)["Catalysis"] == pytest.approx((0.5 + 1.0) / 2)
    assert published.notes == (f"{PC}: missing, left out: neb (ø_Transfer)",)
    assert f"{PC}: missing, counted as worst: neb (ø_Transfer)" in corrected.notes


def test_a_model_without_a_domain() -> None:
    raw = {"general": GENERAL, "lacking": without(GENERAL, f"{PC}.neb")}
    skipped = scored(FIVE, raw)
    assert skipped["lacking"].scores["property_error"].value == pytest.approx((1.2 + 0.4) / 2)
    assert skipped["general"].scores["property_error"].value == pytest.approx((1.2 + 0.6 + 0.4) / 3)
    assert pc_domains(skipped["lacking"])["Catalysis"] is None
    dropped = scored(changed(FIVE, "pc.missing_domain_rule", "drop_domain_for_all_models"), raw)
    for scores in dropped.values():
        assert scores.scores["property_error"].value == pytest.approx((1.2 + 0.4) / 2)
        assert set(pc_domains(scores)) == {"Inorganic Materials", "Small Molecules"}
        assert "Catalysis: dropped for all models: lacking has none of it" in scores.notes
    corrected = scored(FIVE, raw, corrected=True)["lacking"]
    assert pc_domains(corrected)["Catalysis"] is None
    assert corrected.scores["property_error"].value == pytest.approx(((0.2 + 1.0 + 0.2) / 3 + 1.0 + 0.4) / 3)


@pytest.mark.parametrize("rule", ["skip_for_that_model", "drop_domain_for_all_models"])
def test_a_model_without_any_property_drops_no_domain(rule: str) -> None:
    config = changed(FIVE, "pc.missing_domain_rule", rule)
    for none in (without(GENERAL, PC), changed(GENERAL, PC, {}), changed(GENERAL, PC, None)):
        both = scored(config, {"general": GENERAL, "none": none})
        assert both["none"].scores["property_error"].value is None
        assert both["none"].scores["force_field"].value == both["general"].scores["force_field"].value
        assert any(note.startswith(f"{PC}: missing, so there is no score: phonon (") for note in both["none"].notes)
        assert both["general"].scores["property_error"].value == model_scores().scores["property_error"].value


NEB = columns("Catalysis", MAE_Ea=2.0, ø_Desorption=80.0)
NEB_ROW = {"MAE_Ea": 1.0, "ø_Desorption": math.nan, "success_rate": 100.0}


def neb(row: Json, *, corrected: bool = True) -> tuple[float | None, tuple[str, ...]]:
    """The property error of a table with this row alone, and its notes."""
    table = {"good": model({}, {"neb": row}), "other": model({}, {"neb": NEB_ROW | {"ø_Desorption": 40.0}})}
    scores = scored(release({"Cu": labels("Catalysis", force=1.0)}, {"neb": NEB}), table, corrected=corrected)["good"]
    return scores.scores["property_error"].value, tuple(note for note in scores.notes if "neb" in note)


@pytest.mark.parametrize("unstated", [math.nan, None])
def test_a_reaction_type_with_no_barrier_off_is_zero_percent(unstated: float | None) -> None:
    """LAMBench states NaN, which would count as worst; as published the column is left out."""
    value, notes = neb(NEB_ROW | {"ø_Desorption": unstated})
    assert value == pytest.approx((0.5 + 0.0) / 2)
    assert notes == ("neb: ø_Desorption: published as NaN: no barrier of this type is off: 0 %",)
    assert neb(NEB_ROW | {"ø_Desorption": unstated}, corrected=False)[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    "row",
    [
        NEB_ROW | {"success_rate": 90.0},
        {"MAE_Ea": 1.0, "ø_Desorption": math.nan},
        {"MAE_Ea": 1.0, "success_rate": 100.0},
        {"MAE_Ea": math.nan, "ø_Desorption": 40.0, "success_rate": 100.0},
    ],
)
def test_any_other_missing_share_or_error_stays_worst(row: Json) -> None:
    value, notes = neb(row)
    assert value in (pytest.approx((0.5 + 1.0) / 2), pytest.approx((1.0 + 0.5) / 2))
    assert len(notes) == 1
    assert "missing, counted as worst" in notes[0]
