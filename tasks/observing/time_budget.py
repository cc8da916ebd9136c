"""Whether a run of equal steps can still end before its deadline: one that cannot is ended at once, in good order."""

from __future__ import annotations

import math

from tasks.kind import Watch

# A run is given up once a tenth of its time is used, if even at the pace of its fastest step (the first ones may be
# slow: models compile) the rest would take a tenth more than what is left.
PATIENCE = 0.1
FIRST_STEPS = 3
HOPELESS = 1.1


class Pace:
    """Begins to count when it is made.

    Args:
        total: steps of the run.
        used_s: seconds that the run had used before it was broken off and went on here. The watch's deadline is for
            a fresh start, and comes so much earlier.
    """

    def __init__(self, watch: Watch, total: int, used_s: float = 0.0) -> None:
        self._clock, self._deadline, self._total = watch.clock, watch.deadline - used_s, total
        self._last = watch.clock()
        self._begin = self._last - used_s
        self._seen = 0
        self._latest = 0.0
        self._shortest = math.inf

    def may_go_on(self, done: int) -> bool:
        """Whether another step is worth its time, `done` of them being done. Called before each step."""
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
