"""Constants per element fitted to sets of frames, by hand, and the sets."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tasks.metrics.charged_shift import centres, clipped_sum
from tasks.metrics.shift_candidates import descent, errors, fit, fits, frame_sets
from tasks.structures.frames import Float

ONE = np.ones((1, 5, 1))
VALUES = np.array([[0.0, 0.2, 0.9, 1.4, 100.0]])


def test_sizes_of_errors() -> None:
    """Two frames of a half each, and one of the second element alone, under constants 2 and 4."""
    x = np.array([[[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]])
    assert errors(x, np.array([[3.5, 1.0, 4.0]]), np.array([[2.0, 4.0]])).tolist() == [[0.5, 2.0, 0.0]]


def test_the_weighted_fit() -> None:
    """As numpy's, from any start; an element that is in no frame keeps its constant."""
    rng = np.random.default_rng(0)
    x, y, weights = rng.random((2, 7, 3)), rng.normal(size=(2, 7)), rng.random((2, 7))
    for start in (np.zeros((2, 3)), rng.normal(size=(2, 3))):
        constants = fit(x, y, start, weights)
        for i in range(2):
            root = np.sqrt(weights[i])
            expected = np.linalg.lstsq(x[i] * root[:, None], y[i] * root, rcond=None)[0]
            np.testing.assert_allclose(constants[i], expected, rtol=1e-9)
    x[:, :, 1] = 0.0
    assert fit(x, y, np.zeros((2, 3)), weights)[:, 1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("start", "minimum"),
    [(0.0, 1.1 / 3), (0.5, 0.625), (100.5, 100.0), (50.0, 50.0)],
    ids=["0, 0.2 and 0.9 are within 1", "1.4 is, too", "100 alone", "none: it stays"],
)
def test_the_fit_to_the_frames_within_the_failure_cost(start: float, minimum: float) -> None:
    assert descent(ONE, VALUES, np.array([[start]]), 1.0, 2, 50)[0, 0] == pytest.approx(minimum, abs=1e-12)


def test_each_set_descends_for_itself_and_leaves_its_start_as_it_is() -> None:
    starts = np.array([[0.0], [0.5], [100.5], [50.0]])
    together = descent(np.repeat(ONE, 4, axis=0), np.repeat(VALUES, 4, axis=0), starts, 1.0, 2, 50)
    alone = [descent(ONE, VALUES, start[None], 1.0, 2, 50)[0] for start in starts]
    assert together.tolist() == np.array(alone).tolist()
    assert starts.tolist() == [[0.0], [0.5], [100.5], [50.0]]


def test_a_descent_takes_as_many_steps_as_it_may() -> None:
    """From −0.6 to 0.1, the mean of the first two; then the third is within 1, too."""
    start = np.array([[-0.6]])
    first, second = (descent(ONE, VALUES, start, 1.0, 2, n)[0, 0] for n in (1, 2))
    assert (first, second) == (pytest.approx(0.1, abs=1e-12), pytest.approx(1.1 / 3, abs=1e-12))


def test_a_frame_at_the_failure_cost_itself_is_not_within_it() -> None:
    values = np.array([[0.0, 1.0]])
    assert descent(np.ones((1, 2, 1)), values, np.array([[0.0]]), 1.0, 2, 50)[0, 0] == 0.0


def test_least_absolute_errors_go_to_the_median() -> None:
    """Of 0, 0.2 and 0.9; least squares over all five are at 20.5."""
    squares, absolute = fits(ONE, VALUES, 1.0, 1)[:, 0]
    assert squares == pytest.approx(20.5)
    assert absolute == pytest.approx(0.9, abs=0.05)
    assert descent(ONE, VALUES, np.array([[0.1]]), 1.0, 1, 200)[0, 0] == pytest.approx(0.2, abs=0.01)


def test_the_sets_of_frames() -> None:
    """All six; all without each element or both; all but one; and no frame twice in a set."""
    counts = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0], [0.0, 1.0], [3.0, 1.0], [0.0, 4.0]])
    rows = [tuple(sorted(row)) for batch in frame_sets(counts) for row in batch.tolist()]
    assert rows == [tuple(sorted(row)) for batch in frame_sets(counts) for row in batch.tolist()]
    sets = Counter(rows)
    everything = tuple(range(6))
    assert rows[:3] == [everything, (3, 5), (0, 1)]
    assert {everything[:i] + everything[i + 1 :] for i in range(6)} <= sets.keys()
    assert sets.keys() >= {(0, 1, 2, 3, 5), (0, 1, 3)}  # without the largest, and the largest half
    assert {len(row) for row in rows} >= {2, 3, 5, 6}
    assert all(set(row) <= set(everything) for row in rows)
    of_each = [row for row in rows if len(row) == 2 and counts[list(row)].any(axis=0).all()]
    assert len(of_each) > 10


@pytest.mark.parametrize(("n", "has_all_but_one"), [(1000, True), (1011, False)])
def test_sets_of_all_frames_but_one_up_to_a_thousand_of_four_elements(n: int, has_all_but_one: bool) -> None:
    counts = np.random.default_rng(0).integers(1, 5, (n, 4)).astype(np.float64)
    left_out: set[int] = set()
    for rows in frame_sets(counts):
        if rows.shape[1] == n - 1:
            left_out |= {n * (n - 1) // 2 - int(row.sum()) for row in rows}
    assert (left_out == set(range(n))) is has_all_but_one


def brute_force(values: Float, power: int) -> float:
    grid = np.linspace(values.min() - 1, values.max() + 1, 20001)
    return float((np.minimum(np.abs(values - grid[:, None]), 1.0) ** power).sum(axis=1).min())


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(
    "values", [[0.0], [0.0, 3.0], [0.0, 0.2, 0.9, 1.4, 100.0], [5.0, 5.1, 5.2, 0.0, 0.1], [0.0, 1.9, 2.1, 4.0]]
)
def test_the_centre_of_numbers(values: list[float], power: int) -> None:
    numbers = np.array(values)
    least = min(clipped_sum(numbers - c, 1.0, power) for c in centres(numbers, 1.0, power))
    assert least <= brute_force(numbers, power) + 1e-12
    assert least >= brute_force(numbers, power) - 2e-3 * len(values)
