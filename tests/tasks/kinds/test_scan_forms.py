"""Conformers and interaction energies, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from tasks.kinds.energy_profiles import EnergyProfilesParameters
from tests.tasks.kinds.test_energy_profiles import KCAL, KIND, profiles, scan
from tests.tasks.made_up import observed

CONFORMERS = EnergyProfilesParameters(quantity="conformers")
INTERACTION = EnergyProfilesParameters(quantity="interaction")


def test_conformers_count_from_the_most_stable_one_of_the_reference() -> None:
    """2, 0 and 1 are right, 2.5, 0 and 0.5 are answered; of two conformers the second is 3 too high."""
    dataset = profiles(scan("a", 0, [3.0, 1.0, 2.0], KCAL), scan("b", 3, [-4.0, -2.0], KCAL))
    measured = KIND.measure(observed(np.array([10.5, 8.0, 8.5, 0.0, 5.0]) * KCAL), dataset, CONFORMERS, None)
    columns, metrics = measured.items.columns, measured.metrics
    np.testing.assert_allclose(columns["conformer_mae"], [1.0 / 3, 3.0 / 2])
    np.testing.assert_allclose(columns["conformer_rmse"], [np.sqrt(0.5 / 3), np.sqrt(9.0 / 2)])
    assert metrics["conformer_mae"].value == pytest.approx((1.0 / 3 + 3.0 / 2) / 2)
    assert metrics["conformer_rmse"].value == pytest.approx((np.sqrt(0.5 / 3) + np.sqrt(4.5)) / 2)
    assert metrics["conformer_mae"].baseline == pytest.approx((3.0 / 3 + 2.0 / 2) / 2)  # zero everywhere


def test_the_score_of_conformers_by_soft_thresholds() -> None:
    """MLIPAudit's: 0.5 and 1.5 kcal/mol. The first molecule is within both; of the second, 1.5 and 2.12 are off."""
    dataset = profiles(scan("a", 0, [3.0, 1.0, 2.0], KCAL), scan("b", 3, [-4.0, -2.0], KCAL))
    asked = EnergyProfilesParameters(quantity="conformers", soft_thresholds=(0.5, 1.5))
    energy = np.array([10.5, 8.0, 8.5, 0.0, 5.0]) * KCAL
    score = KIND.measure(observed(energy), dataset, asked, None).metrics["conformer_score"]
    second = (np.exp(-3 * 1.0 / 0.5) + np.exp(-3 * (np.sqrt(4.5) - 1.5) / 1.5)) / 2
    assert score.value == score.charged == pytest.approx((1.0 + second) / 2)
    energy[0] = np.nan
    failed = KIND.measure(observed(energy), dataset, asked, None).metrics["conformer_score"]
    assert (failed.value, failed.n_failed) == (pytest.approx(second), 1)
    assert failed.charged == pytest.approx(second / 2)
    with pytest.raises(ValidationError, match="soft_thresholds are of conformers"):
        EnergyProfilesParameters(soft_thresholds=(0.5, 1.5))


def test_an_interaction_energy_is_the_extremum_less_the_last_point() -> None:
    """Each profile is taken at its own extremum; of the second scan, which repels, that is a maximum."""
    dataset = profiles(
        scan("attracts", 0, [2.0, -1.0, 0.0, 0.5, 1.0], KCAL),
        scan("repels", 5, [2.5, 2.0, 1.0, 0.5, 0.0], KCAL, extremum="maximum"),
    )
    answer = np.array([2.0, 1.0, -1.0, 0.0, 2.0, 1.0, 5.0, 2.0, 0.0, 1.0]) * KCAL
    measured = KIND.measure(observed(answer), dataset, INTERACTION, None)
    np.testing.assert_allclose(measured.items.columns["interaction_reference"], [-2.0, 2.5])
    np.testing.assert_allclose(measured.items.columns["interaction_error"], [-3.0 - -2.0, 4.0 - 2.5])
    assert measured.metrics["interaction_mae"].value == pytest.approx((1.0 + 1.5) / 2)
    assert measured.metrics["interaction_mae"].baseline == pytest.approx((2.0 + 2.5) / 2)


@pytest.mark.parametrize("parameters", [CONFORMERS, INTERACTION], ids=lambda p: str(p.quantity))
def test_a_failed_structure_costs_its_scan(parameters: EnergyProfilesParameters) -> None:
    dataset = profiles(scan("a", 0, [0.0, 1.0, 2.0], KCAL), scan("b", 3, [0.0, 1.0, 2.0], KCAL))
    sound = KIND.measure(observed(np.arange(6) * KCAL), dataset, parameters, None)
    broken = KIND.measure(observed(np.array([0, 1, 2, 3, np.nan, 5]) * KCAL), dataset, parameters, None)
    name = next(iter(sound.metrics))
    assert broken.metrics[name].n_failed == 1
    assert np.isnan(broken.items.columns[name.replace("interaction_mae", "interaction_error")][1])
    charged, before = broken.metrics[name].charged, sound.metrics[name].charged
    assert charged is not None
    assert before is not None
    assert charged > before


def test_a_slope_needs_three_points() -> None:
    fault = EnergyProfilesParameters(quantity="stacking_fault")
    with pytest.raises(ValueError, match="s: 2 structures, at least 3 are needed"):
        KIND.measure(observed(np.zeros(2)), profiles(scan("s", 0, [0.0, 1.0], area=1.0)), fault, None)


def test_two_points_have_a_barrier() -> None:
    dataset = profiles(scan("s", 0, [0.0, 1.0], KCAL))
    measured = KIND.measure(observed(np.array([0.0, 3.0]) * KCAL), dataset, EnergyProfilesParameters(), None)
    assert measured.metrics["barrier_mae"].value == pytest.approx(2.0)
