"""Ranks, and the lowest and highest of a group, by hand; soft thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.metrics.group_statistics import (
    average_ranks,
    highest_at_reference,
    highest_found,
    lowest_at_reference,
    lowest_found,
    mean_with_worst,
    over_groups,
    ranking_error,
    spearman,
)
from tasks.metrics.soft_threshold import soft_score, soft_scores
from tasks.structures.frames import Float


def array(*values: float) -> Float:
    return np.array(values)


def test_equal_values_have_the_mean_of_their_ranks() -> None:
    assert average_ranks(array(5.0, 1.0, 5.0, 3.0)).tolist() == [3.5, 1.0, 3.5, 2.0]
    assert average_ranks(array(2.0, 2.0, 2.0)).tolist() == [2.0, 2.0, 2.0]


def test_rank_correlation() -> None:
    """One pair of four is exchanged: 1 − 6 × 2 / (4 × 15). A tie in the middle: √(9/10)."""
    assert spearman(array(1, 2, 4, 3), array(1, 2, 3, 4)) == pytest.approx(0.8)
    assert spearman(array(1, 2, 2, 3), array(10, 20, 30, 40)) == pytest.approx(np.sqrt(0.9))
    assert spearman(array(3, 2, 1), array(1, 2, 3)) == pytest.approx(-1.0)
    assert spearman(array(1, 1, 1), array(1, 2, 3)) == 0.0
    assert spearman(array(1, 2, 3), array(1, 1, 1)) is None


def test_the_lowest_and_the_highest() -> None:
    """Two are predicted to be equally low, one of which is the lowest."""
    predicted, reference = array(1.0, 1.0, 3.0, 2.0), array(0.0, 5.0, 6.0, 7.0)
    assert lowest_found(predicted, reference) == 0.5
    assert highest_found(predicted, reference) == 0.0
    assert ranking_error(predicted, reference) == 0.75
    assert ranking_error(reference, reference) == 0.0
    assert highest_found(array(1.0, 2.0, 2.0), array(1.0, 2.0, 3.0)) == 0.5
    assert ranking_error(array(1.0, 2.0, 2.0), array(1.0, 2.0, 3.0)) == 0.25
    assert lowest_found(array(1.0, 2.0), array(1.0, 2.0)) == 1.0
    for statistic in (lowest_found, highest_found, ranking_error):
        assert statistic(array(1.0), array(1.0)) is None


def test_indices_of_the_extremes_at_the_reference() -> None:
    reference = array(3.0, 1.0, 2.0, 1.0)
    assert lowest_at_reference(reference, 3).tolist() == [1, 3, 2]
    assert highest_at_reference(reference, 1).tolist() == [0]
    assert highest_at_reference(reference, 3).tolist() == [3, 2, 0]


def test_a_failed_member_makes_its_group_the_worst() -> None:
    groups = [
        (array(1.0), array(1.0)),  # has no order
        (array(1.0, 2.0), array(1.0, 2.0)),
        (array(np.nan, 2.0), array(1.0, 2.0)),
        (array(2.0, 1.0), array(1.0, 2.0)),
    ]
    metric = over_groups(lowest_found, groups, 0.0, 100.0, "%")
    assert metric is not None
    assert (metric.value, metric.charged) == pytest.approx((50.0, 100 / 3))
    assert (metric.unit, metric.n_items, metric.n_failed) == ("%", 3, 1)
    worst = over_groups(ranking_error, groups, 1.0, 10.0)
    assert worst is not None
    assert (worst.value, worst.charged) == pytest.approx((5.0, 20 / 3))
    assert worst.unit == ""
    assert over_groups(lowest_found, groups[:1], 0.0) is None


def test_a_group_whose_predictions_have_no_number_counts_as_the_worst() -> None:
    def known(predicted: Float, reference: Float) -> float | None:
        return None if predicted[0] < 0 else 1.0

    metric = over_groups(known, [(array(-1.0), array(1.0)), (array(1.0), array(1.0))], 3.0)
    assert metric is not None
    assert (metric.value, metric.charged, metric.n_failed) == (1.0, 2.0, 1)


def test_means_with_the_worst() -> None:
    metric = mean_with_worst(array(1.0, np.nan, 3.0), 8.0, "Å")
    assert (metric.value, metric.charged, metric.n_items, metric.n_failed) == (2.0, 4.0, 3, 1)
    nothing = mean_with_worst(array(np.nan), 8.0)
    assert (nothing.value, nothing.charged, nothing.unit) == (None, 8.0, "")


def test_soft_thresholds() -> None:
    """1 up to the threshold, e⁻³ at twice it, e⁻¹·⁵ at one and a half."""
    scores = soft_scores(array(0.0, 2.0, 4.0, 3.0, np.nan), 2.0)
    np.testing.assert_allclose(scores, [1.0, 1.0, np.exp(-3.0), np.exp(-1.5), np.nan])
    metric = soft_score([array(1.0, 0.5, np.nan), array(0.0, 0.5, 1.0)])
    assert (metric.value, metric.charged, metric.n_failed) == pytest.approx((0.5, 1 / 3, 1))
