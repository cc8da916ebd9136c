"""A molecule that reacts during its trajectory is seen by its bonds."""

from __future__ import annotations

import numpy as np

from judge.data.made_trajectories import BROKEN, longest_bond
from tasks.simulation.start_geometries import start_geometries


def test_a_bond_that_breaks_is_named_with_its_first_frame() -> None:
    water = start_geometries()["water"]
    still = np.tile(water.positions, (10, 1, 1))
    assert longest_bond(water, still).stretch < 1.1
    apart = still.copy()
    apart[6:, 2] += 2.0 * (water.positions[2] - water.positions[0])  # three times as long from frame 6 on
    longest = longest_bond(water, apart)
    assert (longest.frame, longest.stretch > BROKEN) == (6, True)
    np.testing.assert_allclose(longest.stretch, 3 * longest_bond(water, still[:, [0, 2, 1]]).stretch, rtol=2e-3)
