"""The trees of one submission's scores, and their explanations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from judge.ranking.interval_cache import key_of
from scoring import Node, Term, explain_all
from scoring.clusters import ClusterSums
from scoring.names import ML_PEG
from scoring.term import explained_with_best
from scoring.tree import Key


class OwnClusters(NamedTuple):
    """The sums by cluster of metrics that only the trees of a submission contain.

    Args:
        digest: a text that is the same only if all sums are.
        names: by task, the names of the clusters, as JSON.
        sums: gives the sums.
    """

    digest: str
    names: tuple[tuple[str, bytes], ...] = ()
    sums: Callable[[], Sequence[ClusterSums]] = tuple

    @classmethod
    def of(cls, stats: Sequence[ClusterSums]) -> OwnClusters:
        digest = key_of([(s.key, s.clusters, s.sums.tolist(), s.counts.tolist(), s.limit) for s in stats])
        by_task: dict[str, set[str]] = {}
        for each in stats:
            by_task.setdefault(each.task, set()).update(each.clusters)
        names = tuple((task, json.dumps(sorted(clusters)).encode()) for task, clusters in by_task.items())
        return cls(digest, names, lambda: stats)


class TreeShape(NamedTuple):
    """What trees of one shape have in common.

    Args:
        name: a text that is the same only if `Node.shape` is.
        keys: of the leaves, sorted, each once.
        has_units: whether any node is a unit.
    """

    name: str
    keys: Sequence[Key]
    has_units: bool


class ScoredTree(NamedTuple):
    """What intervals and ranks are found by, and the tree that they are computed from.

    Args:
        digest: see `Node.digest`.
        node: gives the tree.
    """

    digest: str
    shape: TreeShape
    node: Callable[[], Node]

    @classmethod
    def of(cls, node: Node) -> ScoredTree:
        name = sha256(str(node.shape).encode()).hexdigest()
        shape = TreeShape(name, sorted({leaf.key for leaf in node.leaves}), bool(node.units))
        return cls(node.digest, shape, lambda: node)


@dataclass(frozen=True)
class ScoreTrees:
    """The trees of one submission by key of the score, in both variants.

    Args:
        stats: sums by cluster for metrics of these trees that the results do not contain.
    """

    corrected: Mapping[str, Node] = field(default_factory=dict)
    as_published: Mapping[str, Node] = field(default_factory=dict)
    stats: tuple[ClusterSums, ...] = ()

    def __or__(self, other: ScoreTrees) -> ScoreTrees:
        """The trees of both."""
        return ScoreTrees(
            {**self.corrected, **other.corrected},
            {**self.as_published, **other.as_published},
            (*self.stats, *other.stats),
        )


def corrected_terms(trees: Mapping[str, ScoreTrees]) -> dict[str, dict[str, Term]]:
    """By submission and key of the score, the values of the corrected trees."""
    return _terms({id: scores.corrected for id, scores in trees.items()}, corrected=True)


def published_terms(trees: Mapping[str, ScoreTrees]) -> dict[str, dict[str, Term]]:
    """By submission and key of the score, the values of the trees as published."""
    return _terms({id: scores.as_published for id, scores in trees.items()}, corrected=False)


def _terms(trees: Mapping[str, Mapping[str, Node]], *, corrected: bool) -> dict[str, dict[str, Term]]:
    """The values of one score are computed for all submissions together."""
    by_score: dict[str, dict[str, Term]] = {}
    for key in dict.fromkeys(key for of_submission in trees.values() for key in of_submission):
        of_score = {id: of_submission[key] for id, of_submission in trees.items() if key in of_submission}
        explain = explained_with_best if corrected and key == ML_PEG else explain_all
        by_score[key] = explain(of_score)
    return {id: {key: by_score[key][id] for key in of_submission} for id, of_submission in trees.items()}
