"""Metrics as they would have been on other test sets: clusters, and whole test sets, drawn anew with replacement.

One draw of the clusters of a task serves all metrics of all models: what is hard in it is hard for everyone, and
differences stay paired. A sum and a count per cluster are enough for that (`scoring.clusters`), and one product of
matrices does a whole task.

What cannot be drawn is left out of what comes back, and so keeps its own value: a metric of a single cluster, a pool of
a single unit. It is not certain for that; `scoring.intervals` says so.

Source: Davison and Hinkley, Bootstrap Methods and their Application, Cambridge 1997, chapter 2 and section 3.8.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scoring.clusters import ClusterSums
from scoring.errors import ScoringError
from scoring.tree import Float, Key, Node, Path

Pools = Mapping[Path, Sequence[str]]
BLOCK = 4_000_000  # multiplicities held at once: 32 MB


def resample(
    stats: Mapping[str, Iterable[ClusterSums]],
    n_resamples: int,
    rng: np.random.Generator,
    *,
    clusters: Mapping[str, Iterable[str]] | None = None,
) -> dict[str, dict[Key, Float]]:
    """By model and metric, (n_resamples,) its values on redrawn clusters; metrics of a single cluster are left out.

    As many clusters as a task has are drawn, once for all its models and metrics. The draw hangs on the generator, the
    name of the task and the names of its clusters alone: neither other models nor other tasks nor any order change it.
    Equal metrics have equal values to the last bit.

    Args:
        clusters: all clusters by task, beside those that the models have. To be given where models differ in their
            clusters and a new one must not change the draw.

    Raises:
        ScoringError: a metric twice.
    """
    seed = seed_of(rng)
    tasks = _by_task(stats)
    resampled: dict[str, dict[Key, Float]] = {model: {} for model in sorted(stats)}
    for task, found in tasks.items():
        universe = set((clusters or {}).get(task, ())).union(*{tuple(metric.clusters) for _, metric in found})
        drawable = [(model, metric) for model, metric in found if metric.n_clusters > 1]
        generator = named_generator(seed, "clusters", task)
        values = _resample_task([metric for _, metric in drawable], universe, n_resamples, generator)
        for (model, metric), own in zip(drawable, values, strict=True):
            resampled[model][metric.key] = own
    return resampled


def pools(trees: Iterable[Node]) -> dict[Path, tuple[str, ...]]:
    """The units of each pool, by its path, over all trees; a unit of nested pools belongs to the innermost.

    Raises:
        ScoringError: a unit in two pools.
    """
    found: dict[Path, set[str]] = {}
    for tree in trees:
        _find_pools(tree, (), None, found)
    owner: dict[str, Path] = {}
    for path in sorted(found):
        for unit in found[path]:
            if owner.setdefault(unit, path) != path:
                names = [" / ".join(p) for p in (owner[unit], path)]
                raise ScoringError(f"task {unit}: in two pools, {names[0]} and {names[1]}; it can be drawn in one only")
    return {path: tuple(sorted(found[path])) for path in sorted(found)}


def draw_units(pools: Pools, n_resamples: int, rng: np.random.Generator) -> dict[str, Float]:
    """By unit, (n_resamples,) how often it was drawn; as many as a pool has are drawn from it, with replacement.

    Pools of a single unit are left out. The draw hangs on the generator, the path and the units of the pool alone.
    """
    seed = seed_of(rng)
    drawn: dict[str, Float] = {}
    for path in sorted(pools):
        units = sorted(set(pools[path]))
        if len(units) > 1:
            times = _multiplicities(len(units), n_resamples, named_generator(seed, "units", *path))
            drawn.update(zip(units, np.ascontiguousarray(times.T), strict=True))
    return drawn


def seed_of(rng: np.random.Generator) -> list[int]:
    """What the generators of `named_generator` have in common."""
    return [int(word) for word in rng.integers(0, 2**32, 4)]


def named_generator(seed: Sequence[int], *name: str) -> np.random.Generator:
    """A generator that hangs on seed and name alone, whatever else is drawn."""
    digest = hashlib.sha256("\0".join(name).encode()).digest()
    return np.random.default_rng([*seed, *np.frombuffer(digest, "<u4").tolist()])


def _by_task(stats: Mapping[str, Iterable[ClusterSums]]) -> dict[str, list[tuple[str, ClusterSums]]]:
    """By task, its metrics with the model that each is of, in alphabetical order."""
    found: dict[tuple[str, Key], ClusterSums] = {}
    for model in stats:
        for metric in stats[model]:
            if found.setdefault((model, metric.key), metric) is not metric:
                raise ScoringError(f"task {metric.task}: {metric.metric}: twice for model {model}; give it once")
    tasks: dict[str, list[tuple[str, ClusterSums]]] = {}
    for (model, _), metric in sorted(found.items(), key=lambda item: item[0]):
        tasks.setdefault(metric.task, []).append((model, metric))
    return tasks


def _find_pools(node: Node, path: Path, pool: Path | None, found: dict[Path, set[str]]) -> None:
    own = (*path, node.name)
    if node.unit and pool is not None:
        found.setdefault(pool, set()).add(node.unit)
    inner = own if node.pool else pool
    for part in node.parts:
        _find_pools(part, own, inner, found)


def _multiplicities(n: int, n_resamples: int, rng: np.random.Generator) -> Float:
    """(n_resamples, n) how often each of n came when n were drawn."""
    picks = rng.integers(0, n, (n_resamples, n))
    picks += n * np.arange(n_resamples)[:, np.newaxis]
    return np.bincount(picks.ravel(), minlength=n_resamples * n).reshape(n_resamples, n).astype(np.float64)


class _Rows:
    """Distinct rows over the clusters of a task. Equal ones are summed once: faster, and equal to the last bit."""

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
        """(rows, n_resamples) the sum of each row over the clusters drawn."""
        n, matrix = len(self._column), np.array(self.rows)
        step = max(1, BLOCK // n)
        blocks = [min(step, n_resamples - begin) for begin in range(0, n_resamples, step)]
        return np.concatenate([matrix @ _multiplicities(n, block, rng).T for block in blocks], axis=1)


def _resample_task(
    metrics: Sequence[ClusterSums], clusters: Iterable[str], n_resamples: int, rng: np.random.Generator
) -> list[Float]:
    """(n_resamples,) for each of the metrics of one task."""
    if not metrics:
        return []
    rows = _Rows(clusters)
    numbers = []
    for metric in metrics:
        unbounded = np.isinf(metric.sums)
        finite = rows.add(metric.clusters, np.where(unbounded, 0.0, metric.sums))
        # 0 · inf is NaN: clusters without bound are counted, not summed.
        infinite = rows.add(metric.clusters, unbounded.astype(np.float64)) if unbounded.any() else None
        numbers.append((finite, rows.add(metric.clusters, metric.counts), infinite))
    totals = rows.resampled(n_resamples, rng)
    values = []
    for metric, (finite, counts, infinite) in zip(metrics, numbers, strict=True):
        sums = totals[finite] if infinite is None else np.where(totals[infinite] > 0, np.inf, totals[finite])
        values.append(metric.resampled(sums, totals[counts]))
    return values
