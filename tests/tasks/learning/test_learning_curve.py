"""The area below a learning curve, and the score that follows from it, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.learning.learning_curve import learning_score, log_ratios, trapezoid_weights, width

SIZES = (10, 100, 10_000)


def test_the_area_by_hand() -> None:
    """Ratios of 0.1, 0.01 and 0.01 at log₁₀ n = 1, 2 and 4: −(1 + 2)/2 × 1 − 2 × 2 = −5.5, over a width of 3."""
    assert width(SIZES) == pytest.approx(3.0)
    weights = trapezoid_weights(SIZES)
    assert weights == pytest.approx([1 / 6, 3 / 6, 2 / 6])
    errors, baselines = np.array([0.2, 0.02, 0.02]), np.full(3, 2.0)
    score = learning_score(errors, errors, baselines, weights, [1, 1, 1])
    assert score.value == pytest.approx(10 ** (-5.5 / 3))
    assert score.charged == pytest.approx(score.value)
    assert (score.spread, score.n_failed) == (None, 0)
    logs = log_ratios(errors, baselines)
    assert np.trapezoid(logs, np.log10(SIZES)) == pytest.approx(-5.5)


def test_composition_alone_has_one_and_nothing_at_all_ten() -> None:
    weights, ones = trapezoid_weights(SIZES), np.full(3, 0.3)
    assert learning_score(ones, ones, ones, weights, [1] * 3).value == pytest.approx(1.0)
    nothing = learning_score(np.full(3, np.nan), 10 * ones, ones, weights, [1] * 3)
    assert (nothing.value, nothing.n_failed) == (None, 3)
    assert nothing.charged == pytest.approx(10.0)


def test_the_standard_error_over_seeds() -> None:
    """Ratios of the seeds 0.1, 0.2 and 0.4: their standard deviation over √3. A seed without any model is left out."""
    errors, ones = np.array([0.1, 0.1, 0.2, 0.2, 0.4, 0.4]), np.ones(6)
    score = learning_score(errors, errors, ones, ones / 2, [1, 1, 2, 2, 3, 3])
    assert score.spread == pytest.approx(np.std([0.1, 0.2, 0.4], ddof=1) / np.sqrt(3))
    assert score.value == pytest.approx(0.2)
    errors[4:] = np.nan
    fewer = learning_score(errors, np.nan_to_num(errors, nan=10.0), ones, ones / 2, [1, 1, 2, 2, 3, 3])
    assert fewer.spread == pytest.approx(0.05)
    assert fewer.value == pytest.approx(np.sqrt(0.02))
    assert fewer.charged == pytest.approx((0.1 * 0.2 * 10) ** (1 / 3))


@given(
    logs=st.lists(st.floats(-6, 1.5), min_size=2, max_size=6),
    which=st.integers(0, 5),
)
def test_a_failure_never_improves_the_score(logs: list[float], which: int) -> None:
    errors, baselines = 10 ** np.array(logs), np.ones(len(logs))
    weights = trapezoid_weights([10 * 2**i for i in range(len(logs))])
    whole = learning_score(errors, errors, baselines, weights, [1] * len(logs))
    failed = np.arange(len(logs)) == which % len(logs)
    worse = learning_score(
        np.where(failed, np.nan, errors), np.where(failed, 10.0, errors), baselines, weights, [1] * len(logs)
    )
    assert whole.charged <= worse.charged * (1 + 1e-12) <= 10 * (1 + 1e-9)
