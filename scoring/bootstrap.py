"""Bootstrap resamples of metrics: clusters of items, drawn with replacement.

One draw of the clusters of a task serves all metrics of all models, so that differences between models stay paired: a
cluster that is hard is hard for every model. A sum and a count per cluster are enough (`scoring.clusters`); one matrix
product resamples a whole task. Each resample is studentised (`scoring.studentised`): the middle of resampled values
alone is too narrow. Where items share structures, these are drawn instead (`scoring.shared_structures`).

A metric of a single cluster cannot be resampled. The results leave it out, so it keeps its value. That does not make it
certain; `scoring.intervals` counts such metrics.

Source: Davison and Hinkley, Bootstrap Methods and their Application, Cambridge 1997, chapter 2 and section 3.8.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.clusters import ClusterSums
from scoring.errors import ScoringError
from scoring.shared_structures import about
from scoring.studentised import Totals, studentised
from scoring.tree import Float, Key, Node, Path

Pools = Mapping[Path, Sequence[str]]
METHOD = (
    "studentised on a logarithmic scale within the binomial interval, baselines, shared structures and their failures "
    "redrawn; other sets by a shrunken spread"
)
"""Names how draws are made. It changes whenever their numbers do."""
BLOCK = 4_000_000  # multiplicities held at once: 32 MB
ROWS = 64  # multiplied at once
SMALLEST_RESIDUAL = 1e-12  # relative to the mean; below it, clusters differ by rounding alone


def resample(
    stats: Mapping[str, Iterable[ClusterSums]],
    n_resamples: int,
    rng: np.random.Generator,
    *,
    clusters: Mapping[str, Iterable[str]] | None = None,
    plain: bool = False,
) -> dict[str, dict[Key, Float]]:
    """By model and metric, (n_resamples,) draws of its value; metrics of a single cluster are left out.

    Each draw has as many clusters as the task, and serves all its models and metrics. It depends only on the generator,
    the name of the task and the names of its clusters: not on other models, other tasks or any order. Equal metrics
    have equal values to the last bit.

    Args:
        clusters: by task, clusters in addition to those of the models. Needed if models differ in their clusters and a
            new model must not change the draw.
        plain: True for the values on the redrawn clusters themselves, which are not studentised.

    Raises:
        ScoringError: a metric is given twice.
    """
    seed = seed_of(rng)
    tasks = _by_task(stats)
    resampled: dict[str, dict[Key, Float]] = {model: {} for model in sorted(stats)}
    for task, metrics in tasks.items():
        names = set((clusters or {}).get(task, ())).union(*{tuple(metric.clusters) for _, metric in metrics})
        drawable = [(model, metric) for model, metric in metrics if metric.n_clusters > 1]
        generator = named_generator(seed, "clusters", task)
        summed = [(model, metric) for model, metric in drawable if plain or not _shares(metric)]
        values = _resample_task([metric for _, metric in summed], names, n_resamples, generator, plain)
        for (model, metric), drawn in zip(summed, values, strict=True):
            resampled[model][metric.key] = drawn
        for model, metric in drawable:
            if not plain and _shares(metric):
                resampled[model][metric.key] = _redrawn(metric, n_resamples, seed)
    return resampled


def resample_relative(
    stats: Mapping[str, Iterable[ClusterSums]],
    n_resamples: int,
    rng: np.random.Generator,
    *,
    clusters: Mapping[str, Iterable[str]] | None = None,
) -> dict[str, dict[Key, Float]]:
    """By model and metric, (n_resamples,) draws of its value, each times baseline over redrawn baseline.

    Scores divide by the baseline. Metric and baseline are redrawn with the clusters of `resample`, so that an error
    which is a multiple of the baseline is the same multiple in every draw. Only metrics with a baseline from the same
    clusters, see `ClusterSums.relative`. Arguments as of `resample`.
    """
    ratios = {
        model: [ratio for metric in metrics if (ratio := metric.relative) is not None]
        for model, metrics in stats.items()
    }
    return resample(ratios, n_resamples, rng, clusters=clusters)


def _shares(metric: ClusterSums) -> bool:
    """True if the structures that items share leave fewer independent items than there are clusters."""
    return metric.shared is not None and metric.n_independent < metric.n_clusters


def _redrawn(metric: ClusterSums, n_resamples: int, seed: Sequence[int]) -> Float:
    """(n_resamples,) draws of a metric whose items share structures."""
    if metric.shared is None:
        raise ScoringError(f"task {metric.task}: {metric.metric}: the items share no structures")
    shared, failed = metric.shared, metric.shared.failed
    if failed.all():
        return np.full(n_resamples, metric.value)
    n_structures = shared.matrix.shape[1]
    picks = named_generator(seed, "structures", metric.task).integers(0, n_structures, (n_structures, n_resamples))
    means = about(shared.mean, shared.redrawn(picks), metric.limit)
    if failed.any():
        names, sizes = tuple(map(str, range(len(failed)))), shared.unit_sizes()
        failures = ClusterSums(metric.task, metric.metric, names, sizes * failed, sizes, limit=1.0)
        generator = named_generator(seed, "failures", metric.task)
        (share,) = _resample_task([failures], names, n_resamples, generator, plain=False)
        means = share * metric.limit + (1.0 - share) * means
    return metric.of_means(means)


def pools(trees: Iterable[Node]) -> dict[Path, tuple[str, ...]]:
    """The units of each pool, by its path, over all trees; with nested pools, a unit belongs to the innermost.

    Raises:
        ScoringError: a unit is in two pools.
    """
    units: dict[Path, set[str]] = {}
    for tree in trees:
        _add_pools(tree, (), None, units)
    pool_of: dict[str, Path] = {}
    for path in sorted(units):
        for unit in units[path]:
            if pool_of.setdefault(unit, path) != path:
                names = [" / ".join(p) for p in (pool_of[unit], path)]
                raise ScoringError(f"task {unit}: in two pools, {names[0]} and {names[1]}; it can be drawn in one only")
    return {path: tuple(sorted(units[path])) for path in sorted(units)}


def seed_of(rng: np.random.Generator) -> list[int]:
    """The seed that the generators of `named_generator` share."""
    return [int(word) for word in rng.integers(0, 2**32, 4)]


def named_generator(seed: Sequence[int], *name: str) -> np.random.Generator:
    """A generator that depends only on the seed and the name, not on other draws."""
    digest = hashlib.sha256("\0".join(name).encode()).digest()
    return np.random.default_rng([*seed, *np.frombuffer(digest, "<u4").tolist()])


def _by_task(stats: Mapping[str, Iterable[ClusterSums]]) -> dict[str, list[tuple[str, ClusterSums]]]:
    """By task, its metrics, each with its model, in alphabetical order."""
    by_key: dict[tuple[str, Key], ClusterSums] = {}
    for model in stats:
        for metric in stats[model]:
            if by_key.setdefault((model, metric.key), metric) is not metric:
                raise ScoringError(f"task {metric.task}: {metric.metric}: twice for model {model}; give it once")
    tasks: dict[str, list[tuple[str, ClusterSums]]] = {}
    for (model, _), metric in sorted(by_key.items(), key=lambda item: item[0]):
        tasks.setdefault(metric.task, []).append((model, metric))
    return tasks


def _add_pools(node: Node, above: Path, pool: Path | None, units: dict[Path, set[str]]) -> None:
    path = (*above, node.name)
    if node.unit and pool is not None:
        units.setdefault(pool, set()).add(node.unit)
    inner = path if node.pool else pool
    for part in node.parts:
        _add_pools(part, path, inner, units)


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


def _resample_task(
    metrics: Sequence[ClusterSums], clusters: Iterable[str], n_resamples: int, rng: np.random.Generator, plain: bool
) -> list[Float]:
    """(n_resamples,) for each of the metrics of one task."""
    if not metrics:
        return []
    rows = _Rows(clusters)
    sorts = [_Plain if plain or np.isinf(metric.sums).any() else _Studentised for metric in metrics]
    made = [sort.of(metric, rows) for sort, metric in zip(sorts, metrics, strict=True)]
    totals = rows.resampled(n_resamples, rng)
    return [each.values(totals) for each in made]


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

    def values(self, totals: Float) -> Float:
        sums = totals[self.finite]
        if self.infinite is not None:
            sums = np.where(totals[self.infinite] > 0, np.inf, sums)
        return self.metric.resampled(sums, totals[self.counts])


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

    def values(self, totals: Float) -> Float:
        metric, unit = self.metric, self.largest
        if not unit:
            return np.full(totals.shape[1], metric.value)
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
        return metric.of_means(unit * means)
