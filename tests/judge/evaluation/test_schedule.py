"""The time that several workers take."""

from __future__ import annotations

import pytest

from judge.evaluation.schedule import wall_time_s


@pytest.mark.parametrize(
    ("costs", "n_workers", "wall_s"),
    [([], 3, 0.0), ([2.0, 3.0], 1, 5.0), ([4.0, 1.0, 1.0, 1.0], 2, 4.0), ([1.0, 1.0, 4.0], 2, 5.0), ([2.0], 5, 2.0)],
)
def test_each_takes_the_next_unit_when_it_is_free(costs: list[float], n_workers: int, wall_s: float) -> None:
    assert wall_time_s(costs, n_workers) == wall_s
