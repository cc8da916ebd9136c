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
    """

    def __init__(self, watch: Watch, total: int) -> None:
        self._watch = watch
        self._total = total
        self._begin = self._last = watch.clock()
        self._latest = 0.0
        self._shortest = math.inf

    def may_go_on(self, done: int) -> bool:
        """Whether another step is worth its time, `done` of them being done. Called before each step."""
        now = self._watch.clock()
        if done:
            self._latest = now - self._last
            self._shortest = min(self._shortest, self._latest)
        self._last = now
        left, used = self._watch.deadline - now, now - self._begin
        if left <= self._latest:
            return False
        waited = done >= FIRST_STEPS and used > PATIENCE * (used + left)
        return not (waited and self._shortest * (self._total - done) > HOPELESS * left)
