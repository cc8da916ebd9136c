"""Errors of items that share structures, redrawn by hand: two items, A − B with the error 1 and A with the error 2."""

from __future__ import annotations

import numpy as np
import pytest

from scoring.shared_structures import Loss, SharedErrors, Terms, about, independent_items
from scoring.tree import Float

MATRIX = np.array([[1.0, -1.0], [1.0, 0.0]])
PICKS = np.array([[0, 1, 0], [1, 0, 0]])
"""A and B as they are, exchanged, and both with the error of A."""


def array(*values: float) -> Float:
    return np.array(values)


def test_the_matrix_of_sums() -> None:
    terms = Terms(np.array([0, 0, 1, 1]), np.array([7, 3, 7, 7]), array(1, -1, 2, 3))
    assert terms.matrix(3).tolist() == [[-1.0, 1.0], [0.0, 5.0], [0.0, 0.0]]


def test_independent_items() -> None:
    """Three that share nothing, two that are one, and two that share one of two structures: 2 × 8 / 10."""
    assert independent_items(np.eye(3)) == 3.0
    assert independent_items(np.ones((2, 1))) == 1.0
    assert independent_items(array(1, 1, 0, 0, 1, 1).reshape(2, 3)) == pytest.approx(1.6)
    assert independent_items(np.zeros((2, 1))) == 2.0


@pytest.mark.parametrize(
    ("loss", "limit", "mean", "redrawn"),
    [
        (Loss.ABSOLUTE, np.inf, 1.5, [1.5, 1.0, 1.0]),
        (Loss.SQUARE, np.inf, 2.5, [2.5, 1.0, 2.0]),
        (Loss.SQUARE, 3.0, 2.0, [2.0, 1.0, 1.5]),
        (Loss.ABSOLUTE, 1.5, 1.25, [1.25, 1.0, 0.75]),
    ],
)
def test_structures_get_the_errors_of_those_drawn(loss: Loss, limit: float, mean: float, redrawn: list[float]) -> None:
    """A is off by 2 and B by 1."""
    shared = SharedErrors(MATRIX, array(1, 2), loss, limit)
    assert shared.mean == mean
    np.testing.assert_allclose(shared.redrawn(PICKS), redrawn)


def test_a_structure_of_failed_items_alone_borrows_the_error_of_the_next() -> None:
    shared = SharedErrors(np.eye(3), array(1, np.nan, 3), Loss.ABSOLUTE, 9.0)
    assert (shared.mean, shared.failed.tolist()) == (2.0, [False, True, False])
    np.testing.assert_allclose(shared.redrawn(np.array([[1, 0], [0, 0], [2, 2]])), [3.0, 2.0])
    assert np.isnan(SharedErrors(np.eye(1), array(np.nan), Loss.ABSOLUTE, 9.0).mean)


def test_items_that_fail_together() -> None:
    """The first two share a structure that only failed items have; the third succeeded."""
    matrix = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    shared = SharedErrors(matrix, array(np.nan, np.nan, 1, np.nan), Loss.ABSOLUTE, 9.0)
    assert shared.unit_sizes().tolist() == [2.0, 0.0, 1.0, 1.0]


def test_draws_are_turned_about_the_mean() -> None:
    """Odds of 1/3, times 1 over the odds of 1 and 3 below 4, which are 1/3 and 3; without a limit by reciprocals."""
    assert about(1.0, array(1, 3), 4.0) == pytest.approx([2.0, 0.4])
    assert about(1.0, array(1, 3), np.inf) == pytest.approx([2.0, 2 / 3])
    assert about(1.0, array(0, 4), np.inf) == pytest.approx([1000.0, 0.5])
    assert about(1.0, array(0, 4), 4.0) == pytest.approx([4 * 1999 / 2002, 4 / (1 + 3 * 1999)], rel=1e-3)


@pytest.mark.parametrize("mean", [0.0, 4.0])
def test_a_mean_at_an_end_stays(mean: float) -> None:
    assert about(mean, array(1, 3), 4.0).tolist() == [mean, mean]
    assert about(1.0, array(0, 0), 4.0).tolist() == [1.0, 1.0]
