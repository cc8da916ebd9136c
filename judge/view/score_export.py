"""Trees of scores to data and back: `leaderboard.json` has the first, and who reads it makes the second of it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, TypedDict

from judge.view.leaderboard_schema import LeafFile, NodeFile, Number, ScoreFile, ScoreValues
from scoring import Evidence, Node
from scoring.lambench.answers import RelativeError
from scoring.lambench.efficiency import Speed
from scoring.lambench.instability import Decades
from scoring.ml_peg.normalisers import BetweenThresholds
from scoring.mlipaudit.tree import Share
from scoring.tree import AsItIs, How, Leaf, Scale

SCALES: Mapping[str, type[Scale]] = {
    scale.name: scale for scale in (AsItIs, Share, RelativeError, Speed, Decades, BetweenThresholds)
}
DIVISOR = "divisor"  # a number of a scale that each model has its own of


class LeafValues(TypedDict):
    """The part of `ScoreValues` that a tree states."""

    leaves: tuple[Number | None, ...]
    divisors: dict[int, float]
    left_out: tuple[int, ...]


def tree_data(tree: Node) -> NodeFile:
    """The tree without the values of the model whose it is: models that are asked the same have the same."""
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
    """What the tree's model has at the leaves, from the first to the last: fields of `ScoreValues`."""
    leaves = tree.leaves
    return {
        "leaves": tuple(None if leaf.evidence.value is None else _number(leaf.evidence.value) for leaf in leaves),
        "divisors": {
            index: leaf.scale.divisor
            for index, leaf in enumerate(leaves)
            if isinstance(leaf.scale, RelativeError) and leaf.scale.divisor != 1.0
        },
        "left_out": tuple(index for index, leaf in enumerate(leaves) if leaf.left_out),
    }


def tree_of(data: NodeFile, values: ScoreValues) -> Node:
    """The tree of a model, made of what the file has of it. Names are there, rules in words are not."""
    leaves = iter(range(len(values.leaves)))
    return _node(data, values, leaves)


class SharedTrees:
    """Trees that models share, each once; `index` is where a tree lies among them."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}
        self.trees: list[NodeFile] = []

    def index(self, tree: Node) -> int:
        key = _alike(tree)
        if key not in self._known:
            self._known[key] = len(self.trees)
            self.trees.append(tree_data(tree))
        return self._known[key]


def score_of_file(score: ScoreFile, model: str) -> Node | None:
    """The tree of a model in a score of the file; None where it has none."""
    values = score.models.get(model)
    return None if values is None else tree_of(score.trees[values.tree], values)


def _alike(tree: Node) -> Hashable:
    """What of a tree `tree_data` holds: equal where that is, and made in a fraction of the time."""
    leaf = tree.leaf and _alike_leaf(tree.leaf)
    parts = tuple([_alike(part) for part in tree.parts])
    absent = repr(tree.absent)  # NaN is like no other, and here it is
    return tree.name, tree.weight, tree.how, absent, tree.decimals, tree.unit, leaf, parts


def _alike_leaf(leaf: Leaf) -> Hashable:
    evidence, numbers = leaf.evidence, leaf.scale.numbers()
    numbers.pop(DIVISOR, None)
    return evidence.task, evidence.metric, evidence.unit, type(leaf.scale), *numbers.values()


def _leaf_data(leaf: Leaf) -> LeafFile:
    numbers = {name: _plain(value) for name, value in leaf.scale.numbers().items() if name != DIVISOR}
    evidence = leaf.evidence
    return LeafFile(
        task=evidence.task, metric=evidence.metric, unit=evidence.unit, scale=leaf.scale.name, numbers=numbers
    )


def _node(data: NodeFile, values: ScoreValues, leaves: Iterator[int]) -> Node:
    absent = data.absent
    return Node(
        data.name,
        "",
        data.weight,
        how=How(data.how),
        absent=None if absent is None else (math.nan if absent == "none" else _float(absent)),
        leaf=_leaf(data.leaf, values, next(leaves)) if data.leaf else None,
        parts=tuple(_node(part, values, leaves) for part in data.parts),
        unit=data.unit,
        decimals=data.decimals,
    )


def _leaf(data: LeafFile, values: ScoreValues, index: int) -> Leaf:
    value = values.leaves[index]
    numbers: dict[str, Any] = {name: _read(number) for name, number in data.numbers.items()}
    if index in values.divisors:
        numbers[DIVISOR] = values.divisors[index]
    evidence = Evidence(data.task, data.metric, None if value is None else _float(value), data.unit)
    return Leaf(evidence, SCALES[data.scale](**numbers), left_out=index in values.left_out)


def _number(value: float) -> Number:
    if math.isinf(value) and value > 0:
        return "Infinity"
    return float(value)


def _plain(value: float | bool | str) -> float | bool | str:
    return value if isinstance(value, bool | str) else _number(value)


def _read(value: bool | Number | str) -> float | bool | str:
    return math.inf if value == "Infinity" else value


def _float(value: Number | str) -> float:
    return math.inf if value == "Infinity" else float(value)
