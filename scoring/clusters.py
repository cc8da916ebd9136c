"""Sums and counts of a metric by cluster, from which it is resampled.

Frames of one trajectory resemble one another. So clusters (trajectories, parent structures, compositions) are drawn
again, never single frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ScoringError
from scoring.shared_structures import SharedErrors
from scoring.studentised import binomial_interval
from scoring.tree import Float, Key

ROUNDING = 1e-9
SMALLEST_BASELINE = 1e-12  # of a cluster, relative to the largest: a smaller one counts as much


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """One metric of one model: scale · (Σ sums / Σ counts) ** power.

    Args:
        clusters: C distinct names; the same name is the same cluster for every metric and model of the task.
        sums: (C,) of what is averaged, such as squared errors, with the costs of failed items; inf if an error has no
            bound.
        counts: (C,) of items, or of force components; 0 if this model or label set has none in the cluster.
        power: 0.5 for a root mean square.
        scale: to the unit of the metric.
        limit: the largest mean that is possible, such as the cost of a failed item.
        shared: the errors of the items, if these share structures across clusters.
        baseline: (C,) `sums` of the trivial model on the same items; None: the baseline is not computed from these.
        absolute: the metric itself, if this is its multiple of the baseline; see `relative`.
        failed: (C,) the counts of failed items; None: of the clusters whose mean is `worst`.
        worst: the mean of failed items: `limit` if None, 0 for a score. Without a limit no item fails.

    Raises:
        ScoringError: a name is given twice, shapes differ, NaN, no item at all, a sum without a count, a root of a
            negative number, a baseline that is no error.
    """

    task: str
    metric: str
    clusters: Sequence[str]
    sums: Float
    counts: Float
    power: float = 1.0
    scale: float = 1.0
    limit: float = np.inf
    shared: SharedErrors | None = None
    baseline: Float | None = None
    absolute: ClusterSums | None = None
    failed: Float = None  # type: ignore[assignment]
    worst: float = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        object.__setattr__(self, "clusters", tuple(self.clusters))
        object.__setattr__(self, "sums", np.asarray(self.sums, np.float64))
        object.__setattr__(self, "counts", np.asarray(self.counts, np.float64))
        if fault := _fault(self):
            raise ScoringError(f"task {self.task}: {self.metric}: {fault}")
        worst = self.limit if self.worst is None else self.worst
        failed = failed_counts(self.sums, self.counts, worst) if self.failed is None else self.failed
        object.__setattr__(self, "worst", worst)
        object.__setattr__(self, "failed", failed)

    @property
    def key(self) -> Key:
        return self.task, self.metric

    @property
    def value(self) -> float:
        """The metric on the test set itself."""
        return float(self._metric(self.sums.sum(), self.counts.sum()))

    @property
    def n_clusters(self) -> int:
        """The number of clusters with items."""
        return int(np.count_nonzero(self.counts))

    @property
    def n_independent(self) -> float:
        """The number of independent items: of clusters, or fewer if these share structures."""
        return float(self.n_clusters if self.shared is None else min(self.n_clusters, self.shared.n_independent))

    @property
    def mean(self) -> float:
        """What the metric is a root or a multiple of."""
        return float(self.sums.sum() / self.counts.sum())

    @property
    def relative(self) -> ClusterSums | None:
        """The metric as a multiple of the baseline: its counts are the sums of the trivial model.

        On the test set it has the same value. None if the baseline is not computed from these clusters, or if the
        items share structures: then other errors of the same items are drawn, and their baseline is the same.
        """
        if self.baseline is None or self.n_independent < self.n_clusters:
            return None
        least = SMALLEST_BASELINE * self.baseline.max()
        counts = np.where(self.counts > 0, np.maximum(self.baseline, least), 0.0)
        scale = self.scale * float(counts.sum() / self.counts.sum()) ** self.power
        return replace(self, counts=counts, scale=scale, limit=np.inf, shared=None, baseline=None, absolute=self)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The lowest and the highest draw of the mean, see `binomial_interval`; None if there is no largest mean."""
        if self.absolute is not None:
            bounds, counts = self.absolute.bounds, float(self.absolute.counts.sum() / self.counts.sum())
            return None if bounds is None else (bounds[0] * counts, bounds[1] * counts)
        if np.isinf(self.limit) or (self.sums < 0).any():
            return None
        n_effective = float(self.counts.sum() ** 2 / (self.counts @ self.counts))
        low, high = binomial_interval(self.mean / self.limit, n_effective)
        return low * self.limit, high * self.limit

    @property
    def lost(self) -> Float:
        """(C,) the part of `counts` that is of failed items."""
        return self.failed if self.absolute is None else self.counts * _shares(self.failed, self.absolute.counts)

    @property
    def failed_clusters(self) -> tuple[str, ...]:
        """The clusters with failed items."""
        return tuple(sorted(name for name, failed in zip(self.clusters, self.failed.tolist(), strict=True) if failed))

    @property
    def independent_size(self) -> float:
        """The counts of an independent item, of which clusters may have several."""
        counts = (self.absolute or self).counts
        return float(counts @ counts / counts.sum())

    @property
    def count_per_item(self) -> float:
        """Of `counts`, for each one of the metric itself: 1, or the mean baseline; see `relative`."""
        return float(self.counts.sum() / (self.absolute or self).counts.sum())

    @property
    def answered(self) -> ClusterSums | None:
        """The metric without its failed items; None if all failed."""
        failed = self.failed
        if not failed.any():
            return self
        items = (self.absolute or self).counts
        left = _shares(failed, items) < 1.0 - ROUNDING
        if not (self.counts * left).any():
            return None
        return replace(
            self,
            sums=np.where(left, np.maximum(self.sums - self.worst * failed, 0.0), 0.0),
            counts=np.where(left, self.counts - self.lost, 0.0),
            baseline=None,
            absolute=None if self.absolute is None else self.absolute.answered,
            failed=np.zeros(len(failed)),
        )

    def of_means(self, means: Float) -> Float:
        """(B,) the metric of means (B,)."""
        return np.asarray(self.scale * means**self.power)

    def resampled(self, sums: Float, counts: Float) -> Float:
        """(B,) the metric from its sums and counts (B,); `value` where a resample has none of its items."""
        drawn = counts > 0
        if drawn.all():
            return self._metric(sums, counts)
        return np.where(drawn, self._metric(sums, np.where(drawn, counts, 1.0)), self.value)

    def _metric(self, sums: Float | np.float64, counts: Float | np.float64) -> Float:
        return np.asarray(self.scale * (sums / counts) ** self.power)


def failed_counts(sums: Float, counts: Float, worst: float) -> Float:
    """(…,) the counts where sums are those of failed items, whose mean is `worst`; 0 elsewhere."""
    if np.isinf(worst):
        return np.zeros_like(counts)
    return np.where((counts > 0) & (np.abs(sums - worst * counts) <= ROUNDING * worst * counts), counts, 0.0)


def _shares(parts: Float, wholes: Float) -> Float:
    """(C,) parts of the wholes; 0 where there is nothing."""
    return np.divide(parts, wholes, out=np.zeros(len(parts)), where=wholes > 0)


class Clusters(NamedTuple):
    """The clusters of n items: their names in alphabetical order, and (n,) the number of each item's among them."""

    names: tuple[str, ...]
    of_items: NDArray[np.intp]

    @classmethod
    def of(cls, clusters: Sequence[str]) -> Clusters:
        """From the name of each item's cluster; by hashing, which is faster than sorting all items."""
        names = tuple(sorted(set(clusters)))
        number = {name: i for i, name in enumerate(names)}
        return cls(names, np.array([number[name] for name in clusters], np.intp))


def cluster_sums(
    task: str,
    metric: str,
    clusters: Clusters,
    sums: Float,
    counts: Float,
    power: float = 1.0,
    scale: float = 1.0,
    limit: float = np.inf,
    shared: SharedErrors | None = None,
    baseline: Float | None = None,
    worst: float | None = None,
) -> ClusterSums:
    """The statistics of a metric from its items.

    Args:
        clusters: of the n items.
        sums: (n,) by item.
        counts: (n,) by item.
        baseline: (n,) `sums` of the trivial model.
        worst: the mean of failed items, as in `ClusterSums`.

    Raises:
        ScoringError: lengths differ, or see `ClusterSums`.
    """
    names, numbers = clusters
    if not sums.shape == counts.shape == numbers.shape:
        raise ScoringError(
            f"task {task}: {metric}: {len(numbers)} items have sums of shape {sums.shape} and counts of shape "
            f"{counts.shape}; give one of each per item"
        )

    def folded(values: Float) -> Float:
        return np.bincount(numbers, values, len(names)).astype(np.float64)

    trivial = None if baseline is None else folded(baseline)
    worst = limit if worst is None else worst
    failed = folded(failed_counts(sums, counts, worst))
    return ClusterSums(
        task,
        metric,
        names,
        folded(sums),
        folded(counts),
        power,
        scale,
        limit,
        shared,
        trivial,
        failed=failed,
        worst=worst,
    )


def _fault(stats: ClusterSums) -> str:
    """What is wrong and its remedy; empty if nothing is wrong."""
    n, sums, counts = len(stats.clusters), stats.sums, stats.counts
    if not sums.shape == counts.shape == (n,):
        return f"{n} clusters have sums of shape {sums.shape} and counts of shape {counts.shape}; give one of each"
    if len(set(stats.clusters)) < n:
        return "clusters: a name is given twice; add up its sums and counts"
    if not (sums > -np.inf).all():
        return "sums: NaN; penalise failed items, or leave them out of sum and count"
    if not ((counts >= 0) & (counts < np.inf)).all():
        return "counts: NaN, infinite or negative; count items"
    if not counts.sum() > 0:
        return "counts: no item at all; leave the metric out"
    if (sums[counts == 0] != 0).any():
        return "sums: not 0 where nothing is counted; count the items that are penalised"
    if not (0 < stats.power < np.inf and 0 < stats.scale < np.inf):
        return f"power {stats.power:g}, scale {stats.scale:g}: both must be positive"
    if stats.power != 1 and (sums < 0).any():
        return "sums: negative under a root; sum squares"
    if stats.baseline is not None and not _is_error(stats.baseline, n):
        return "baseline: not positive and finite; leave it out"
    return ""


def _is_error(baseline: Float, n: int) -> bool:
    """Whether these can be the sums of the trivial model over n clusters."""
    return baseline.shape == (n,) and bool((baseline >= 0).all()) and bool(0 < baseline.sum() < np.inf)
