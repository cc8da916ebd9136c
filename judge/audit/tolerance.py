"""Compares stored numbers with numbers that were computed again, up to rounding.

Another BLAS or another order of sums changes the last digits. So a relative difference of 10⁻⁹ is allowed, and an
absolute one of 10⁻¹² in any unit for numbers that should be zero. The numbers of the items table are compared, not its
hash. Sentences are not compared, because a later version of the judge may word them differently. The keys prove that
the parameters are the same, which an older version did not state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeGuard

import numpy as np

from judge.records.records import Result
from tasks.metrics.contributions import is_baseline_column
from tasks.metrics.measurement import Items, ItemTerms
from tasks.structures.frames import Float

RELATIVE, ABSOLUTE = 1e-9, 1e-12
NOT_COMPARED = frozenset(
    {"measured", "signature", "items_sha256", "sentence", "notes", "provenance.measured_with", "provenance.parameters"}
)


class NumberComparison(NamedTuple):
    """The first difference beyond rounding, empty if there is none; and the largest relative difference within it."""

    difference: str
    largest: float


def compare(stored: Result, again: Result) -> NumberComparison:
    """The comparison of a stored result with the same result measured again."""
    largest = 0.0
    for path, first, second in _pairs("", stored.model_dump(mode="json"), again.model_dump(mode="json")):
        if _is_number(first) and _is_number(second):
            if not is_same(first, second):
                return NumberComparison(f"{path} is {first!r}, and {second!r} when measured again", largest)
            largest = max(largest, abs(first - second) / max(abs(first), abs(second), ABSOLUTE))
        elif first != second:
            return NumberComparison(f"{path} is {first!r:.80}, and {second!r:.80} when measured again", largest)
    return NumberComparison("", largest)


def is_same(first: float | None, second: float | None) -> bool:
    """Whether two numbers are equal up to rounding; None equals only None."""
    if first is None or second is None:
        return first is second
    return abs(first - second) <= max(RELATIVE * max(abs(first), abs(second)), ABSOLUTE)


def same_items(stored: Items, again: Items) -> bool:
    """Whether two items tables are equal up to rounding. An older version stored no columns of the baseline."""
    return (
        all(list(getattr(stored, name)) == list(getattr(again, name)) for name in ("id", "group", "cluster"))
        and np.array_equal(stored.cause, again.cause)
        and stored.columns.keys() <= again.columns.keys()
        and all(is_baseline_column(name) for name in again.columns.keys() - stored.columns.keys())
        and all(_same_column(stored.columns[name], again.columns[name]) for name in stored.columns)
        and _same_terms(stored.terms, again.terms)
    )


def _same_terms(stored: ItemTerms | None, again: ItemTerms | None) -> bool:
    """Whether the terms are equal. An older version stored none."""
    if stored is None or again is None:
        return stored is None
    same = np.array_equal(stored.item, again.item) and np.array_equal(stored.structure, again.structure)
    return same and _same_column(stored.coefficient, again.coefficient)


def _same_column(stored: Float, again: Float) -> bool:
    return stored.shape == again.shape and np.allclose(stored, again, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _pairs(path: str, first: object, second: object) -> Iterator[tuple[str, object, object]]:
    """The values of two records by path, side by side; None for a value that only one of them has."""
    if path in NOT_COMPARED:
        return
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for name in {**first, **second}:
            yield from _pairs(f"{path}.{name}" if path else str(name), first.get(name), second.get(name))
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for index, (a, b) in enumerate(zip(first, second, strict=True)):
            yield from _pairs(f"{path}.{index}", a, b)
    else:
        yield path, first, second
