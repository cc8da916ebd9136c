"""The curve of survival: its points by hand, and its area."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.figures.survival import curve


def test_points_by_hand() -> None:
    assert curve([20.0, 20.0, 60.0, 100.0]) == [(0.0, 100.0), (20.0, 50.0), (60.0, 25.0), (100.0, 25.0)]
    assert curve([100.0, 100.0]) == [(0.0, 100.0), (100.0, 100.0)]
    assert curve([0.0]) == [(0.0, 100.0), (0.0, 0.0), (100.0, 0.0)]


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=20))
def test_the_area_below_is_the_mean_share(percents: list[float]) -> None:
    x, y = np.array(curve(sorted(percents))).T
    assert float(np.diff(x) @ y[:-1]) / 100 == pytest.approx(np.mean(percents), abs=1e-6)
