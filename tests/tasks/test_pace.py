"""When a run is ended for lack of time."""

from __future__ import annotations

import pytest

from tasks.kind import Watch
from tasks.pace import Pace


@pytest.mark.parametrize(
    ("seconds_a_step", "total", "deadline", "done"),
    [
        (1.0, 100, 1000.0, 100),
        (1.0, 100, float("inf"), 100),
        (1.0, 10, 9.5, 9),  # the tenth step would end after the deadline
        (1.0, 60, 50.0, 41),  # it cannot end in time, and at last that is plain
        (1.0, 200, 50.0, 6),  # hopeless: given up after a tenth of the time
        (30.0, 200, 50.0, 1),
    ],
)
def test_a_run_is_ended_when_it_cannot_end_in_time(
    seconds_a_step: float, total: int, deadline: float, done: int
) -> None:
    now = [0.0]
    pace = Pace(Watch(lambda: now[0], deadline), total)
    count = 0
    while count < total and pace.may_go_on(count):
        now[0] += seconds_a_step
        count += 1
    assert count == done
