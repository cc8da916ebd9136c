"""The metrics of one task on redrawn clusters: the rows that each needs, and its draws from their sums.

Clusters are drawn with replacement. One draw of the clusters serves all metrics of all models of the task, so a metric
states rows of numbers over the clusters, one matrix product sums all rows over the clusters drawn, and the metric
computes its draws from these sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.clusters import ClusterSums
from scoring.studentised import Totals, studentised
from scoring.tree import Float
from scoring.unseen_failures import UnseenFailures

BLOCK = 4_000_000  # multiplicities held at once: 32 MB
ROWS = 64  # multiplied at once
SMALLEST_RESIDUAL = 1e-12  # relative to the mean; below it, clusters differ by rounding alone


class Draws(NamedTuple):
    """(B,) draws of a metric: with the failures of the items drawn, with unseen ones too, and for an order.

    They are one array where no item can fail; see `scoring.unseen_failures`.
    """

    values: Float
    with_unseen: Float
    for_order: Float

    @classmethod
    def same(cls, values: Float) -> Draws:
        """Draws of a metric that has no failures."""
        return cls(values, values, values)


def redrawn(
    metrics: Sequence[ClusterSums],
    clusters: Iterable[str],
    n_resamples: int,
    rng: np.random.Generator,
    unseen: UnseenFailures | None,
) -> list[Draws]:
    """(n_resamples,) draws of each metric of one task.

    Args:
        clusters: the names of all clusters of the task.
        unseen: None for the values on the redrawn clusters themselves.
    """
    if not metrics:
        return []
    rows = _Rows(clusters)
    made = [_rows_of(metric, rows, unseen) for metric in metrics]
    totals = rows.resampled(n_resamples, rng)
    return [each.draws(totals) for each in made]


def _rows_of(metric: ClusterSums, rows: _Rows, unseen: UnseenFailures | None) -> _Plain | _Studentised | _WithFailures:
    if unseen is None or np.isinf(metric.sums).any():
        return _Plain.of(metric, rows)
    if np.isinf(metric.worst):
        return _Studentised.of(metric, rows)
    return _WithFailures.of(metric, rows, unseen)


def _multiplicities(n: int, n_resamples: int, rng: np.random.Generator) -> Float:
    """(n_resamples, n) how often each of n was drawn in n draws."""
    picks = rng.integers(0, n, (n_resamples, n))
    picks += n * np.arange(n_resamples)[:, np.newaxis]
    return np.bincount(picks.ravel(), minlength=n_resamples * n).reshape(n_resamples, n).astype(np.float64)


class _Rows:
    """Distinct rows over the clusters of a task. Equal rows are summed once: faster, and equal to the last bit."""

    def __init__(self, clusters: Iterable[str]) -> None:
        self._column = {name: column for column, name in enumerate(sorted(clusters))}
        self._columns: dict[Sequence[str], NDArray[np.intp]] = {}
        self._number: dict[bytes, int] = {}
        self.rows: list[Float] = []

    def add(self, clusters: Sequence[str], values: Float) -> int:
        """The number of the row with these values at these clusters, 0 elsewhere."""
        if clusters not in self._columns:
            self._columns[clusters] = np.array([self._column[name] for name in clusters], np.intp)
        row = np.zeros(len(self._column))
        row[self._columns[clusters]] = values
        number = self._number.setdefault(row.tobytes(), len(self.rows))
        if number == len(self.rows):
            self.rows.append(row)
        return number

    def resampled(self, n_resamples: int, rng: np.random.Generator) -> Float:
        """(rows, n_resamples) the sum of each row over the clusters drawn.

        BLAS may add in another order if a matrix has another number of rows. So all products have `ROWS` rows, and no
        sum depends on other rows.
        """
        n, k = len(self._column), len(self.rows)
        if not k:
            return np.zeros((0, n_resamples))
        matrices = np.zeros((-(-k // ROWS), ROWS, n))
        matrices.reshape(-1, n)[:k] = self.rows
        step = max(1, BLOCK // n)
        blocks = [min(step, n_resamples - begin) for begin in range(0, n_resamples, step)]
        sums = [matrices @ _multiplicities(n, block, rng).T for block in blocks]
        return np.concatenate(sums, axis=2).reshape(-1, n_resamples)[:k]


class _Plain(NamedTuple):
    """The rows of a metric whose values on the resamples are wanted as they are."""

    metric: ClusterSums
    finite: int
    counts: int
    infinite: int | None

    @classmethod
    def of(cls, metric: ClusterSums, rows: _Rows) -> _Plain:
        unbounded = np.isinf(metric.sums)
        finite = rows.add(metric.clusters, np.where(unbounded, 0.0, metric.sums))
        # 0 · inf is NaN, so clusters with an infinite sum are counted, not summed.
        infinite = rows.add(metric.clusters, unbounded.astype(np.float64)) if unbounded.any() else None
        return cls(metric, finite, rows.add(metric.clusters, metric.counts), infinite)

    def draws(self, totals: Float) -> Draws:
        sums = totals[self.finite]
        if self.infinite is not None:
            sums = np.where(totals[self.infinite] > 0, np.inf, sums)
        return Draws.same(self.metric.resampled(sums, totals[self.counts]))


class _Studentised(NamedTuple):
    """The rows of a metric that is studentised: of u, n, u², and, if counts differ, of u · n and n²."""

    metric: ClusterSums
    mean: float
    largest: float
    residuals: Float
    rows: tuple[int, ...]

    @classmethod
    def of(cls, metric: ClusterSums, rows: _Rows) -> _Studentised:
        mean, counts = metric.mean, metric.counts
        residuals = metric.sums - mean * counts
        largest = float(np.abs(residuals).max())
        if largest <= SMALLEST_RESIDUAL * abs(mean):
            return cls(metric, mean, 0.0, residuals, ())
        residuals = residuals / largest
        values = [residuals, counts, residuals**2]
        if np.ptp(counts[counts > 0]):
            values += [residuals * counts, counts**2]
        return cls(metric, mean, largest, residuals, tuple([rows.add(metric.clusters, each) for each in values]))

    def draws(self, totals: Float) -> Draws:
        return Draws.same(self.metric.of_means(self.means(totals)))

    def means(self, totals: Float) -> Float:
        """(B,) draws of the mean, of which the metric is a root or a multiple."""
        metric, unit = self.metric, self.largest
        if not unit:
            return np.full(totals.shape[1], self.mean)
        chosen = metric.counts > 0
        drawn = Totals(*[totals[row] for row in self.rows])
        residuals, counts = self.residuals[chosen], metric.counts[chosen]
        means = studentised(self.mean / unit, residuals, counts, drawn, metric.limit / unit)
        if bounds := metric.bounds:
            low, high = bounds[0] / unit, bounds[1] / unit
            if metric.absolute is not None:  # the baseline is uncertain, too
                baseline = drawn.n / counts.sum()
                low, high = low * np.minimum(baseline, 1.0), high * np.maximum(baseline, 1.0)
            means = np.clip(means, low, high)
        return np.asarray(unit * means)


class _WithFailures(NamedTuple):
    """The rows of a metric that failures may raise: of the clusters without what failed, and of what failed.

    Args:
        answered: the metric without its failures.
        counts, lost, failed: the rows of its counts, of the counts of failures, and of their number.
        added: (B,) the number of unseen failures.
        added_for_order: (B,) the number that is added in an order; None if nothing failed: none is added.
        unknown: (B,) the mean that failed items could have had, in an order.
        weight: the weight of `unknown` in the mean without failures; see `scoring.unseen_failures`.
    """

    metric: ClusterSums
    answered: _Studentised
    counts: int
    lost: int
    failed: int
    added: Float
    added_for_order: Float | None = None
    unknown: Float = np.zeros(1)
    weight: float = 0.0

    @classmethod
    def of(cls, metric: ClusterSums, rows: _Rows, unseen: UnseenFailures) -> _Studentised | _WithFailures:
        answered = metric.answered
        if answered is None:
            return _Studentised.of(metric, rows)
        counts, lost, failed = (rows.add(metric.clusters, row) for row in (metric.counts, metric.lost, metric.failed))
        clusters, size = metric.failed_clusters, metric.independent_size
        made = cls(metric, _Studentised.of(answered, rows), counts, lost, failed, size * unseen.beside(clusters))
        if not clusters:
            return made
        chosen = np.flatnonzero(answered.counts)
        means = answered.sums[chosen] / answered.counts[chosen]
        return made._replace(
            added_for_order=size * unseen.beside_for_order(clusters),
            unknown=means[unseen.stand_ins(clusters, len(chosen))].mean(axis=1),
            weight=min(1.0, 2.0 * float(metric.lost.sum() / metric.counts.sum())),
        )

    def draws(self, totals: Float) -> Draws:
        answered = self.answered.means(totals)
        values = self._values(totals, answered, np.zeros(1))
        with_unseen = self._values(totals, answered, self.added)
        if self.added_for_order is None:
            return Draws(values, with_unseen, values)
        likely = (1.0 - self.weight) * answered + self.weight * self.unknown
        return Draws(values, with_unseen, self._values(totals, likely, self.added_for_order))

    def _values(self, totals: Float, answered: Float, added: Float) -> Float:
        """(B,) the metric, from the mean of what was answered and the number of failures that is added."""
        metric, counts, failed_items = self.metric, totals[self.counts], totals[self.failed]
        failed = np.maximum(failed_items + added, 0.0)
        sums = answered * (counts - totals[self.lost]) + metric.worst * failed
        total = counts + (failed - failed_items) * metric.count_per_item
        means = np.divide(sums, total, out=np.array(answered), where=total > 0)
        return metric.of_means(np.where(counts > 0, means, metric.mean))
