"""What other workers have taken of a plan, looked up in the store while this one works."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from judge.evaluation.plan import Planned
from judge.evaluation.unit_order import Taken, taken, without_taken
from submissions.store.interface import Store

LOOK_AGAIN_S = 5.0
"""The shortest time between two looks."""
SHARE = 0.05
"""Looks take at most this share of the time: in a large store one takes a second."""


@dataclass
class OthersWork:
    """The work of others that run the same plan.

    Args:
        worker: the identity of this process; empty: it is the only one, and nothing is looked up.
        looking: runs the looks.
    """

    store: Store
    worker: str
    looking: ThreadPoolExecutor
    _look: Future[Taken] | None = field(default=None, init=False)
    _next: float = field(default=float("-inf"), init=False)

    def left(self, plan: Sequence[Planned]) -> tuple[Sequence[Planned], Sequence[Planned]]:
        """The units that are left, those first that nobody has claimed; and those that others have judged. If no look
        has ended since the last call, these are `plan` and none.

        Raises:
            StoreError: the store cannot be listed.
        """
        if not self.worker or not plan:
            return plan, ()
        ended = self._look.result() if self._look is not None and self._look.done() else None
        if ended is not None:
            self._look = None
        if self._look is None and time.monotonic() >= self._next:
            self._look = self.looking.submit(self._taken)
        return (plan, ()) if ended is None else without_taken(plan, ended, self.worker)

    def goes_on(self) -> bool:
        """Whether a unit is claimed that has not ended."""
        known = taken(self.store.list("attempts/"), ())
        return any(prefix not in known.ended for prefix in known.claimed)

    def _taken(self) -> Taken:
        begun = time.monotonic()
        known = taken(self.store.list("attempts/"), self.store.list("results/"))
        ended = time.monotonic()
        self._next = ended + max(LOOK_AGAIN_S, (ended - begun) / SHARE)
        return known
