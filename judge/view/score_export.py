"""Trees of scores for `leaderboard.json`: the trees that models share, and the values of each model."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TypedDict

from judge.view.leaderboard_schema import LeafFile, NodeFile, Number
from scoring import Node
from scoring.lambench.answers import RelativeError
from scoring.tree import Leaf

DIVISOR = "divisor"  # a number of a scale that differs between models


class LeafValues(TypedDict):
    """The fields of `ScoreValues` that follow from a tree."""

    leaves: tuple[Number | None, ...]
    divisors: dict[int, float]
    left_out: tuple[int, ...]


def tree_data(tree: Node) -> NodeFile:
    """The tree without the values of its model. Models with the same tasks have equal results."""
    return NodeFile(
        name=tree.name,
        weight=tree.weight,
        how=tree.how.value,
        absent=None if tree.absent is None else ("none" if math.isnan(tree.absent) else _number(tree.absent)),
        decimals=tree.decimals,
        unit=tree.unit,
        leaf=_leaf_data(tree.leaf) if tree.leaf else None,
        parts=tuple(tree_data(part) for part in tree.parts),
    )


def leaf_values(tree: Node) -> LeafValues:
    """The values of the tree's model at the leaves, from the first to the last."""
    leaves = tree.leaves
    return {
        "leaves": tuple(None if leaf.raw.value is None else _number(leaf.raw.value) for leaf in leaves),
        "divisors": {
            index: leaf.scale.divisor
            for index, leaf in enumerate(leaves)
            if isinstance(leaf.scale, RelativeError) and leaf.scale.divisor != 1.0
        },
        "left_out": tuple(index for index, leaf in enumerate(leaves) if leaf.left_out),
    }


class SharedTrees:
    """Different trees, each once; `index` returns the position of a tree among them and adds it if it is new."""

    def __init__(self) -> None:
        self._indices: dict[Hashable, int] = {}
        self.trees: list[NodeFile] = []

    def index(self, tree: Node) -> int:
        key = _tree_key(tree)
        if key not in self._indices:
            self._indices[key] = len(self.trees)
            self.trees.append(tree_data(tree))
        return self._indices[key]


def _tree_key(tree: Node) -> Hashable:
    """A key that is equal for trees with equal `tree_data`; it takes a fraction of the time."""
    leaf = tree.leaf and _leaf_key(tree.leaf)
    parts = tuple([_tree_key(part) for part in tree.parts])
    absent = repr(tree.absent)  # NaN does not equal itself, but its text does
    return tree.name, tree.weight, tree.how, absent, tree.decimals, tree.unit, leaf, parts


def _leaf_key(leaf: Leaf) -> Hashable:
    raw, numbers = leaf.raw, leaf.scale.numbers()
    numbers.pop(DIVISOR, None)
    return raw.task, raw.metric, raw.unit, type(leaf.scale), *numbers.values()


def _leaf_data(leaf: Leaf) -> LeafFile:
    raw, numbers = leaf.raw, leaf.scale.numbers()
    numbers.pop(DIVISOR, None)
    plain = {name: value if isinstance(value, bool | str) else _number(value) for name, value in numbers.items()}
    return LeafFile(task=raw.task, metric=raw.metric, unit=raw.unit, scale=leaf.scale.name, numbers=plain)


def _number(value: float) -> Number:
    if math.isinf(value) and value > 0:
        return "Infinity"
    return float(value)
