"""Energy profiles of a model without chemistry: the same humps for all scans are no better than the baseline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tasks.kinds.energy_profiles import EnergyProfilesParameters
from tasks.structures.frames import Float
from tests.tasks.kinds.test_energy_profiles import KIND, MJ, profiles, scan
from tests.tasks.made_up import observed

N = 13
PLACE = np.linspace(0.0, 1.0, N)
HUMP = np.sin(np.pi * PLACE) ** 2
# eV, or mJ/m² of stacking faults.
HEIGHTS = {"energy": (0.1, 0.2, 0.25, 0.4), "stacking_fault": (60.0, 150.0, 200.0, 500.0)}


def relative(quantity: str, heights: Any, predicted: Float, **fields: Any) -> dict[str, float]:
    """Charged errors over baselines of a model that answers `predicted` (N,) to each scan; humps are ever narrower."""
    rows = [scan(f"{i}", N * i, (h * HUMP ** (1 + 0.3 * i)).tolist(), **fields) for i, h in enumerate(heights)]
    settings = EnergyProfilesParameters(quantity=quantity)  # type: ignore[arg-type]
    metrics = KIND.measure(observed(np.tile(predicted, len(rows))), profiles(*rows), settings, None).metrics
    return {name: (m.charged or 0.0) / m.baseline for name, m in metrics.items() if m.baseline}


@pytest.mark.parametrize(
    ("quantity", "fields"), [("energy", {}), ("stacking_fault", {"area": 10.0, "unit": 10.0 / MJ})]
)
def test_equal_humps_are_no_better_than_the_baseline(quantity: str, fields: dict[str, Any]) -> None:
    """Up to the steps of the heights, of which the middle of one is off by 15 %."""
    unit, heights = fields.get("unit", 1.0), HEIGHTS[quantity]
    for height in np.linspace(0.5 * heights[0], heights[-1], 9):
        errors = relative(quantity, heights, height * unit * HUMP, **fields)
        assert min(errors.values()) > 0.85, (height, errors)
    flat = relative(quantity, heights, np.zeros(N), **fields)
    assert min(flat.values()) >= 1.0
    # The median is 0.225 eV: errors of 0.125, 0.025, 0.025 and 0.175 in place of 0.95 eV in all.
    if quantity == "energy":
        assert flat["barrier_mae"] == pytest.approx(0.95 / 0.35, rel=0.05)


def test_interactions_have_one_energy_for_all_pairs() -> None:
    """A well of -0.1 eV, and one of -0.3 eV, three times each: the best constant is -0.3 or -0.1 eV or between."""
    heights = [-0.1, -0.3] * 3
    flat = relative("interaction", heights, np.zeros(N))
    assert flat["interaction_mae"] == pytest.approx(0.2 / 0.1, rel=0.01)


def test_three_scans_have_a_flat_baseline() -> None:
    assert set(relative("energy", (0.1, 0.2, 0.3), np.zeros(N)).values()) == {1.0}
