"""Trees of scores, read from `leaderboard.json` as docs/leaderboard-json.md describes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from judge.view.leaderboard_schema import LeafFile, NodeFile, Number, ScoreFile, ScoreValues
from scoring import Node, RawMetric
from scoring.lambench.answers import RelativeError
from scoring.lambench.efficiency import Speed
from scoring.lambench.instability import Decades
from scoring.mlipaudit.tree import Share
from scoring.normalisers import BetweenThresholds
from scoring.tree import AsItIs, How, Leaf, Scale

SCALES: Mapping[str, type[Scale]] = {
    scale.name: scale for scale in (AsItIs, Share, RelativeError, Speed, Decades, BetweenThresholds)
}


def score_of_file(score: ScoreFile, model: str) -> Node | None:
    """The tree of a model in a score of the file; None if it has none."""
    values = score.models.get(model)
    if values is None:
        return None
    return _node(score.trees[values.tree], values, iter(range(len(values.leaves))))


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
    numbers: dict[str, Any] = {name: math.inf if n == "Infinity" else n for name, n in data.numbers.items()}
    if index in values.divisors:
        numbers["divisor"] = values.divisors[index]
    raw = RawMetric(data.task, data.metric, None if value is None else _float(value), data.unit)
    return Leaf(raw, SCALES[data.scale](**numbers), left_out=index in values.left_out)


def _float(value: Number | str) -> float:
    return math.inf if value == "Infinity" else float(value)
