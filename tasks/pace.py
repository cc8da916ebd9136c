"""Whether a run of equal steps can still end before its deadline: one that cannot is ended at once, in good order."""

from __future__ import annotations

from tasks.kind import Watch

# A run is given up once a tenth of its time is used and, at the pace so far, the rest would take twice what is left.
PATIENCE = 0.1
HOPELESS = 2.0


class Pace:
    """Begins to count when it is made.

    Args:
        total: steps of the run.
    """

    def __init__(self, watch: Watch, total: int) -> None:
        self._watch = watch
        self._total = total
        self._begin = self._last = watch.clock()
        self._longest = 0.0

    def may_go_on(self, done: int) -> bool:
        """Whether another step is worth its time, `done` of them being done. Called before each step."""
        now = self._watch.clock()
        if done:
            self._longest = max(self._longest, now - self._last)
        self._last = now
        left, used = self._watch.deadline - now, now - self._begin
        if left <= self._longest:
            return False
        waited = done > 0 and used > PATIENCE * (used + left)
        return not (waited and used / done * (self._total - done) > HOPELESS * left)
