"""How firm scores and ranks are: from the items of every result, by resampling, and under other weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from judge.answers import Judged
from judge.board import Firmness
from judge.schemes import Trees
from scoring import Node, ScoringError
from scoring.clusters import ClusterSums, cluster_sums
from scoring.intervals import Uncertainty, bootstrapped
from scoring.robustness import LeftOut, RankRange, leave_one_out, random_weights, rank_ranges
from tasks.contributions import Contributing
from tasks.kinds import KINDS

N_RESAMPLES = 1000
SEED = 0  # the same records give the same pages
LOWER_IS_BETTER = {"force_field": True, "property_error": True, "efficiency": False, "instability": True}


def firmness(judged: Judged, trees: Mapping[str, Trees], ranked: Collection[str]) -> Firmness:
    """Intervals of every score, and how ranks move.

    What cannot be resampled is left out, and said in `judged.problems`.

    Args:
        trees: by submission.
        ranked: the submissions that ranks are among.
    """
    stats = {key: cluster_statistics(judged, key) for key in trees}
    intervals: dict[str, Mapping[str, Uncertainty]] = {}
    weights: dict[str, Mapping[str, RankRange]] = {}
    without: dict[str, Mapping[str, LeftOut]] = {}
    for name, lower in LOWER_IS_BETTER.items():
        own = {key: tree for key, of in trees.items() if (tree := of.by_name(name)).units}
        among = {key: tree for key, tree in own.items() if key in ranked}
        others = {key: tree for key, tree in own.items() if key not in ranked}
        try:
            intervals[name] = {**_intervals(among, stats, lower), **_intervals(others, stats, lower)}
            drawn = random_weights(among.values(), N_RESAMPLES, np.random.default_rng(SEED))
            weights[name] = rank_ranges(among, drawn, lower_is_better=lower) if among else {}
            without[name] = leave_one_out(among, lower_is_better=lower) if among else {}
        except ScoringError as error:
            judged.problems.append(f"uncertainty of the {name.replace('_', ' ')}: {error}")
    return Firmness(intervals, weights, without)


def cluster_statistics(judged: Judged, key: str) -> list[ClusterSums]:
    """Sums by cluster of every metric of a submission that is a mean over items."""
    found: list[ClusterSums] = []
    for task in judged.suite.tasks:
        result, kind = judged.ok(key, task.name), KINDS[task.kind]
        items = judged.load_items(result) if result and isinstance(kind, Contributing) else None
        if result is None or items is None or not isinstance(kind, Contributing):
            continue
        try:
            contributions = kind.contributions(items, result.metrics)
            found += [
                cluster_sums(task.name, c.metric, items.cluster, c.sums, c.counts, power=c.power, scale=c.scale)
                for c in contributions
            ]
        except ValueError as error:  # also ScoringError
            judged.problems.append(f"results/{key}/{task.name}: no interval: {error}")
    return found


def _intervals(
    trees: Mapping[str, Node], stats: Mapping[str, Sequence[ClusterSums]], lower_is_better: bool
) -> dict[str, Uncertainty]:
    if not trees:
        return {}
    wanted = {key: {node.leaf.key for _, node in tree.walk() if node.leaf} for key, tree in trees.items()}
    own = {key: [of for of in stats[key] if of.key in wanted[key]] for key in trees}
    return bootstrapped(trees, own, N_RESAMPLES, np.random.default_rng(SEED), lower_is_better=lower_is_better)
