"""Every switch of a published release for force-field errors, by hand: pairs of releases that differ by one switch."""

from __future__ import annotations

import math

import pytest

from tests.scoring.five_domains import ff_domains, model_scores, pc_domains
from tests.scoring.published_tables import FF, FIVE, GENERAL, changed, scored, without


def test_five_domains_without_a_cap_by_hand() -> None:
    scores = model_scores()
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
    # phonon 0.2 / 0.5 and 1.5 / 0.5, elastic 0.2; neb 0.5 and 0.7; torsion not divided.
    by_hand = {"Inorganic Materials": (0.4 + 3.0 + 0.2) / 3, "Catalysis": 0.6, "Small Molecules": 0.4}
    assert pc_domains(scores) == pytest.approx(by_hand, abs=1e-12)
    assert scores.scores["property_error"].value == pytest.approx((1.2 + 0.6 + 0.4) / 3, abs=1e-12)
    assert scores.scores["efficiency"].value == pytest.approx(100 / 250, abs=1e-12)
    # 0.67 of 9 runs are 6, with at least two decades each; the other 3 count 5.
    assert scores.scores["instability"].value == pytest.approx((6 * 2 + 3 * 5) / 9, abs=1e-12)
    assert scores.is_lower_bound
    assert scores.notes == ()


def test_a_model_of_omol_has_the_baselines_of_its_labels() -> None:
    omol = changed(GENERAL, "model.supports_omol", True)
    both = scored(FIVE, {"general": GENERAL, "omol": omol})
    assert ff_domains(both["omol"])["Reactions"] == pytest.approx((0.5 + 0.125) / 2, abs=1e-12)
    assert ff_domains(both["general"])["Reactions"] == pytest.approx(0.25, abs=1e-12)
    others = {name: value for name, value in ff_domains(both["omol"]).items() if name != "Reactions"}
    assert others == {name: value for name, value in ff_domains(both["general"]).items() if name != "Reactions"}
    assert both["omol"].scores["force_field"].value == pytest.approx((2.31 + 0.0625) / 5, abs=1e-12)


def test_a_pair_may_be_written_in_either_order() -> None:
    turned = changed(FIVE, "ff.tasks.h2.energy.std_eV", {"PBE": 0.4, "wB97": 0.2})
    assert ff_domains(model_scores(turned)) == ff_domains(model_scores())


def test_the_cap_of_force_field_errors() -> None:
    capped = model_scores(changed(FIVE, "ff.cap_at_1", True))
    assert ff_domains(capped)["Biomolecules & Supramolecules"] == pytest.approx((1 + 0.2) / 2, abs=1e-12)
    assert capped.scores["force_field"].value == pytest.approx((2.31 - 0.5) / 5, abs=1e-12)
    assert capped.scores["property_error"].value == model_scores().scores["property_error"].value


def test_the_cap_comes_before_the_logarithm() -> None:
    config = changed(FIVE, "ff.cap_at_1", True)
    table = changed(GENERAL, f"{FF}.mgo", {"energy_rmse_natoms": 900.0, "force_rmse": 20.0})  # 9 and 0.1
    # √(0.1 · min(9, 1)); capped after the mean it would be min(√0.9, 1).
    assert ff_domains(model_scores(config, table))["Catalysis"] == pytest.approx((math.sqrt(0.1) + 0.1) / 2, abs=1e-7)


def test_five_domains_or_three() -> None:
    config = FIVE
    for task in ("ani", "chig", "h2"):
        config = changed(config, f"ff.tasks.{task}.domain", "Molecules")
    # energies 0.5, 2 and 0.25: ∛0.25; forces 0.1, 0.2 and 0.25: ∛0.005; rounded to seven decimals, as printed.
    molecules = (round(0.25 ** (1 / 3), 7) + round(0.005 ** (1 / 3), 7)) / 2
    assert ff_domains(model_scores(config))["Molecules"] == pytest.approx(molecules, abs=1e-12)
    assert model_scores(config).scores["force_field"].value == pytest.approx((molecules + 0.25 + 0.41) / 3, abs=1e-12)


def test_weights_of_a_domain_with_a_virial_and_without() -> None:
    bare = changed(FIVE, "ff.tasks.hea.virial", {"weight": None, "std_eV": 1.0})
    assert ff_domains(model_scores(bare))["Inorganic Materials"] == pytest.approx((0.4 + 0.4) / 2, abs=1e-12)
    other = {"energy": 0.2, "force": 0.3, "virial": 0.5}
    heavy = changed(FIVE, "ff.type_weights_domain_with_any_virial", other)
    assert ff_domains(model_scores(heavy))["Inorganic Materials"] == pytest.approx(
        0.2 * 0.4 + 0.3 * 0.4 + 0.5 * 0.5, abs=1e-12
    )
    assert ff_domains(model_scores(heavy))["Catalysis"] == ff_domains(model_scores())["Catalysis"]


def test_a_task_with_energies_alone_leaves_the_forces_to_others() -> None:
    config = changed(FIVE, "ff.tasks.mgo.force", {"weight": None, "std_eV": None})
    assert ff_domains(model_scores(config))["Catalysis"] == pytest.approx((0.2 + 0.1) / 2, abs=1e-12)


@pytest.mark.parametrize("gone", [True, False])
def test_a_model_without_stress_has_no_published_score_and_the_worst_virial_when_corrected(gone: bool) -> None:
    path = f"{FF}.hea.virial_rmse_natoms"
    lacking = without(GENERAL, path) if gone else changed(GENERAL, path, None)
    published, corrected = model_scores(table=lacking), model_scores(table=lacking, corrected=True)
    assert published.scores["force_field"].value is None
    assert ff_domains(published)["Inorganic Materials"] is None
    assert ff_domains(published)["Catalysis"] == pytest.approx(0.25)
    assert published.scores["property_error"].value == model_scores().scores["property_error"].value
    assert published.notes == (f"{FF}: missing, so there is no score: hea (virial)",)
    assert ff_domains(corrected)["Inorganic Materials"] == pytest.approx(0.45 * 0.4 + 0.45 * 0.4 + 0.1 * 1.0)
    assert corrected.scores["force_field"].value == pytest.approx((0.3 + 0.6 + 0.25 + 0.25 + 0.46) / 5)
    assert f"{FF}: missing, counted as worst: hea (virial)" in corrected.notes


def test_an_error_of_zero_brings_its_domain_to_zero_as_published_and_to_the_floor_when_corrected() -> None:
    table = changed(GENERAL, f"{FF}.mgo.energy_rmse_natoms", 0.0)
    assert ff_domains(model_scores(table=table))["Catalysis"] == pytest.approx((0 + 0.3) / 2)
    assert ff_domains(model_scores(table=table, corrected=True))["Catalysis"] == pytest.approx(
        (math.sqrt(0.1 * 1e-3) + 0.3) / 2
    )


def test_a_model_without_stated_labels_has_the_baselines_of_pbe_with_a_note() -> None:
    silent = model_scores(table=without(GENERAL, "model"))
    assert silent.scores["force_field"].value == model_scores().scores["force_field"].value
    assert silent.notes == ("model.supports_omol: missing: the baselines of PBE are used",)
