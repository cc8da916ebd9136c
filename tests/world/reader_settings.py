"""A reader's settings: other weights at any level of a score, and other thresholds at its leaves.

The pages apply a reader's settings in the browser. This module does the same in Python, so that tests can compare both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scoring.errors import ScoringError
from scoring.tree import Leaf, Node, Path

Threshold = tuple[str, str, str]
"""Task, metric, and the name of a number of its scale."""


@dataclass(frozen=True)
class Settings:
    """The settings of a reader; all others are those of the scheme.

    Args:
        weights: factor of a node's weight, by path; not negative. The top has no weight.
        thresholds: numbers that replace those of a metric's scale.
    """

    weights: Mapping[Path, float] = field(default_factory=dict)
    thresholds: Mapping[Threshold, float] = field(default_factory=dict)


def with_settings(tree: Node, settings: Settings) -> Node:
    """The tree with a reader's weights and thresholds. A path that is not in it is ignored: other models may have it.

    Raises:
        ScoringError: a weight below zero.
    """
    for path, factor in settings.weights.items():
        if not factor >= 0:
            raise ScoringError(f"weight of {' / '.join(path)}: {factor} is below zero")
    return _set(tree, settings, ())


def _set(node: Node, settings: Settings, path: Path) -> Node:
    leaf = node.leaf and _set_leaf(node.leaf, settings)
    parts = tuple(
        replace(
            _set(part, settings, (*path, part.name)),
            weight=part.weight * settings.weights.get((*path, part.name), 1.0),
        )
        for part in node.parts
    )
    return replace(node, leaf=leaf, parts=parts)


def _set_leaf(leaf: Leaf, settings: Settings) -> Leaf:
    if not settings.thresholds:
        return leaf
    known = leaf.scale.numbers().keys()  # a metric without an answer has a scale without numbers
    numbers = {
        number: value
        for (*key, number), value in settings.thresholds.items()
        if tuple(key) == leaf.key and number in known
    }
    return replace(leaf, scale=replace(leaf.scale, **numbers)) if numbers else leaf
