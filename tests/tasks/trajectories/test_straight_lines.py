"""Slopes of straight lines: a known slope, and a standard error that covers what it says."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.trajectories.straight_lines import fit_slopes


def test_a_known_drift_is_found() -> None:
    times = np.linspace(0.0, 1.0, 11)
    slopes = fit_slopes(times, np.array([5.0 + 0.25 * times, -3.0 - 1e-5 * times]))
    np.testing.assert_allclose(slopes.slope, [0.25, -1e-5], rtol=1e-9)
    np.testing.assert_allclose(slopes.stderr, 0.0, atol=1e-12)


def test_the_standard_error_is_that_of_known_noise() -> None:
    """Noise of known σ: the slopes of 2,000 series scatter by σ / sqrt(Σ (x − mean)²), and the error says so."""
    times = np.linspace(0.0, 10.0, 50)
    noise = np.random.default_rng(0).normal(0.0, 0.3, (2000, 50))
    slopes = fit_slopes(times, 2.0 + 0.1 * times + noise)
    expected = 0.3 / np.sqrt(((times - times.mean()) ** 2).sum())
    assert slopes.slope.mean() == pytest.approx(0.1, abs=4 * expected / np.sqrt(2000))
    assert slopes.slope.std() == pytest.approx(expected, rel=0.06)
    assert np.sqrt((slopes.stderr**2).mean()) == pytest.approx(expected, rel=0.02)


def test_a_gap_or_too_few_values_have_no_slope() -> None:
    assert np.isnan(fit_slopes(np.arange(4.0), np.array([[1.0, np.nan, 2.0, 3.0]])).slope).all()
    assert np.isnan(fit_slopes(np.arange(2.0), np.ones((1, 2))).slope).all()
