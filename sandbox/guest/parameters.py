"""How many parameters the author's calculator has, counted where it runs. Nothing is imported for it."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Any, Deque, Dict, Optional, Set, Tuple

import numpy as np

MAX_DEPTH = 8
MAX_OBJECTS = 20_000
MAX_S = 1.0
MAX_PARAMETERS = 10**15
_LEAVES = (type(None), bool, int, float, complex, str, bytes, bytearray, type, type(sys), np.ndarray, np.generic)


def count_parameters(calculator: Any) -> Optional[int]:
    """The parameters of the PyTorch models that `calculator` holds, each counted once.

    None where nothing can be said: PyTorch is not loaded, no parameter was found, or there was more to look through
    than is allowed for. Then nothing is better than a part of it.
    """
    try:
        found = _count(calculator, sys.modules["torch"].nn.Module)
        return found if isinstance(found, int) and 0 < found <= MAX_PARAMETERS else None
    except Exception:  # whatever the author's objects do when they are looked at, the calculator may still be good
        return None


def _count(calculator: Any, module_type: Any) -> Optional[int]:
    sizes: Dict[Any, int] = {}
    kept = [calculator]  # or another object could get the address of one that was seen
    seen: Set[int] = {id(calculator)}
    todo: Deque[Tuple[Any, int]] = deque([(calculator, 0)])
    until = time.monotonic() + MAX_S
    while todo:
        if time.monotonic() > until:
            return None
        held, depth = todo.popleft()
        if isinstance(held, module_type):
            _add(held, sizes)
        elif depth < MAX_DEPTH:
            for inner in _inside(held):
                if id(inner) not in seen and not isinstance(inner, _LEAVES):
                    if len(kept) == MAX_OBJECTS:
                        return None
                    seen.add(id(inner))
                    kept.append(inner)
                    todo.append((inner, depth + 1))
    return sum(sizes.values())


def _add(module: Any, sizes: Dict[Any, int]) -> None:
    """Notes the size of each parameter by where its numbers lie: TorchScript makes its objects anew when asked."""
    for parameter in module.parameters():
        sizes[parameter.data_ptr() or id(parameter)] = int(parameter.numel())


def _inside(held: Any) -> Any:
    """What an object holds: a container's items, or its own attributes. No property is called."""
    if isinstance(held, dict):
        return list(held.values())
    if isinstance(held, (list, tuple, set, frozenset)):
        return held
    attributes = getattr(held, "__dict__", None)
    return list(attributes.values()) if isinstance(attributes, dict) else ()
