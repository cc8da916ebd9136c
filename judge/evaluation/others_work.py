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

    def after(self, met: Planned, plan: Sequence[Planned]) -> tuple[Sequence[Planned], Sequence[Planned]]:
        """The units that are left of `plan` after this process met another one at `met`: first those that nobody has
        claimed, if a look has ended, else other submissions. And those that others have judged.

        Raises:
            StoreError: the store cannot be listed.
        """
        if not self.worker or not plan:
            return plan, ()
        known = self._look.result() if self._look is not None and self._look.done() else None
        if known is not None:
            self._look = None
        if self._look is None and time.monotonic() >= self._next:
            self._look = self.looking.submit(self._taken)
        if known is not None:
            return without_taken(plan, known, self.worker)
        submission = met.unit.submission.id
        return sorted(plan, key=lambda planned: planned.unit.submission.id == submission), ()  # a stable sort

    def now(self, plan: Sequence[Planned]) -> tuple[Sequence[Planned], Sequence[Planned]]:
        """The same from a look at everything that is made now."""
        return without_taken(plan, self._taken(), self.worker) if self.worker else (plan, ())

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
