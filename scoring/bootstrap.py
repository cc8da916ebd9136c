"""Bootstrap resamples of metrics: clusters of items, drawn with replacement.

One draw of the clusters of a task serves all metrics of all models, so that differences between models stay paired: a
cluster that is hard is hard for every model. A sum and a count per cluster are enough (`scoring.clusters`); one matrix
product resamples a whole task. Each resample is studentised (`scoring.studentised`): the middle of resampled values
alone is too narrow. Failures are drawn beside it, since a resample that misses the few failures has no standard error
of its own, and each draw has failures that the items do not show (`scoring.unseen_failures`). Where items share
structures, these are drawn instead (`scoring.shared_structures`).

A metric of a single cluster cannot be resampled. The results leave it out, so it keeps its value. That does not make it
certain; `scoring.intervals` counts such metrics.

Source: Davison and Hinkley, Bootstrap Methods and their Application, Cambridge 1997, chapter 2 and section 3.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scoring.clusters import ClusterSums
from scoring.errors import ScoringError
from scoring.evaluation import Metrics
from scoring.named_generators import named_generator, seed_of
from scoring.redrawn_clusters import Draws, redrawn
from scoring.shared_structures import about
from scoring.tree import Float, Key, Node, Path
from scoring.unseen_failures import UnseenFailures

Pools = Mapping[Path, Sequence[str]]
METHOD = (
    "studentised on a logarithmic scale within the binomial interval, baselines and shared structures redrawn; "
    "failures drawn beside it, and half a failure that was not seen; other sets by a shrunken spread"
)
"""Names how draws are made. It changes whenever their numbers do."""


class ItemDraws(NamedTuple):
    """By model and metric, (B,) draws of its value on redrawn items.

    Args:
        values: with the failures of the items drawn.
        with_unseen: with failures that the items do not show, too; see `scoring.unseen_failures`.
        for_order: that models are ordered by.
    """

    values: Mapping[str, Metrics]
    with_unseen: Mapping[str, Metrics]
    for_order: Mapping[str, Metrics]

    @classmethod
    def same(cls, values: Mapping[str, Metrics]) -> ItemDraws:
        """Draws of metrics that have no failures."""
        return cls(values, values, values)

    def __or__(self, others: ItemDraws) -> ItemDraws:
        """These, and those of other models."""
        return ItemDraws(*({**mine, **more} for mine, more in zip(self, others, strict=True)))


def resample(
    stats: Mapping[str, Iterable[ClusterSums]],
    n_resamples: int,
    rng: np.random.Generator,
    *,
    clusters: Mapping[str, Iterable[str]] | None = None,
    plain: bool = False,
) -> ItemDraws:
    """(n_resamples,) draws of each metric of each model; metrics of a single cluster are left out.

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
    resampled: list[dict[str, dict[Key, Float]]] = [{model: {} for model in sorted(stats)} for _ in ItemDraws._fields]
    for task, metrics in _by_task(stats).items():
        names = set((clusters or {}).get(task, ())).union(*{tuple(metric.clusters) for _, metric in metrics})
        drawable = [(model, metric) for model, metric in metrics if metric.n_clusters > 1]
        generator = named_generator(seed, "clusters", task)
        summed = [(model, metric) for model, metric in drawable if plain or not _shares(metric)]
        unseen = None if plain else UnseenFailures(seed, task, n_resamples)
        draws = redrawn([metric for _, metric in summed], names, n_resamples, generator, unseen)
        sharing = [(model, metric) for model, metric in drawable if not plain and _shares(metric)]
        draws += [_redrawn_structures(metric, n_resamples, seed) for _, metric in sharing]
        for (model, metric), of_metric in zip(summed + sharing, draws, strict=True):
            for by_model, drawn in zip(resampled, of_metric, strict=True):
                by_model[model][metric.key] = drawn
    return ItemDraws(*resampled)


def resample_relative(
    stats: Mapping[str, Iterable[ClusterSums]],
    n_resamples: int,
    rng: np.random.Generator,
    *,
    clusters: Mapping[str, Iterable[str]] | None = None,
) -> ItemDraws:
    """(n_resamples,) draws of each metric of each model, each times baseline over redrawn baseline.

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


def _redrawn_structures(metric: ClusterSums, n_resamples: int, seed: Sequence[int]) -> Draws:
    """(n_resamples,) draws of a metric whose items share structures."""
    if metric.shared is None:
        raise ScoringError(f"task {metric.task}: {metric.metric}: the items share no structures")
    shared, failed = metric.shared, metric.shared.failed
    if failed.all():
        return Draws.same(np.full(n_resamples, metric.value))
    n_structures = shared.matrix.shape[1]
    picks = named_generator(seed, "structures", metric.task).integers(0, n_structures, (n_structures, n_resamples))
    means = about(shared.mean, shared.redrawn(picks), metric.limit)
    if not np.isfinite(metric.limit):
        return Draws.same(metric.of_means(means))
    names, sizes = tuple(map(str, range(len(failed)))), shared.unit_sizes()
    failures = ClusterSums(metric.task, metric.metric, names, sizes * failed, sizes, limit=1.0)
    generator = named_generator(seed, "failures", metric.task)
    (failing,) = redrawn([failures], names, n_resamples, generator, UnseenFailures(seed, metric.task, n_resamples))
    return Draws(*(metric.of_means(share * metric.limit + (1.0 - share) * means) for share in failing))


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
