"""Ranks: by force-field error, then property error; or by one score, under many alternatives at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class RankingEntry(NamedTuple):
    """One model in the ranking; `complete` if the verdict of every task of the suite is OK."""

    key: str
    complete: bool
    force_field_error: float | None
    property_error: float | None


class Placed(NamedTuple):
    """An entry's rank, from 1; None if it is not ranked."""

    key: str
    rank: int | None


def ranking(entries: Sequence[RankingEntry]) -> list[Placed]:
    """Entries from best to worst; equal scores share a rank and the next is skipped (1, 1, 3).

    Complete entries come first, by force-field error, then property error, lower first; a score that is missing or
    NaN is last. Incomplete entries, and those that miss both scores, have no rank. Equals are listed by key, so that the
    order of the input does not matter.
    """
    ordered = sorted(entries, key=lambda e: (not e.complete, _scores(e), e.key))
    placed: list[Placed] = []
    for place, entry in enumerate(ordered, 1):
        if not entry.complete or _scores(entry) == (math.inf, math.inf):
            placed.append(Placed(entry.key, None))
        elif place > 1 and _scores(ordered[place - 2]) == _scores(entry):
            placed.append(Placed(entry.key, placed[-1].rank))
        else:
            placed.append(Placed(entry.key, place))
    return placed


def ranks(values: NDArray[np.float64], *, lower_is_better: bool) -> NDArray[np.int64]:
    """(M, ...) the rank of each of M models among them, from 1; equal values share one (1, 1, 3), NaN is last.

    Args:
        values: (M, ...) a score of each model, under any number of alternatives.
    """
    cost = np.moveaxis(costs(values, lower_is_better=lower_is_better), 0, -1)  # so that models lie side by side
    order = np.argsort(cost, axis=-1, kind="stable")
    ordered = np.take_along_axis(cost, order, axis=-1)
    first = np.ones(cost.shape, np.int64)  # the place of a model that is worse than the one before it, else 1
    first[..., 1:] = np.where(ordered[..., 1:] > ordered[..., :-1], np.arange(2, cost.shape[-1] + 1), 1)
    rank = np.empty(cost.shape, np.int64)
    np.put_along_axis(rank, order, np.maximum.accumulate(first, axis=-1), axis=-1)
    return np.ascontiguousarray(np.moveaxis(rank, -1, 0))


def costs(values: NDArray[np.float64], *, lower_is_better: bool) -> NDArray[np.float64]:
    """(M, ...) the scores with their sign such that less is better; NaN becomes infinite."""
    return np.where(np.isnan(values), np.inf, values if lower_is_better else -values)


def _scores(entry: RankingEntry) -> tuple[float, float]:
    return _number(entry.force_field_error), _number(entry.property_error)


def _number(value: float | None) -> float:
    return math.inf if value is None or math.isnan(value) else value
