"""How good a value is, from 0 for the worst to 1 for the best: the length of its bar and the tint of its cell.

A longer bar and a stronger tint are better in every table, whether lower or higher values are better.
js/goodness.js computes the same.
"""

from __future__ import annotations

import math

N_TINTS = 8
"""Steps of the tint; css/board.css has a class `t1` to `t8` for each but the worst."""


def goodness(value: float | None, full: float, *, lower_is_better: bool) -> float | None:
    """0 for the worst to 1 for the best; None if there is no value.

    Args:
        full: the worst value if lower is better, else the best one. Values beyond it count as it.
    """
    if value is None or math.isnan(value):
        return None
    share = min(max(value / full, 0.0), 1.0)
    return 1.0 - share if lower_is_better else share


def tint(good: float | None) -> str:
    """The class of a cell with this goodness; empty if it has no tint."""
    step = 0 if good is None else int(N_TINTS * good + 0.5)
    return f"t{step}" if step else ""
