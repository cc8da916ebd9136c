"""A score as a tree: metrics at the leaves, ways to combine them at the branches, and one evaluation for every use.

A scheme makes such a tree from its facts and one model's metrics. Evaluated on the metrics it gives the score with its
explanation; on arrays of resampled metrics, its interval; under other weights, how firm the ranking is. So what is
explained is what was computed, and a formula stands in one place.

In arrays, NaN is a metric that the model does not have. A perfect answer, an infinite error and no answer are three
different things: 0, inf and NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.term import Evidence

Float = NDArray[np.float64]
Key = tuple[str, str]
"""A task and one of its metrics."""


class How(StrEnum):
    """How the values of the parts become one."""

    MEAN = "mean"
    LOGARITHMIC_MEAN = "logarithmic mean"
    HARMONIC_MEAN = "harmonic mean"


@dataclass(frozen=True)
class Scale:
    """From values of a metric to what is scored, elementwise: a formula of a name, and numbers that it is given.

    So it is data too, and whoever knows the formula by its name comes to the same score. `__call__` takes (...) values,
    never NaN.
    """

    name: ClassVar[str]

    def __call__(self, values: Float) -> Float:
        raise NotImplementedError

    def numbers(self) -> dict[str, float | bool | str]:
        """What the formula is given, by name."""
        return dict(vars(self))


@dataclass(frozen=True)
class AsItIs(Scale):
    """The value itself."""

    name = "as it is"

    def __call__(self, values: Float) -> Float:
        return values


@dataclass(frozen=True)
class Leaf:
    """A metric of one model.

    Args:
        evidence: the metric; its task and name are the key by which resampled values are found.
        normalise: from values of the metric, (...) and never NaN, to what is scored, elementwise: a `Scale`, in every
            scheme that is shown to readers.
        left_out: not measured for no fault of the model: it has no weight, but counts in `Term.at_worst`.
    """

    evidence: Evidence
    normalise: Callable[[Float], Float]
    left_out: bool = False

    @property
    def key(self) -> Key:
        return self.evidence.task, self.evidence.metric


@dataclass(frozen=True)
class Node:
    """One number of a score: a leaf, or a combination of parts.

    Args:
        rule: how the value comes about, in words.
        weight: beside its siblings; only ratios matter.
        absent: what a part without a value counts here. None: it is left out, and the others share its weight; NaN:
            then there is no value here either. Where no part has a value there is never one.
        unit: name of the task (or run) that this is the whole or a part of. Units are what is counted as covered, and
            drawn when test sets are resampled.
        pool: the units below are a sample of what this node stands for: they are drawn anew among themselves.
        decimals: that the value is rounded to, as a scheme prescribes; None: not at all.
        source: where rule and facts come from.
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

    def walk(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
        """This node and all below, each with the names on the way to it, from the top down."""
        own = (*path, self.name)
        yield own, self
        for part in self.parts:
            yield from part.walk(own)

    @cached_property
    def shape(self) -> Hashable:
        """All of the tree that its evaluation hangs on but the numbers of its leaves."""
        return _shape(self)

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves of the tree, from the first to the last."""
        return tuple(_leaves(self))

    @property
    def units(self) -> tuple[str, ...]:
        """The units at and below this node, in alphabetical order."""
        return tuple(sorted({node.unit for _, node in self.walk() if node.unit}))


def _shape(node: Node) -> Hashable:
    leaf = node.leaf and (node.leaf.key, node.leaf.left_out)
    parts = tuple([_shape(part) for part in node.parts])
    absent = repr(node.absent)  # NaN is like no other, and here it is
    return node.name, float(node.weight), node.how, absent, node.unit, node.pool, node.decimals, leaf, parts


def _leaves(node: Node) -> list[Leaf]:
    if node.leaf is not None:
        return [node.leaf]
    found: list[Leaf] = []
    for part in node.parts:
        found += _leaves(part)
    return found


@dataclass(frozen=True)
class Draw:
    """What a tree is evaluated on in place of its own numbers: B alternatives at once.

    Args:
        metrics: (B,) by key; others keep their own value.
        units: (B,) by unit, how many times its weight it has; others once.
        weights: (B,) by path, the weight of that node in place of its own.
    """

    metrics: Mapping[Key, Float] = field(default_factory=dict)
    units: Mapping[str, Float] = field(default_factory=dict)
    weights: Mapping[tuple[str, ...], Float] = field(default_factory=dict)


class Valued(NamedTuple):
    """A node and its value, (B,) or (); NaN where there is none. `present` is false where no unit of it was drawn."""

    node: Node
    value: Float
    present: NDArray[np.bool_]
    shares: tuple[Float, ...] = ()
    parts: tuple[Valued, ...] = ()


NOTHING_DRAWN = Draw()


def evaluate(node: Node, draw: Draw = NOTHING_DRAWN) -> Valued:
    """The node with the values of all nodes below it."""
    return _evaluate(node, draw, ())


def score(node: Node, draw: Draw = NOTHING_DRAWN) -> Float:
    """(B,) or () the value of the node; NaN where there is none."""
    return evaluate(node, draw).value


def with_left_out(node: Node) -> Node:
    """The node with all that is left out counted as absent: what to rank by, since to be slow must not look stable."""
    if node.leaf is not None:
        return replace(node, leaf=replace(node.leaf, left_out=False)) if node.leaf.left_out else node
    parts = tuple(with_left_out(part) for part in node.parts)
    unchanged = all(one is other for one, other in zip(parts, node.parts, strict=True))
    return node if unchanged else replace(node, parts=parts)


def _evaluate(node: Node, draw: Draw, path: tuple[str, ...]) -> Valued:
    own = (*path, node.name)
    if node.leaf is not None:
        return _evaluate_leaf(node, node.leaf, draw)
    parts = tuple(_evaluate(part, draw, own) for part in node.parts)
    if not parts:
        return Valued(node, np.array(np.nan), np.array(False))
    weights = [_weight(part, draw, own) for part in parts]
    w, v = _stacked(weights, [part.value for part in parts])
    value, shares = combine(v, w, node.how, node.absent)
    if node.decimals is not None:
        value = np.round(value, node.decimals)
    return Valued(node, value, w.sum(axis=0) > 0, tuple(shares), parts)


def _stacked(weights: list[Float], values: list[Float]) -> tuple[Float, Float]:
    """Both as arrays (k, ...) of one shape."""
    shapes = {array.shape for array in (*weights, *values)}
    if len(shapes) > 1:
        shape = np.broadcast_shapes(*shapes)
        weights = [np.broadcast_to(array, shape) for array in weights]
        values = [np.broadcast_to(array, shape) for array in values]
    return np.array(weights), np.array(values)


def _evaluate_leaf(node: Node, leaf: Leaf, draw: Draw) -> Valued:
    raw = draw.metrics.get(leaf.key)
    if raw is None:
        raw = np.array(np.nan if leaf.evidence.value is None else leaf.evidence.value)
    missing = np.isnan(raw)
    value = np.where(missing, np.nan, leaf.normalise(np.where(missing, 1.0, raw)))
    return Valued(node, value, np.array(not leaf.left_out))


def _weight(part: Valued, draw: Draw, path: tuple[str, ...]) -> Float:
    node = part.node
    own = draw.weights.get((*path, node.name))
    weight = np.array(node.weight) if own is None else own
    return np.asarray(weight * draw.units.get(node.unit, 1.0) * part.present)


def combine(values: Float, weights: Float, how: How, absent: float | None) -> tuple[Float, Float]:
    """The weighted mean (...) of values (k, ...), never outside their range, and the shares (k, ...) of each.

    NaN where nothing has both a weight and a value, whatever `absent` says.

    Args:
        weights: (k, ...), none negative.
        absent: what NaN counts, see `Node`.
    """
    there = ~np.isnan(values)
    measured = (there & (weights > 0)).any(axis=0)
    if absent is None:
        weights = np.where(there, weights, 0.0)
    else:
        values = np.where(there, values, absent)
    used = weights > 0
    filled = np.where(used, values, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(used, weights / weights.sum(axis=0), 0.0)  # where nothing has a weight, 0 / 0
        match how:
            case How.MEAN:
                value = _weighted(filled, shares)
            case How.LOGARITHMIC_MEAN:
                value = np.exp(_weighted(np.log(filled), shares))
            case How.HARMONIC_MEAN:
                value = 1.0 / _weighted(1.0 / filled, shares)
    low, high = np.where(used, values, np.inf).min(axis=0), np.where(used, values, -np.inf).max(axis=0)
    # NaN among the values stays NaN; rounding must not lift a mean out of the range of what it is the mean of.
    inside = np.minimum(np.maximum(value, low), high)
    return np.where(measured, inside, np.nan), shares


def _weighted(values: Float, shares: Float) -> Float:
    # 0 × inf is NaN: what has no share must not speak.
    return np.asarray(np.where(shares > 0, shares * values, 0.0).sum(axis=0))


def leaves_out(node: Node) -> bool:
    """Whether anything below was left out."""
    return any(leaf.left_out for leaf in _leaves(node))
