"""A score as a tree: metrics at the leaves, means at the branches.

A scheme makes such a tree from its facts and one model's metrics. `scoring.evaluation` computes its values: the score
with its explanation, its interval from resampled metrics, and the ranking under other weights. So an explanation shows
the computation itself, and each formula stands in one place.

In arrays, NaN is a metric that the model does not have. A perfect answer, an infinite error and no answer are three
different things: 0, inf and NaN.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Key = tuple[str, str]
"""A task and one of its metrics."""

Path = tuple[str, ...]
"""The names from the top of a tree down to a node."""


class How(StrEnum):
    """How the values of the parts become one."""

    MEAN = "mean"
    LOGARITHMIC_MEAN = "logarithmic mean"
    HARMONIC_MEAN = "harmonic mean"


class RawMetric(NamedTuple):
    """The raw metric at a leaf.

    Args:
        task: the task that it belongs to.
        metric: its name there.
        value: what is scored, with failures penalised if the scheme penalises them; None if the model has none.
        unit: of `value`.
        facts: what it is compared with, by name: a baseline, a threshold, a tolerance.
        n_items: number of items that it is measured on.
        n_failed: how many of them failed.
        uncharged: the same metric over the items that succeeded; None if it is not known.
    """

    task: str
    metric: str
    value: float | None
    unit: str = ""
    facts: tuple[tuple[str, float | str], ...] = ()
    n_items: int = 0
    n_failed: int = 0
    uncharged: float | None = None


@dataclass(frozen=True)
class Scale:
    """An elementwise formula that normalises the values of a metric, with its constants.

    The formula has a name, so `leaderboard.json` can state it and a reader can compute the same score.
    """

    name: ClassVar[str]

    def __call__(self, values: Float) -> Float:
        """(...) the normalised values, from values (...) that are never NaN."""
        raise NotImplementedError

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest normalised value that is possible."""
        return -np.inf, np.inf

    def numbers(self) -> dict[str, float | bool | str]:
        """The constants of the formula by name."""
        return dict(vars(self))


@dataclass(frozen=True)
class AsItIs(Scale):
    """The value itself."""

    name = "as it is"

    def __call__(self, values: Float) -> Float:
        return values


# Leaf, Node and Term are not frozen, and nothing changes them: a frozen one takes four times as long to make.
@dataclass
class Leaf:
    """A metric of one model.

    Args:
        raw: the metric; its task and name are the key of resampled values.
        scale: normalises values of the metric.
        left_out: True if it was not measured, through no fault of the model: then it has no weight, but counts in
            `Term.at_worst`.
    """

    raw: RawMetric
    scale: Scale
    left_out: bool = False

    @property
    def key(self) -> Key:
        """The task and the metric."""
        return self.raw.task, self.raw.metric


@dataclass
class Node:
    """One number of a score: a leaf, or a mean over parts.

    Args:
        rule: how the value is computed, in words.
        weight: relative to its siblings; only ratios matter.
        absent: what a part without a value counts here. None: it is left out, and the others share its weight; NaN:
            then this node has no value either. If no part has a value, the node never has one.
        unit: name of the task (or run) that this node is, or is a part of. Units are counted as covered, and drawn
            when test sets are resampled.
        pool: True if the units below are a sample from one population: they are resampled among themselves.
        decimals: number of decimals that the scheme rounds the value to; None: no rounding.
        source: publication of the rule and its facts.
    """

    name: str
    rule: str
    weight: float = 1.0
    parts: tuple[Node, ...] = ()
    how: How = How.MEAN
    absent: float | None = None
    leaf: Leaf | None = None
    unit: str = ""
    pool: bool = False
    decimals: int | None = None
    source: str = ""

    def walk(self, above: Path = ()) -> Iterator[tuple[Path, Node]]:
        """This node and all below, each with its path, from the top down."""
        path = (*above, self.name)
        yield path, self
        for part in self.parts:
            yield from part.walk(path)

    @cached_property
    def shape(self) -> Hashable:
        """Everything that the evaluation depends on, except the numbers at the leaves."""
        return _shape(self)

    @cached_property
    def digest(self) -> str:
        """The sha256 of everything that the evaluation depends on."""
        numbers = [(leaf.raw.value, leaf.scale.name, leaf.scale.numbers()) for leaf in self.leaves]
        return sha256(f"{_text(self.shape)}{numbers}".encode()).hexdigest()

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves of the tree, from the first to the last."""
        return tuple(_leaves(self))

    @property
    def units(self) -> tuple[str, ...]:
        """The units at and below this node, in alphabetical order."""
        return tuple(sorted({node.unit for _, node in self.walk() if node.unit}))

    @property
    def leaves_out(self) -> bool:
        """True if any leaf was left out."""
        return any(leaf.left_out for leaf in self.leaves)


def with_left_out(node: Node) -> Node:
    """The tree with what is left out counted as absent. Models are ranked by it: a slow model must not look stable."""
    if not node.leaves_out:
        return node
    if node.leaf is not None:
        return replace(node, leaf=replace(node.leaf, left_out=False))
    return replace(node, parts=tuple([with_left_out(part) for part in node.parts]))


# Recursive functions: a cached property of every node below takes ten times as long.
def _shape(node: Node) -> Hashable:
    leaf = node.leaf and (node.leaf.key, node.leaf.left_out)
    parts = tuple([_shape(part) for part in node.parts])
    absent = repr(node.absent)  # NaN is not equal to itself
    return node.name, float(node.weight), node.how, absent, node.unit, node.pool, node.decimals, leaf, parts


@lru_cache(maxsize=1000)
def _text(shape: Hashable) -> str:
    return repr(shape)


def _leaves(node: Node) -> list[Leaf]:
    if node.leaf is not None:
        return [node.leaf]
    return [leaf for part in node.parts for leaf in _leaves(part)]
