"""How an import says how far it is."""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[int, int, str], None]
"""Called with what is done, its total, and the unit."""


def silent(done: int, total: int, unit: str) -> None:
    """Reports nothing."""
