"""The metrics of all submissions on resampled clusters, from the items tables of their results."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np

from judge.ranking.interval_cache import IntervalCache, key_of
from judge.ranking.score_inputs import Judged
from judge.ranking.score_trees import ScoredTree
from judge.ranking.submission_scores import SubmissionScores
from judge.records.items_file import items_path
from judge.records.records import Result
from scoring import ScoringError
from scoring.bootstrap import METHOD, ItemDraws, resample, resample_relative
from scoring.clusters import Clusters, ClusterSums, cluster_sums
from scoring.shared_structures import Loss, SharedErrors, Terms
from scoring.tree import Float, Key
from tasks.kinds.registry import KINDS
from tasks.metrics.contributions import Contributing, Contribution
from tasks.metrics.measurement import Items
from tasks.metrics.metric import ROUNDING, Metric

N_RESAMPLES = 1000
SEED = 0  # the same records give the same pages
AGREEMENT = 1e-6
"""The largest relative difference between a metric computed from the items and the stored one."""


class ScoredResult(NamedTuple):
    """A result, those of its metrics that a tree contains, and the name of the kind whose arithmetic they follow."""

    result: Result
    metrics: Mapping[str, Metric]
    kind: str


class ClusterStatistics:
    """The metrics of all submissions on resampled clusters.

    The clusters of all results of a task are drawn together. The cache has their names, so an items table is read only
    if its resamples are needed. A metric that cannot be resampled is left out, with a line in `judged.problems`.
    """

    def __init__(self, judged: Judged, scores: Mapping[str, SubmissionScores], cache: IntervalCache) -> None:
        self._judged, self._cache = judged, cache
        self._own = {id: each.clusters for id, each in scores.items()}
        self._results = {id: tuple(scored_results(judged, id, each.trees.values())) for id, each in scores.items()}
        self._sums: dict[Key, list[ClusterSums]] = {}
        self._keys: dict[Key, str | None] = {}
        self._resampled, self._relative = ItemDraws({}, {}, {}), ItemDraws({}, {}, {})
        lists = set(chain(*(self._names_of(id, each.made_from) for id, each in scores.items())))
        lists.update(*(each.names for each in self._own.values()))
        self._clusters: dict[str, set[str]] = {}
        for task, names in lists:
            self._clusters.setdefault(task, set()).update(json.loads(names))
        self._draws = {task: key_of(sorted(clusters)) for task, clusters in self._clusters.items()}

    def resampled(self, ids: Iterable[str]) -> ItemDraws:
        """(N_RESAMPLES,) values on the resamples; of more than these submissions."""
        stats = {id: self._stats_of(id) for id in ids if id not in self._resampled.values}
        self._resampled |= resample(stats, N_RESAMPLES, np.random.default_rng(SEED), clusters=self._clusters)
        return self._resampled

    def relative(self, ids: Iterable[str]) -> ItemDraws:
        """The same for metrics whose baseline is redrawn too: see `scoring.bootstrap.resample_relative`."""
        stats = {id: self._stats_of(id) for id in ids if id not in self._relative.values}
        self._relative |= resample_relative(stats, N_RESAMPLES, np.random.default_rng(SEED), clusters=self._clusters)
        return self._relative

    def independent(self, id: str) -> dict[Key, float]:
        """By metric of a submission, the number of independent items that it is measured on."""
        return {metric.key: metric.n_independent for metric in self._stats_of(id)}

    def counted(self, id: str, drawn: Mapping[Key, Float]) -> dict[Key, Float]:
        """The draws of a submission as scores count them: none is below the uncertainty of the references."""
        least = self._uncertainties(id)
        return {
            key: np.where(values <= least[key] * (1 + ROUNDING), least[key], values) if key in least else values
            for key, values in drawn.items()
        }

    def _uncertainties(self, id: str) -> dict[Key, float]:
        return {
            (result.task, name): metric.reference_uncertainty
            for result, metrics, _ in self._results[id]
            for name, metric in metrics.items()
            if metric.reference_uncertainty is not None
        }

    def key(self, id: str, tree: ScoredTree, *others: object) -> str | None:
        """The key of what is computed from a tree and its resamples; None if it must not be kept.

        Args:
            others: all else that it is computed from.
        """
        tasks = sorted({task for task, _ in tree.shape.keys})
        tables, draws = [self._keys.get((id, task), "") for task in tasks], [self._draws.get(task) for task in tasks]
        least = self._uncertainties(id)
        stated = (sorted((*key, value) for key, value in least.items()),) if least else ()
        return (
            None
            if None in tables
            else key_of(METHOD, tree.digest, tables, draws, *stated, self._own[id].digest, *others)
        )

    def _names_of(self, id: str, made_from: str) -> list[tuple[str, bytes]]:
        """The names of the clusters of each result of a submission, as JSON, with the task.

        Args:
            made_from: the key of its scores; empty if it has none.
        """
        key, results, cache = made_from and key_of("clusters", made_from), self._results[id], self._cache
        known: list[tuple[str, str, str]] = json.loads((key and cache.get(key)) or b"[]")
        if known and all(cache.get(kept) and cache.get(names) for _, kept, names in known):
            self._keys.update({(id, task): kept for task, kept, _ in known})
            return [(task, cache.get(names)) for task, _, names in known]
        lists = [(each.result.task, self._names(each)) for each in results]
        keys = [self._keys[id, task] for task, _ in lists]
        if key and None not in keys:
            named = [(task, kept, key_of(names.decode())) for kept, (task, names) in zip(keys, lists, strict=True)]
            cache.put(key, json.dumps(named).encode())
        return lists

    def _names(self, scored: ScoredResult) -> bytes:
        """The names of the clusters of a result, as JSON."""
        result, cache = scored.result, self._cache
        path = items_path(result.submission, result.task, result.result_key)
        stamp = cache.stamps.get(path)
        metrics = {name: vars(metric) for name, metric in scored.metrics.items()}
        key = key_of(path, stamp, scored.kind, metrics) if stamp else None
        names = key and cache.get(cache.get(key).decode())
        if not names:
            sums = self._sums_of(scored)
            names = json.dumps(sums[0].clusters if sums else ()).encode()
            if len(sums) < len(metrics):  # the next build has to report the problem too
                key = None
            if key:
                names_key = key_of(names.decode())
                cache.put(key, names_key.encode())
                cache.put(names_key, names)
        self._keys[result.submission, result.task] = key
        return names

    def _stats_of(self, id: str) -> list[ClusterSums]:
        return [*self._own[id].sums(), *chain(*map(self._sums_of, self._results[id]))]

    def _sums_of(self, scored: ScoredResult) -> list[ClusterSums]:
        unit = scored.result.submission, scored.result.task
        if unit not in self._sums:
            self._sums[unit] = cluster_sums_of(self._judged, scored)
        return self._sums[unit]


def scored_results(judged: Judged, key: str, trees: Iterable[ScoredTree]) -> Iterator[ScoredResult]:
    """The results of a submission with metrics that are means over items."""
    wanted = {key for tree in trees for key in tree.shape.keys}
    for task in judged.contributing:
        result = judged.ok(key, task.name)
        if result is not None:
            names = sorted(name for name in result.metrics if (task.name, name) in wanted)
            if names:
                yield ScoredResult(result, {name: result.metrics[name] for name in names}, task.kind)


def cluster_sums_of(judged: Judged, scored: ScoredResult) -> list[ClusterSums]:
    """The sums by cluster of the metrics of a result.

    A metric is left out, with a line in `judged.problems`, if its items cannot be read or do not give the stored value.
    """
    result, kind = scored.result, KINDS[scored.kind]
    items = judged.items(result, "no interval")
    if items is None or not isinstance(kind, Contributing):
        return []
    where = f"results/{result.submission}/{result.task}: no interval"
    try:
        contributions = {c.metric: c for c in kind.contributions(items, scored.metrics)}
    except ValueError as error:
        judged.problems.append(f"{where}: {error}")
        return []
    statistics = []
    clusters = Clusters.of(items.cluster)
    for metric in scored.metrics:
        try:
            statistics.append(_by_cluster(result, metric, contributions.get(metric), clusters, items))
        except ScoringError as error:
            judged.problems.append(f"{where}: {error}")
    return statistics


def _by_cluster(result: Result, metric: str, c: Contribution | None, clusters: Clusters, items: Items) -> ClusterSums:
    """The sums of a metric by cluster.

    Raises:
        ScoringError: the items do not give the metric, or give another value than the stored one.
    """
    if c is None:
        raise ScoringError(f"{metric}: the items do not give it: measure it again")
    shared, stored = _shared_errors(c, items), result.metrics[metric]
    statistics = cluster_sums(
        result.task, metric, clusters, c.sums, c.counts, c.power, c.scale, c.limit, shared, _baseline(c, stored)
    )
    charged = math.nan if stored.charged is None else stored.charged
    if not math.isclose(statistics.value, charged, rel_tol=AGREEMENT):
        values = f"the items give {statistics.value:g}, stored is {charged:g} {stored.unit}".rstrip()
        raise ScoringError(f"{metric}: {values}: measure it again")
    return statistics


def _baseline(c: Contribution, stored: Metric) -> Float | None:
    """(k,) the sums of the trivial model, if these give the baseline; None if a card or a suite states another."""
    if c.baseline is None or stored.baseline is None:
        return None
    value = c.scale * float(c.baseline.sum() / c.counts.sum()) ** c.power
    return c.baseline if math.isclose(value, stored.baseline, rel_tol=AGREEMENT) else None


def _shared_errors(c: Contribution, items: Items) -> SharedErrors | None:
    """The errors of the items of a metric, if these share structures."""
    if items.terms is None or c.errors is None or np.ptp(c.counts[c.counts > 0]):
        return None
    chosen = c.counts > 0
    matrix = Terms(*items.terms).matrix(len(items))[chosen]
    matrix = matrix[:, (matrix != 0).any(axis=0)]
    return SharedErrors(matrix, c.errors[chosen], Loss.SQUARE if c.power == 0.5 else Loss.ABSOLUTE, c.limit)
