"""Published shares of barriers that are off: LAMBench states NaN, not 0 %, if no barrier of a reaction type is off.

Its neb.py (commit 06aced9) divides the numbers of barriers that are off by those of all barriers, type by type. A type
without any that is off is absent from the former, and the quotient of nothing is NaN.
"""

from __future__ import annotations

from collections.abc import Mapping

_PREFIX = "ø_"
NOTE = "published as NaN: no barrier of this type is off: 0 %"


def none_off(row: Mapping[str, object], column: str) -> bool:
    """Whether a column without a number stands for 0 %: a share of a type, in a task in which nothing failed.

    A barrier that failed is not counted as off either. So with failures, NaN may also mean that all of them failed.
    """
    return column.startswith(_PREFIX) and column in row and row.get("success_rate") == 100.0
