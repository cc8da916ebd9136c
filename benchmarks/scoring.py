"""Intervals of a leaderboard: 50 models, 40 tasks of two metrics, 1,000 clusters each, 1,000 resamples."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Mapping

import numpy as np

from benchmarks.report import Figure
from scoring.bootstrap import pools, resample, resample_relative
from scoring.clusters import ClusterSums
from scoring.intervals import Uncertainty, resampled_scores
from scoring.lambench.answers import RelativeError
from scoring.order import with_ranks
from scoring.set_spread import draw_sets
from scoring.tree import Float, How, Leaf, Node, RawMetric

N_MODELS, N_DOMAINS, N_TASKS_PER_DOMAIN, N_CLUSTERS, N_RESAMPLES = 50, 5, 8, 1_000, 1_000
METRICS = {"energy": 1.0, "force": 0.5}
"""With the power that their mean is raised to."""
GIB = 1024**3


def large_board(n_clusters: int = N_CLUSTERS) -> dict[str, list[ClusterSums]]:
    """Statistics by model: each model is a little worse than the one before, and clusters differ in difficulty."""
    rng = np.random.default_rng(0)
    names = tuple(f"cluster {number:05d}" for number in range(n_clusters))
    counts = np.full(n_clusters, 25.0)
    tasks = [f"{d} {t}" for d in range(N_DOMAINS) for t in range(N_TASKS_PER_DOMAIN)]
    difficulty = {task: rng.gamma(2.0, 0.2, n_clusters) for task in tasks}

    def sums(task: str, model: int) -> Float:
        return counts * (1 + 0.01 * model) * difficulty[task] * rng.gamma(4.0, 0.25, n_clusters)

    return {
        f"model {model:02d}": [
            ClusterSums(task, metric, names, sums(task, model), counts, power, baseline=counts * difficulty[task])
            for task in tasks
            for metric, power in METRICS.items()
        ]
        for model in range(N_MODELS)
    }


def tree(stats: list[ClusterSums]) -> Node:
    """A force-field error: a mean over domains of label types, each a logarithmic mean of normalised errors."""
    values = {metric.key: metric.value for metric in stats}

    def leaf(task: str, metric: str) -> Node:
        raw = RawMetric(task, metric, values[task, metric])
        return Node(task, "error / baseline", unit=task, leaf=Leaf(raw, RelativeError(1.0, cap=1.0, floor=1e-3)))

    def label_type(domain: int, metric: str) -> Node:
        tasks = tuple(leaf(f"{domain} {t}", metric) for t in range(N_TASKS_PER_DOMAIN))
        return Node(metric, "logarithmic mean over tasks", parts=tasks, how=How.LOGARITHMIC_MEAN, absent=1.0)

    domains = tuple(
        Node(str(d), "mean over label types", parts=tuple(label_type(d, m) for m in METRICS), absent=1.0, pool=True)
        for d in range(N_DOMAINS)
    )
    return Node("Force-field error", "mean over domains", parts=domains, absent=1.0)


def intervals_of(board: Mapping[str, list[ClusterSums]]) -> dict[str, Uncertainty]:
    """The intervals of all metrics, scores and ranks, from statistics by cluster."""
    rng = np.random.default_rng(1)
    trees = {model: tree(stats) for model, stats in board.items()}
    raw = resample(board, N_RESAMPLES, np.random.default_rng(1)).values
    relative = resample_relative(board, N_RESAMPLES, np.random.default_rng(1))
    sets = draw_sets(pools(trees.values()), N_RESAMPLES, rng)
    return with_ranks(resampled_scores(trees, relative, sets, raw=raw), lower_is_better=True)


def measure_scoring() -> list[Figure]:
    """The time from the statistics to the intervals, and the memory that these need besides the statistics."""
    board = large_board()
    begin = time.perf_counter()
    intervals_of(board)
    seconds = time.perf_counter() - begin
    tracemalloc.start()
    intervals_of(board)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return [
        Figure("intervals of 50 models, 40 tasks, 1,000 clusters, 1,000 resamples", seconds, "s", 10.0),
        Figure("memory of these intervals", peak / GIB, "GiB", 2.0),
    ]
