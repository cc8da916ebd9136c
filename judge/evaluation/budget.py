"""How long a run may take, and which units are no longer begun."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from submissions.progress import duration


@dataclass
class Budget:
    """How long a run may take: nothing is begun that is expected to end later. Its clock runs from when it is made.

    Args:
        costs: by the units' prefixes: what each is expected to take [s]; None where that is not known.
    """

    seconds: float
    costs: Mapping[str, float | None]
    clock: Callable[[], float] = time.monotonic
    _begin: float = field(init=False)

    def __post_init__(self) -> None:
        self._begin = self.clock()

    def refuses(self, prefix: str) -> str | None:
        """Why the unit at `prefix` is not begun any more; None if it is.

        One whose cost is not known is begun while there is any time left.
        """
        spent, cost = self.clock() - self._begin, self.costs.get(prefix)
        if spent >= self.seconds:
            return f"the budget of {duration(self.seconds)} is used up"
        if cost is None or spent + cost <= self.seconds:
            return None
        return f"it takes about {duration(cost)}, and {duration(self.seconds - spent)} of the budget are left"
