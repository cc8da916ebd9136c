"""The error of a model in a metric over chosen groups of items, and the deviation of the difference of two models.

For a model and a column (a metric of a task), over the groups that are chosen:

    R = Σ s / Σ d                    s: its errors, or squared errors, failures at their cost;  d: those of the trivial
                                     model, or the number of components if its errors are not known by item
    error = factor × R, or factor × √R for a root mean square;  between `floor` and 1
    var R = n / (n − 1) × Σₖ (sₖ − R dₖ)² / (Σ d)²                     over the n clusters k of correlated items

By the delta method the standard deviation of the error is sd = error × √var R / R, half of it under a root, and 0 at
the ends. If the clusters share structures, variances are `dependence` times as large.

Two models answer the same items, so their errors are correlated. A block b moves the error of a model by

    i_b = error / R × (s_b − R d_b) / Σ d,                             half of it under a root
    var(error − error₁) = m / (m − 1) × Σ_b (i_b − i₁_b)²              over the m blocks b

This is used if each block is one cluster, or if there are `LEAST_BLOCKS`. Else, and over hidden items, whose blocks are
not public because they may be small, the models count as independent: sd² + sd₁², which is rather too wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scoring.choice_sums import ErrorColumn, ModelSums, ReferenceSums, SumGroup

LEAST_BLOCKS = 30
"""With fewer the variance of a difference is not known well; as `scoring.intervals.MIN_INDEPENDENT`."""


@dataclass(frozen=True)
class ColumnError:
    """The error of a model in a column.

    Args:
        deviation: None with fewer than two clusters.
        reference: index of its groups; None for a model without sums.
        influences: by chosen block; empty if blocks are too few, and where the error is at an end.
    """

    value: float
    deviation: float | None
    n_items: int = 0
    n_failed: int = 0
    reference: int | None = None
    influences: tuple[float, ...] = ()


def column_error(column: ErrorColumn, model: str, fits: Callable[[SumGroup], bool]) -> ColumnError:
    """The error of a model over the groups that fit; 1 if it has none."""
    sums = column.models.get(model)
    reference = column.references[sums.reference] if sums else ReferenceSums(())
    chosen = [g for g, group in enumerate(reference.groups) if fits(group)]
    if sums is None or not chosen:
        return ColumnError(1.0, 0.0)
    groups = reference.groups
    s, d = sum(sums.errors[g] for g in chosen), sum(groups[g].trivial for g in chosen)
    counts = sum(groups[g].n_items for g in chosen), sum(sums.failed[g] for g in chosen), sums.reference
    if d <= 0:
        return ColumnError(1.0 if s > 0 else reference.floor, 0.0, *counts)
    ratio = s / d
    error = reference.factor * (math.sqrt(ratio) if column.root else ratio)
    if not reference.floor < error < 1:
        return ColumnError(max(min(error, 1.0), reference.floor), 0.0, *counts)
    n = sum(groups[g].n_clusters for g in chosen)
    if n < 2:
        return ColumnError(error, None, *counts)
    residual = 0.0
    for g in chosen:
        shift = (sums.errors[g] / groups[g].trivial if groups[g].trivial > 0 else ratio) - ratio
        residual += sums.spreads[g] + 2 * shift * sums.slopes[g] + shift * shift * groups[g].trivial_squares
    slope = error / ratio * (0.5 if column.root else 1.0) * math.sqrt(reference.dependence)
    deviation = slope * math.sqrt(max(residual, 0.0) * n / (n - 1)) / d
    return ColumnError(error, deviation, *counts, _influences(sums, reference, chosen, ratio, slope / d, n))


def _influences(
    sums: ModelSums, reference: ReferenceSums, chosen: list[int], ratio: float, scale: float, n_clusters: int
) -> tuple[float, ...]:
    blocks = [b for b, group in enumerate(reference.block_groups) if group in chosen]
    if len(blocks) < min(n_clusters, LEAST_BLOCKS):
        return ()
    return tuple(scale * (sums.block_errors[b] - ratio * reference.block_trivial[b]) for b in blocks)


def difference_deviation(one: ColumnError, other: ColumnError) -> float | None:
    """The standard deviation of the difference of two errors in one column; None if that of one is not known."""
    if one.deviation is None or other.deviation is None:
        return None
    if not (one.influences and other.influences and one.reference == other.reference):
        return math.sqrt(one.deviation * one.deviation + other.deviation * other.deviation)
    squares = sum((a - b) * (a - b) for a, b in zip(one.influences, other.influences, strict=True))
    m = len(one.influences)
    return math.sqrt(squares * m / (m - 1))
