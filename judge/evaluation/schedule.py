"""How long several workers take for units of known cost. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Iterable


def wall_time_s(costs_s: Iterable[float], n_workers: int) -> float:
    """The time until the last unit ends [s], if each of `n_workers` takes the next unit as soon as it is free.

    Args:
        costs_s: of the units, in the order in which they are taken [s].
        n_workers: at least 1; each on a host of its own, so that none waits for a timing of another.
    """
    free_at = [0.0] * n_workers
    for cost_s in costs_s:
        heapq.heapreplace(free_at, free_at[0] + cost_s)
    return max(free_at)
