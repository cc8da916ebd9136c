"""Whether numbers that were computed again are those that were stored, but for rounding.

Another BLAS or another order of sums moves the last digits: a part in 10⁹ is allowed, and 10⁻¹² of any unit here, which
is what is left of a number that should be zero. So not the hash of the items is compared, but these. Nor are our own
sentences, which a later judge may put better; they are signed with the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeGuard

import numpy as np

from judge.records.records import Result
from tasks.metrics.measurement import Items
from tasks.structures.frames import Float

RELATIVE, ABSOLUTE = 1e-9, 1e-12
NOT_COMPARED = frozenset({"measured", "signature", "items_sha256", "sentence", "notes", "provenance.measured_with"})


class Comparison(NamedTuple):
    """What came out otherwise first, empty for nothing, and the largest relative difference of all that did not."""

    otherwise: str
    largest: float


def compare(stored: Result, again: Result) -> Comparison:
    """How a result that was measured again compares with the one that is stored."""
    largest = 0.0
    for path, one, other in _pairs("", stored.model_dump(mode="json"), again.model_dump(mode="json")):
        if _is_number(one) and _is_number(other):
            if not is_same(one, other):
                return Comparison(f"{path} is {one!r}, but comes out as {other!r}", largest)
            largest = max(largest, abs(one - other) / max(abs(one), abs(other), ABSOLUTE))
        elif one != other:
            return Comparison(f"{path} is {one!r:.80}, but comes out as {other!r:.80}", largest)
    return Comparison("", largest)


def is_same(one: float | None, other: float | None) -> bool:
    """Whether two numbers are the same but for rounding; None is the same as None alone."""
    if one is None or other is None:
        return one is other
    return abs(one - other) <= max(RELATIVE * max(abs(one), abs(other)), ABSOLUTE)


def same_items(stored: Items, again: Items) -> bool:
    """Whether two items tables are the same but for rounding."""
    return (
        all(list(getattr(stored, name)) == list(getattr(again, name)) for name in ("id", "group", "cluster"))
        and np.array_equal(stored.cause, again.cause)
        and stored.columns.keys() == again.columns.keys()
        and all(_same_column(stored.columns[name], again.columns[name]) for name in again.columns)
    )


def _same_column(stored: Float, again: Float) -> bool:
    return stored.shape == again.shape and np.allclose(stored, again, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _pairs(path: str, one: object, other: object) -> Iterator[tuple[str, object, object]]:
    """Everything that two records hold, with where it stands; what only one of them has beside None."""
    if path in NOT_COMPARED:
        return
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in {**one, **other}:
            yield from _pairs(f"{path}.{name}" if path else str(name), one.get(name), other.get(name))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from _pairs(f"{path}.{index}", a, b)
    else:
        yield path, one, other
