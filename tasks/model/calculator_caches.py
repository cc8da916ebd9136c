"""Empties the caches of calculators where ASE does not see that a structure changed.

This file is packed beside the guest: the standard library, numpy and ASE only, Python 3.9.
"""

from __future__ import annotations

from typing import Any, Dict


def reset_all(calculator: Any) -> None:
    """Empties the caches of `calculator` and of every calculator that it holds, however deep."""
    seen: Dict[int, Any] = {}
    queue = [calculator]
    while queue:
        thing = queue.pop()
        if id(thing) in seen or len(seen) > 1000:
            continue
        seen[id(thing)] = thing
        if isinstance(thing, (list, tuple, set, frozenset)):
            queue.extend(thing)
            continue
        if isinstance(thing, dict):
            queue.extend(thing.values())
            continue
        if callable(getattr(thing, "calculate", None)) or type(thing).__module__.startswith("ase.calculators"):
            if callable(getattr(thing, "reset", None)):
                thing.reset()
            elif isinstance(getattr(thing, "results", None), dict):
                thing.results = {}
            held = getattr(thing, "__dict__", {})
            queue.extend(v for k, v in held.items() if k not in ("results", "atoms") and _may_hold(v))


def _may_hold(value: Any) -> bool:
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return 0 < len(value) <= 64
    return callable(getattr(value, "calculate", None)) or type(value).__module__.startswith("ase.calculators")
