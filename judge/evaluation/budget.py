"""The time budget of a run, and which units it no longer allows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from submissions.progress import duration


@dataclass
class Budget:
    """The time that a run may take, from the moment when this is made. No unit is started that should end later.

    Args:
        costs: the expected time of each unit [s], by its prefix; None if it is not known.
    """

    seconds: float
    costs: Mapping[str, float | None]
    clock: Callable[[], float] = time.monotonic
    _begin: float = field(init=False)

    def __post_init__(self) -> None:
        self._begin = self.clock()

    def refuses(self, prefix: str) -> str | None:
        """The reason why the unit at `prefix` is not started; None if it may start.

        A unit of unknown cost may start while any time is left.
        """
        elapsed, cost = self.clock() - self._begin, self.costs.get(prefix)
        if elapsed >= self.seconds:
            return f"the budget of {duration(self.seconds)} is used up"
        if cost is None or elapsed + cost <= self.seconds:
            return None
        return f"it takes about {duration(cost)}, and {duration(self.seconds - elapsed)} of the budget are left"
