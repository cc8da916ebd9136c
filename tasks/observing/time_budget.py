"""The time budget of a run of equal steps: a run that cannot finish before its deadline ends early."""

from __future__ import annotations

import math

from tasks.kind import Watch

# A run ends early once a tenth of its time is used, if the rest would take a tenth more than the remaining time even at
# the speed of the fastest step. The first steps may be slow, since models compile.
PATIENCE = 0.1
FIRST_STEPS = 3
HOPELESS = 1.1


class TimeBudget:
    """The time of a run, from the creation of this object.

    Args:
        total: steps of the run.
        used_s: seconds that the run used before an interruption. The watch's deadline is for a fresh start, so the
            run's deadline is earlier by these seconds.
    """

    def __init__(self, watch: Watch, total: int, used_s: float = 0.0) -> None:
        self._clock, self._deadline, self._total = watch.clock, watch.deadline - used_s, total
        self._last = watch.clock()
        self._begin = self._last - used_s
        self._seen = 0
        self._latest = 0.0
        self._shortest = math.inf

    def allows_step(self, done: int) -> bool:
        """Whether another step may begin after `done` steps. Called before each step."""
        now = self._clock()
        if self._seen:
            self._latest = now - self._last
            self._shortest = min(self._shortest, self._latest)
        self._last = now
        left, used = self._deadline - now, now - self._begin
        if left <= self._latest:
            return False
        waited = self._seen >= FIRST_STEPS and used > PATIENCE * (used + left)
        self._seen += 1
        return not (waited and self._shortest * (self._total - done) > HOPELESS * left)
