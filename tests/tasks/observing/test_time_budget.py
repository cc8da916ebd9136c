"""The early end of a run for lack of time."""

from __future__ import annotations

import pytest

from tasks.kind import Watch
from tasks.observing.time_budget import TimeBudget


@pytest.mark.parametrize(
    ("seconds_a_step", "total", "deadline", "done"),
    [
        (1.0, 100, 1000.0, 100),
        (1.0, 100, float("inf"), 100),
        (1.0, 52, 50.0, 31),  # nearly: given up when the rest is more than a tenth too long
        (1.0, 4, 3.5, 3),  # the fourth step would end after the deadline
        (1.0, 60, 50.0, 6),
        (1.0, 200, 50.0, 6),  # hopeless: given up after a tenth of the time
        (30.0, 200, 50.0, 1),
    ],
)
def test_a_run_is_ended_when_it_cannot_end_in_time(
    seconds_a_step: float, total: int, deadline: float, done: int
) -> None:
    now = [0.0]
    pace = TimeBudget(Watch(lambda: now[0], deadline), total)
    count = 0
    while count < total and pace.allows_step(count):
        now[0] += seconds_a_step
        count += 1
    assert count == done


def test_a_slow_first_step_is_forgiven() -> None:
    now = [0.0]
    pace = TimeBudget(Watch(lambda: now[0], 100.0), 40)
    for done in range(40):
        assert pace.allows_step(done)
        now[0] += 40.0 if done == 0 else 1.0


def test_time_used_before_counts_against_the_deadline_and_the_patience() -> None:
    """Sixty steps of 1 s, ten of them done in 30 s before: of 100 s from a fresh start, 70 s are left for fifty."""
    now = [0.0]
    pace = TimeBudget(Watch(lambda: now[0], 100.0), 60, used_s=30.0)
    for done in range(10, 60):
        assert pace.allows_step(done)
        now[0] += 1.0
    now = [0.0]
    # Twice as slow: ended as soon as a speed is known, since a tenth of the time is used already.
    slow, done = TimeBudget(Watch(lambda: now[0], 100.0), 60, used_s=30.0), 10
    while slow.allows_step(done):
        now[0] += 2.0
        done += 1
    assert done == 13
    assert not TimeBudget(Watch(lambda: 0.0, 100.0), 60, used_s=100.0).allows_step(10)
