"""A model's values of one metric, and the score over its items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum, isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ScoringError
from scoring.mlipaudit.facts import AuditMetric, ByGroup, FrameAverage
from scoring.mlipaudit.soft_threshold import Float, Rule, item_scores

Item = float | None | Sequence[float]
"""A number, or the frames of a trajectory; None if it failed. NaN and infinity count as failed."""

ROUNDING = 1e-9


@dataclass(frozen=True)
class Measured:
    """One metric of one model.

    Args:
        values: by item; see `Item`. As an array: (n,) numbers, NaN or infinite if an item failed; those of trajectories
            are combined over frames already.
        unit: of the values.
        n_failed: number of failed items that are not among the values.
        n_unsupported: number of items that were left out because of unsupported elements, not among the values.
        groups: by item, if the metric has groups.
        any_nan: whether the model answered an item with NaN; a NaN among listed values says so too.
        any_error: whether the model raised for an item.
        sets: by item, the set that it belongs to, if the benchmark has several.
        seen: by item, the value as MLIPAudit's program has it, where that differs from the right one.
    """

    values: Sequence[Item] | Float
    unit: str
    n_failed: int = 0
    n_unsupported: int = 0
    groups: Sequence[str] | None = None
    any_nan: bool = False
    any_error: bool = False
    sets: Sequence[str] | None = None
    seen: Sequence[Item] | Float | None = None

    @property
    def answered_nan(self) -> bool:
        """Whether the model answered an item with NaN. In an array NaN only says that the item failed."""
        listed = [] if isinstance(self.values, np.ndarray) else self.values
        return self.any_nan or any(isinstance(item, float) and item != item for item in listed)


class Scored(NamedTuple):
    """The score over all items.

    Args:
        value: in 0..1; None if there is no item.
        uncharged: over the items that succeeded; None if none did.
        mean: of the values, in their unit, over the items that succeeded; None if none did.
    """

    value: float | None
    uncharged: float | None
    mean: float | None
    n_items: int
    n_failed: int


def scored(
    measured: Measured, metric: AuditMetric, alpha: float, where: str, *, count_unsupported: bool = True
) -> Scored:
    """The score over the items of a metric.

    Args:
        where: release, benchmark and metric, for error messages.
        count_unsupported: True: items with unsupported elements count 0, unless the metric leaves them out.

    Raises:
        ScoringError: see `checked`.
    """
    if metric.as_seen and measured.seen is not None:
        measured = replace(measured, values=measured.seen)
    alpha = metric.alpha or alpha
    values = checked(measured, metric, where)
    if isinstance(measured.values, np.ndarray):
        failed = np.isnan(values)
    else:
        failed = np.array([item is None for item in measured.values], dtype=bool)
    n_zero = measured.n_failed + (
        measured.n_unsupported if count_unsupported and not metric.leaves_out_unsupported else 0
    )
    succeeded = np.isfinite(values)
    n_items = len(values) + n_zero
    if not n_items:
        return Scored(None, None, None, 0, 0)
    value = _mean_score(values, failed, measured.groups, metric, alpha, n_zero)
    if metric.one_failure_is_all and (failed.any() or measured.n_failed):
        value = 0.0
    nan_is_all, error_is_all = metric.one_nan_is_all, metric.one_error_is_all
    if (nan_is_all and measured.answered_nan) or (error_is_all and measured.any_error):
        value = 0.0
    if metric.one_set_is_all and measured.sets and _a_set_failed(measured.sets, succeeded):
        value = 0.0
    if not succeeded.any():
        return Scored(value, None, None, n_items, n_items)
    groups = None if measured.groups is None else [g for g, ok in zip(measured.groups, succeeded, strict=True) if ok]
    kept = values[succeeded]
    uncharged = _mean_score(kept, np.zeros(len(kept), dtype=bool), groups, metric, alpha, 0)
    n_failed = n_items - len(kept)
    return Scored(value, uncharged, fsum(kept / len(kept)), n_items, n_failed)


def _a_set_failed(sets: Sequence[str], succeeded: NDArray[np.bool_]) -> bool:
    """Whether there is a set of which no item succeeded."""
    return set(sets) != {name for name, ok in zip(sets, succeeded, strict=True) if ok}


def checked(measured: Measured, metric: AuditMetric, where: str) -> Float:
    """(n,) a number for each item, in the metric's unit; NaN if it failed.

    Raises:
        ScoringError: another unit, no items, a negative value or one that is too large, frames in place of numbers or
            the reverse, or groups that do not fit.
    """
    if measured.unit != metric.unit:
        raise ScoringError(f"{where}: unit '{measured.unit}' should be '{metric.unit}'")
    for name, count in (("n_failed", measured.n_failed), ("n_unsupported", measured.n_unsupported)):
        if count < 0:
            raise ScoringError(f"{where}: {name} {count} is negative")
    if measured.sets is not None and len(measured.sets) != len(measured.values):
        raise ScoringError(f"{where}: sets: {len(measured.sets)} for {len(measured.values)} items; give one for each")
    if not len(measured.values) + measured.n_failed + measured.n_unsupported:
        raise ScoringError(f"{where}: values: no items; give None for each that failed")
    _check_groups(measured, metric, where)
    if isinstance(measured.values, np.ndarray):
        if _all_in_range(measured.values, metric):
            return np.where(np.isfinite(measured.values), measured.values, np.nan)
        metric = metric.model_copy(update={"over_frames": None})
    return np.array(
        [_number(item, metric, f"{where}: item {i}") for i, item in enumerate(measured.values)], dtype=float
    )


def _check_groups(measured: Measured, metric: AuditMetric, where: str) -> None:
    if metric.by_group is None:
        if measured.groups is not None:
            raise ScoringError(f"{where}: groups: this metric has none")
        return
    given = 0 if measured.groups is None else len(measured.groups)
    if given != len(measured.values):
        raise ScoringError(f"{where}: groups: {given} for {len(measured.values)} items; give one for each")
    if measured.n_failed or measured.n_unsupported:
        field = "n_failed" if measured.n_failed else "n_unsupported"
        raise ScoringError(f"{where}: {field}: belongs to no group; give None among the values, with its group")


def _all_in_range(values: Float, metric: AuditMetric) -> bool:
    """Whether all (n,) numbers are single, not negative and not above the largest possible value."""
    most = np.inf if metric.at_most is None else metric.at_most
    return not (values < 0).any() and not (values > most).any()


def _number(item: Item, metric: AuditMetric, where: str) -> float:
    if item is None:
        return np.nan
    if isinstance(item, (int, float, np.number)):
        if metric.over_frames is not None:
            raise ScoringError(f"{where} is a number; give the frames of its trajectory")
        return _in_range(float(item), metric, where)
    if metric.over_frames is None:
        raise ScoringError(f"{where} is a trajectory; give one number")
    frames = np.array([_in_range(float(frame), metric, where) for frame in item], dtype=float)
    # A trajectory with a failed frame has failed: NaN passes through mean, minimum and maximum.
    return _over(frames, metric.over_frames) if len(frames) else np.nan


def _in_range(value: float, metric: AuditMetric, where: str) -> float:
    if value < 0:
        raise ScoringError(f"{where} is {value:g}, negative; give errors as magnitudes")
    if not isfinite(value):
        return np.nan
    if metric.at_most is None:
        return value
    if value > metric.at_most + ROUNDING:
        raise ScoringError(f"{where} is {value:g}, more than {metric.at_most:g}, the most that can be")
    return min(value, metric.at_most)


def _over(frames: Float, how: FrameAverage) -> float:
    match how:
        case FrameAverage.MEAN:
            return fsum(frames / len(frames))
        case FrameAverage.MINIMUM:
            return float(frames.min())
        case FrameAverage.MAXIMUM:
            return float(frames.max())


def _mean_score(
    values: Float,
    failed: NDArray[np.bool_],
    groups: Sequence[str] | None,
    metric: AuditMetric,
    alpha: float,
    n_zero: int,
) -> float:
    """The mean score of the values and `n_zero` more items that score 0."""
    if groups is None:
        scores = scores_of_items(values, metric, alpha)
        return fsum(scores) / (len(scores) + n_zero)
    label = np.array(groups, dtype=object)
    members = [label == name for name in sorted(set(groups))]
    if metric.by_group is ByGroup.VALUES:
        kept = [values[member & ~failed] for member in members]
        means = np.array([fsum(x / len(x)) for x in kept if len(x)], dtype=float)
        return fsum(scores_of_items(means, metric, alpha)) / len(means) if len(means) else 0.0
    scores = scores_of_items(values, metric, alpha)
    return fsum(fsum(scores[member]) / int(member.sum()) for member in members) / len(members)


def scores_of_items(values: Float, metric: AuditMetric, alpha: float) -> Float:
    """(n,) the score of each item of a metric, from its value (n,) in the metric's unit; 0 if that is NaN."""
    limit = 1.0 if metric.rule is Rule.SCORE or metric.threshold is None else metric.threshold
    return item_scores(values * metric.factor, limit, metric.alpha or alpha, metric.direction, metric.rule)
