"""Every switch of a published release, by hand: a synthetic release of five domains, and pairs that differ by one."""

from __future__ import annotations

import math

import pytest

from scoring.lambench.published import TableModel
from tests.scoring.published_tables import FF, FIVE, GENERAL, PC, USE, Json, changed, scored, without

UNIT_PS = 10.180505710759414  # 1000 Å·√(u/eV)


def one(config: Json = FIVE, table: Json = GENERAL, *, corrected: bool = False) -> TableModel:
    return scored(config, {"general": table}, corrected=corrected)["general"]


def ff_domains(scores: TableModel) -> dict[str, float | None]:
    return {part.name: part.value for part in scores.scores["force_field"].parts}


def pc_domains(scores: TableModel) -> dict[str, float | None]:
    return {part.name: part.value for part in scores.scores["property_error"].parts}


def test_five_domains_without_a_cap_by_hand() -> None:
    scores = one()
    # Small Molecules (0.5 + 0.1) / 2. Biomolecules (2 + 0.2) / 2: no cap. Reactions, by PBE (0.25 + 0.25) / 2.
    # Catalysis: energy √(0.1 · 0.4) = 0.2, force √(0.1 · 0.9) = 0.3. Inorganic Materials, which has a virial:
    # energy √(0.2 · 0.8) = 0.4, force √(0.2 · 0.8) = 0.4, virial 0.5: 0.45 · 0.4 + 0.45 · 0.4 + 0.1 · 0.5.
    by_hand = {
        "Small Molecules": 0.3,
        "Biomolecules & Supramolecules": 1.1,
        "Reactions": 0.25,
        "Catalysis": 0.25,
        "Inorganic Materials": 0.41,
    }
    assert ff_domains(scores) == pytest.approx(by_hand, abs=1e-12)
    assert scores.scores["force_field"].value == pytest.approx((0.3 + 1.1 + 0.25 + 0.25 + 0.41) / 5, abs=1e-12)  # 0.462
    # phonon 0.2 / 0.5 and 1.5 / 0.5, elastic 0.2; neb 0.5 and 0.7; torsion as it is.
    by_hand = {"Inorganic Materials": (0.4 + 3.0 + 0.2) / 3, "Catalysis": 0.6, "Small Molecules": 0.4}
    assert pc_domains(scores) == pytest.approx(by_hand, abs=1e-12)
    assert scores.scores["property_error"].value == pytest.approx((1.2 + 0.6 + 0.4) / 3, abs=1e-12)
    assert scores.scores["efficiency"].value == pytest.approx(100 / 250, abs=1e-12)
    # 0.67 of 9 runs are 6, two decades each at least; the other 3 count 5.
    assert scores.scores["instability"].value == pytest.approx((6 * 2 + 3 * 5) / 9, abs=1e-12)
    assert scores.is_lower_bound
    assert scores.notes == ()


def test_a_model_of_omol_is_held_against_its_own_labels() -> None:
    omol = changed(GENERAL, "model.supports_omol", True)
    both = scored(FIVE, {"general": GENERAL, "omol": omol})
    assert ff_domains(both["omol"])["Reactions"] == pytest.approx((0.5 + 0.125) / 2, abs=1e-12)
    assert ff_domains(both["general"])["Reactions"] == pytest.approx(0.25, abs=1e-12)
    others = {name: value for name, value in ff_domains(both["omol"]).items() if name != "Reactions"}
    assert others == {name: value for name, value in ff_domains(both["general"]).items() if name != "Reactions"}
    assert both["omol"].scores["force_field"].value == pytest.approx((2.31 + 0.0625) / 5, abs=1e-12)


def test_a_pair_may_be_written_in_either_order() -> None:
    turned = changed(FIVE, "ff.tasks.h2.energy.std_eV", {"PBE": 0.4, "wB97": 0.2})
    assert ff_domains(one(turned)) == ff_domains(one())


def test_the_cap_of_force_field_errors() -> None:
    capped = one(changed(FIVE, "ff.cap_at_1", True))
    assert ff_domains(capped)["Biomolecules & Supramolecules"] == pytest.approx((1 + 0.2) / 2, abs=1e-12)
    assert capped.scores["force_field"].value == pytest.approx((2.31 - 0.5) / 5, abs=1e-12)
    assert capped.scores["property_error"].value == one().scores["property_error"].value


def test_the_cap_comes_before_the_logarithm() -> None:
    config = changed(FIVE, "ff.cap_at_1", True)
    table = changed(GENERAL, f"{FF}.mgo", {"energy_rmse_natoms": 900.0, "force_rmse": 20.0})  # 9 and 0.1
    # √(0.1 · min(9, 1)); capped after the mean it would be min(√0.9, 1).
    assert ff_domains(one(config, table))["Catalysis"] == pytest.approx((math.sqrt(0.1) + 0.1) / 2, abs=1e-7)


def test_five_domains_or_three() -> None:
    config = FIVE
    for task in ("ani", "chig", "h2"):
        config = changed(config, f"ff.tasks.{task}.domain", "Molecules")
    # energies 0.5, 2 and 0.25: ∛0.25; forces 0.1, 0.2 and 0.25: ∛0.005; rounded to seven decimals, as printed.
    molecules = (round(0.25 ** (1 / 3), 7) + round(0.005 ** (1 / 3), 7)) / 2
    assert ff_domains(one(config))["Molecules"] == pytest.approx(molecules, abs=1e-12)
    assert one(config).scores["force_field"].value == pytest.approx((molecules + 0.25 + 0.41) / 3, abs=1e-12)


def test_weights_of_a_domain_with_a_virial_and_without() -> None:
    bare = changed(FIVE, "ff.tasks.hea.virial", {"weight": None, "std_eV": 1.0})
    assert ff_domains(one(bare))["Inorganic Materials"] == pytest.approx((0.4 + 0.4) / 2, abs=1e-12)
    other = {"energy": 0.2, "force": 0.3, "virial": 0.5}
    heavy = changed(FIVE, "ff.type_weights_domain_with_any_virial", other)
    assert ff_domains(one(heavy))["Inorganic Materials"] == pytest.approx(0.2 * 0.4 + 0.3 * 0.4 + 0.5 * 0.5, abs=1e-12)
    assert ff_domains(one(heavy))["Catalysis"] == ff_domains(one())["Catalysis"]


def test_a_task_with_energies_alone_leaves_the_forces_to_others() -> None:
    config = changed(FIVE, "ff.tasks.mgo.force", {"weight": None, "std_eV": None})
    assert ff_domains(one(config))["Catalysis"] == pytest.approx((0.2 + 0.1) / 2, abs=1e-12)


def test_the_cap_of_property_errors_before_the_success_rate_divides() -> None:
    capped = one(changed(FIVE, "pc.cap_at_1_before_penalty", True))
    # min(1.5, 1) / 0.5 = 2: the cap does not hold for what was divided.
    assert pc_domains(capped)["Inorganic Materials"] == pytest.approx((0.4 + 2.0 + 0.2) / 3, abs=1e-12)
    assert capped.scores["force_field"].value == one().scores["force_field"].value


def test_no_column_divides_or_another_does() -> None:
    none = changed(FIVE, "pc.tasks.phonon.penalty", None)
    assert pc_domains(one(none))["Inorganic Materials"] == pytest.approx((0.2 + 1.5 + 0.2) / 3, abs=1e-12)
    other = changed(FIVE, "pc.tasks.phonon.penalty", "converged")
    table = changed(GENERAL, f"{PC}.phonon.converged", 0.25)
    assert pc_domains(one(other, table))["Inorganic Materials"] == pytest.approx((0.8 + 6.0 + 0.2) / 3, abs=1e-12)


@pytest.mark.parametrize(
    ("cap", "rate", "phonon"),
    [
        (True, 1.0, (0.2, 1.0)),
        (True, 100.0, (0.2, 1.0)),  # in percent: capped at 1 with the errors, as the published code does
        (False, 100.0, (0.002, 0.015)),  # without a cap, divided by it as it stands
        (True, 0.8, (0.25, 1.25)),
        (False, 0.8, (0.25, 1.875)),
    ],
)
def test_success_rates_that_divide(cap: bool, rate: float, phonon: tuple[float, float]) -> None:
    config = changed(FIVE, "pc.cap_at_1_before_penalty", cap)
    scores = one(config, changed(GENERAL, f"{PC}.phonon.success_rate", rate))
    assert pc_domains(scores)["Inorganic Materials"] == pytest.approx((sum(phonon) + 0.2) / 3)
    assert any("success rate 100: capped at 1" in note for note in scores.notes) == (cap and rate > 1)


def test_a_success_rate_of_zero_makes_the_error_infinite_and_is_said() -> None:
    scores = one(table=changed(GENERAL, f"{PC}.phonon.success_rate", 0.0))
    assert scores.scores["property_error"].value == math.inf
    assert f"{PC}: infinite: divided by a success rate of 0" in scores.notes
    corrected = one(table=changed(GENERAL, f"{PC}.phonon.success_rate", 0.0), corrected=True)
    # Corrected, errors of nothing are no errors: both columns of three are worst.
    assert pc_domains(corrected)["Inorganic Materials"] == pytest.approx((1.0 + 1.0 + 0.2) / 3)
    assert "phonon: success rate 0: counted as worst: nothing is known to have succeeded" in corrected.notes


def test_zero_by_zero_is_missing() -> None:
    row = {"entropy": 0.0, "frequency": 0.0, "success_rate": 0.0}
    scores = one(table=changed(GENERAL, f"{PC}.phonon", row))
    assert pc_domains(scores)["Inorganic Materials"] == pytest.approx(0.2)
    assert scores.notes == (f"{PC}: missing, left out: phonon (entropy, frequency)",)


@pytest.mark.parametrize("gone", [True, False])
def test_without_the_success_rate_that_divides_there_is_no_value(gone: bool) -> None:
    path = f"{PC}.phonon.success_rate"
    lacking = without(GENERAL, path) if gone else changed(GENERAL, path, None)
    both = scored(FIVE, {"general": GENERAL, "lacking": lacking})
    assert pc_domains(both["lacking"])["Inorganic Materials"] == pytest.approx(0.2)  # elastic alone
    assert both["lacking"].notes == (f"{PC}: missing, left out: phonon (entropy, frequency)",)
    assert pc_domains(both["general"]) == pc_domains(one())
    assert pc_domains(one(table=lacking, corrected=True))["Inorganic Materials"] == pytest.approx((1 + 1 + 0.2) / 3)


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
def test_a_model_without_any_property_takes_no_part(rule: str) -> None:
    config = changed(FIVE, "pc.missing_domain_rule", rule)
    for none in (without(GENERAL, PC), changed(GENERAL, PC, {}), changed(GENERAL, PC, None)):
        both = scored(config, {"general": GENERAL, "none": none})
        assert both["none"].scores["property_error"].value is None
        assert both["none"].scores["force_field"].value == both["general"].scores["force_field"].value
        assert any(note.startswith(f"{PC}: missing, so there is no score: phonon (") for note in both["none"].notes)
        assert both["general"].scores["property_error"].value == one().scores["property_error"].value


@pytest.mark.parametrize("gone", [True, False])
def test_a_model_without_stress_has_no_published_score_and_the_worst_virial_when_corrected(gone: bool) -> None:
    path = f"{FF}.hea.virial_rmse_natoms"
    lacking = without(GENERAL, path) if gone else changed(GENERAL, path, None)
    published, corrected = one(table=lacking), one(table=lacking, corrected=True)
    assert published.scores["force_field"].value is None
    assert ff_domains(published)["Inorganic Materials"] is None
    assert ff_domains(published)["Catalysis"] == pytest.approx(0.25)
    assert published.scores["property_error"].value == one().scores["property_error"].value
    assert published.notes == (f"{FF}: missing, so there is no score: hea (virial)",)
    assert ff_domains(corrected)["Inorganic Materials"] == pytest.approx(0.45 * 0.4 + 0.45 * 0.4 + 0.1 * 1.0)
    assert corrected.scores["force_field"].value == pytest.approx((0.3 + 0.6 + 0.25 + 0.25 + 0.46) / 5)
    assert f"{FF}: missing, counted as worst: hea (virial)" in corrected.notes


def test_a_perfect_error_zeroes_its_domain_as_published_and_is_floored_when_corrected() -> None:
    table = changed(GENERAL, f"{FF}.mgo.energy_rmse_natoms", 0.0)
    assert ff_domains(one(table=table))["Catalysis"] == pytest.approx((0 + 0.3) / 2)
    assert ff_domains(one(table=table, corrected=True))["Catalysis"] == pytest.approx((math.sqrt(0.1 * 1e-3) + 0.3) / 2)


def test_efficiency_of_all_frames_or_of_systems() -> None:
    rows: Json = {"water": {"average_time": 50.0}, "copper": {"average_time": 150.0}}
    path = f"{USE}.inference_efficiency"
    assert one(table=changed(GENERAL, path, rows)).scores["efficiency"].value == pytest.approx(1.0)
    assert one(changed(FIVE, "efficiency.eta0_us_per_atom", 50.0)).scores["efficiency"].value == pytest.approx(50 / 250)
    for lacking in ({"average_time": None}, None):
        table = changed(GENERAL, path, {**rows, "copper": lacking})
        published, corrected = one(table=table), one(table=table, corrected=True)
        assert published.scores["efficiency"].value is None
        assert "inference_efficiency: average_time: missing, so there is no score: copper" in published.notes
        assert corrected.scores["efficiency"].value == 0.0
        assert "inference_efficiency: average_time: missing, counted as worst: copper" in corrected.notes
    for nothing in ({"average_time": None}, {}, None):
        scores = one(table=changed(GENERAL, path, nothing))
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
    scores = one(config, table)
    assert scores.scores["instability"].value == pytest.approx((0 + 1 + 7 + 5 + 5) / 5)
    assert not scores.is_lower_bound
    capped = one(changed(config, "stability.cap_slope_at_5_decades", True), table)
    assert capped.scores["instability"].value == pytest.approx((0 + 1 + 5 + 5 + 5) / 5)
    assert one(changed(config, "stability.num_steps", 900), table).scores["instability"].value == pytest.approx(
        4 * 5 / 5
    )
    assert one(changed(config, "stability.failure_value", 6), table).scores["instability"].value == pytest.approx(
        20 / 5
    )


def test_a_run_that_is_not_in_the_table_is_failed_when_corrected() -> None:
    run: Json = {"slope": 5e-6, "steps": 10000.0}
    table = changed(GENERAL, f"{USE}.nve_md", {"a": run, "b": None})
    published, corrected = one(table=table), one(table=table, corrected=True)
    assert published.scores["instability"].value == pytest.approx(5 / 2)
    assert corrected.scores["instability"].value == pytest.approx(8 * 5 / 9)
    assert "nve_md: no row of b: counted as failed" in published.notes
    assert "nve_md: 2 runs of 9: the others are left out" in published.notes
    assert "nve_md: 2 runs of 9: the others are counted as failed" in corrected.notes


@pytest.mark.parametrize(("rate", "failed"), [(1.0, 0), (0.89, 1), (0.67, 3), (0.11, 8), (0.0, 9)])
def test_the_least_instability_of_a_summary(rate: float, failed: int) -> None:
    scores = one(table=changed(GENERAL, f"{USE}.nve_md.success_rate", rate))
    assert scores.scores["instability"].value == pytest.approx(((9 - failed) * 2 + failed * 5) / 9)
    assert scores.is_lower_bound


def test_no_run_succeeded_and_there_is_no_slope() -> None:
    assert one(table=changed(GENERAL, f"{USE}.nve_md", {"success_rate": 0.0})).scores["instability"].value == 5.0


@pytest.mark.parametrize(
    ("summary", "least", "gone"),
    [
        ({"success_rate": 0.67}, 3 * 5 / 9, "slope"),  # the 6 others may not have drifted at all
        ({"slope": 0.05}, 2.0, "success_rate"),  # all may have succeeded
        ({"steps": 10000.0}, 0.0, "slope and success_rate"),
    ],
)
def test_half_a_summary_gives_less_of_a_bound_and_the_worst_where_corrected(
    summary: dict[str, float], least: float, gone: str
) -> None:
    table = changed(GENERAL, f"{USE}.nve_md", dict(summary))
    published, corrected = one(table=table), one(table=table, corrected=True)
    assert published.scores["instability"].value == pytest.approx(least)
    assert published.notes == (f"nve_md: {gone}: missing: the least instability that fits the rest",)
    assert corrected.scores["instability"].value == 5.0
    assert f"nve_md: {gone}: missing: every run counts as failed" in corrected.notes


def test_without_dynamics_there_is_no_instability_and_it_is_said() -> None:
    none: list[Json | None] = [{}, None]
    for nothing in none:
        scores = one(table=changed(GENERAL, f"{USE}.nve_md", nothing))
        assert scores.scores["instability"].value is None
        assert scores.notes == ("nve_md: missing: no instability",)


def test_slopes_are_in_lambenchs_unit_of_time_as_published_and_in_ps_when_corrected() -> None:
    table = changed(GENERAL, f"{USE}.nve_md.success_rate", 1.0)
    assert one(table=table).scores["instability"].value == pytest.approx(math.log10(0.05 / 5e-4))
    corrected = one(table=table, corrected=True)
    drift = 0.05 / UNIT_PS  # eV/atom/ps
    assert list(corrected.instability) == [4.9e-5, 5e-4]
    assert corrected.instability[4.9e-5].value == pytest.approx(math.log10(drift / 4.9e-5))
    assert corrected.instability[5e-4].value == pytest.approx(math.log10(drift / 5e-4))
    assert corrected.scores["instability"] is corrected.instability[4.9e-5]
    other = one(changed(FIVE, "stability.tolerance", 5e-3), table)
    assert other.scores["instability"].value == pytest.approx(1.0)
    wild = changed(table, f"{USE}.nve_md.slope", 5e4)
    assert one(table=wild).scores["instability"].value == pytest.approx(8.0)
    assert one(changed(FIVE, "stability.cap_slope_at_5_decades", True), wild).scores["instability"].value == 5.0
    assert one(table=wild, corrected=True).instability[5e-4].value == 5.0


def test_a_model_that_does_not_say_its_labels_is_held_against_pbe_and_it_is_said() -> None:
    silent = one(table=without(GENERAL, "model"))
    assert silent.scores["force_field"].value == one().scores["force_field"].value
    assert silent.notes == ("model.supports_omol: missing: held against the baselines of PBE",)
