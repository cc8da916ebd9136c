"""The best constant by hand, and that no constant has a smaller error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.metrics.constant_baseline import best_constant, constant_baseline


def test_the_median_is_the_best_constant_and_missing_references_take_no_part() -> None:
    """Distances of 10, 20, 60 and 200 from their median, 40, are 30, 20, 20 and 160."""
    references = np.array([[10.0, 1.0], [20.0, np.nan], [np.nan, 2.0], [60.0, 3.0], [200.0, np.nan]])
    assert best_constant(references).tolist() == [40.0, 0.0]
    assert constant_baseline(references) == pytest.approx([57.5, 2.0])


@pytest.mark.parametrize("values", [[7.0], [7.0, 9.0, 20.0], [5.0] * 9, [0.0] * 4])
def test_few_or_equal_references_have_no_constant_but_zero(values: list[float]) -> None:
    references = np.array(values)[:, None]
    assert best_constant(references).tolist() == [0.0]
    assert constant_baseline(references) == pytest.approx([np.mean(values)])


def test_a_property_without_references_has_no_baseline() -> None:
    assert np.isnan(constant_baseline(np.full((3, 1), np.nan))).all()


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=30),
    st.floats(-2e3, 2e3),
)
def test_no_constant_is_better(values: list[float], constant: float) -> None:
    """Zero is, where the references are nearly equal: then the baseline is that of zero."""
    references = np.array(values)[:, None]
    baseline = float(constant_baseline(references)[0])
    assert baseline <= np.abs(references).mean() * (1 + 1e-12)
    if best_constant(references)[0]:
        assert np.abs(references - constant).mean() >= baseline * (1 - 1e-9)
