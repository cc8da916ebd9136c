"""The values of all nodes of many trees, under many alternatives at once.

Models with the same tasks and metrics have trees of one shape, with other numbers at the leaves. The m trees of one
shape are evaluated together: each node costs a few operations on arrays (m, B), for B alternatives of metrics and
weights.

Sums run over the parts in their order. So a value depends neither on which other trees nor on how many alternatives
are evaluated with it, and templates/js/evaluate.js computes the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.tree import Float, How, Key, Node, Path, Scale

ROWS = 16_384  # numbers of a node that are computed at once: 128 kB fit into the processor's cache
Metrics = Mapping[Key, Float]
"""(B,) values of a model's metrics, in place of those in its tree."""


@dataclass(frozen=True)
class Draw:
    """B alternatives under which trees are evaluated.

    Args:
        units: (B,) by unit, the factor on its weight; 1 for others.
        weights: (B,) by path, the weight of that node in place of its own.
    """

    units: Mapping[str, Float] = field(default_factory=dict)
    weights: Mapping[Path, Float] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """B; 1 if nothing is drawn."""
        return max([len(values) for values in (*self.units.values(), *self.weights.values())], default=1)


NOTHING_DRAWN = Draw()


class Evaluated(NamedTuple):
    """One node of m trees of one shape. An axis of length 1 stands for B, or for m, equal entries.

    Args:
        nodes: (m,) this node of each tree.
        values: (m, B); NaN: no value.
        present: (B,) False if none of its units was drawn.
        shares: for each part, (m, B) its share of the weight.
    """

    path: Path
    nodes: Sequence[Node]
    values: Float
    present: NDArray[np.bool_]
    shares: Sequence[Float] = ()
    parts: tuple[Evaluated, ...] = ()

    def walk(self) -> Iterator[Evaluated]:
        """This node and all below, from the top down, in the order of `Node.walk`."""
        yield self
        for part in self.parts:
            yield from part.walk()


class TreeGroup(NamedTuple):
    """Trees of one shape, for which the same metrics are drawn.

    Args:
        models: (m,) the model of each tree.
        metrics: (m,) drawn values of each model's metrics.
    """

    models: Sequence[str]
    trees: Sequence[Node]
    metrics: Sequence[Metrics]

    def evaluate(self, draw: Draw = NOTHING_DRAWN) -> Evaluated:
        """All nodes of the trees."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return _evaluate(self.trees, self.metrics, draw, ())


def tree_groups(
    trees: Mapping[str, Node], draw: Draw = NOTHING_DRAWN, metrics: Mapping[str, Metrics] | None = None
) -> Iterator[TreeGroup]:
    """The trees in groups of one shape, with so few in each that the values of a node fit into the processor's cache.

    Args:
        metrics: by model; None: none are drawn.
    """
    drawn = {model: (metrics or {}).get(model, {}) for model in sorted(trees)}
    alike: dict[Hashable, list[str]] = {}
    for model, values in drawn.items():
        alike.setdefault((trees[model].shape, frozenset(values)), []).append(model)
    n_drawn = max([len(values) for of_model in drawn.values() for values in of_model.values()], default=draw.size)
    step = max(1, ROWS // n_drawn)
    for models in alike.values():
        for begin in range(0, len(models), step):
            block = models[begin : begin + step]
            yield TreeGroup(block, [trees[model] for model in block], [drawn[model] for model in block])


def scores(
    trees: Mapping[str, Node], draw: Draw = NOTHING_DRAWN, metrics: Mapping[str, Metrics] | None = None
) -> dict[str, Float]:
    """By model, (B,) the value of its tree; NaN: no value."""
    values: dict[str, Float] = {}
    for group in tree_groups(trees, draw, metrics):
        values.update(zip(group.models, group.evaluate(draw).values, strict=True))
    return {model: values[model] for model in trees}


def with_values(evaluated: Evaluated, replaced: Mapping[Path, Float]) -> Float:
    """(m, B) the values of a node without draws of units and weights, if the nodes at these paths had other values.

    Args:
        replaced: (m, B) by path.
    """
    if evaluated.path in replaced:
        return replaced[evaluated.path]
    first = evaluated.nodes[0]
    if not any(path[: len(evaluated.path)] == evaluated.path for path in replaced):
        return evaluated.values
    values = [with_values(part, replaced) for part in evaluated.parts]
    weights = [_weight(part, NOTHING_DRAWN) for part in evaluated.parts]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, _ = weighted_mean(values, weights, first.how, first.absent)
    return mean if first.decimals is None else np.round(mean, first.decimals)


def _evaluate(nodes: Sequence[Node], metrics: Sequence[Metrics], draw: Draw, above: Path) -> Evaluated:
    first = nodes[0]
    path = (*above, first.name)
    if first.leaf is not None:
        return Evaluated(path, nodes, _leaf_values(nodes, metrics), np.array([not first.leaf.left_out]))
    below = [[node.parts[i] for node in nodes] for i in range(len(first.parts))]
    parts = tuple([_evaluate(part, metrics, draw, path) for part in below])
    if not parts:
        return Evaluated(path, nodes, np.full((len(nodes), 1), np.nan), np.array([False]))
    weights = [_weight(part, draw) for part in parts]
    values, shares = weighted_mean([part.values for part in parts], weights, first.how, first.absent)
    if first.decimals is not None:
        values = np.round(values, first.decimals)
    return Evaluated(path, nodes, values, _sum(weights) > 0, shares, parts)


def _weight(part: Evaluated, draw: Draw) -> Float:
    """(B,) the weight of a node, the same in all trees."""
    node = part.nodes[0]
    weight = draw.weights.get(part.path, node.weight)
    return np.asarray(weight * draw.units.get(node.unit, 1.0) * part.present)


def _leaf_values(nodes: Sequence[Node], metrics: Sequence[Metrics]) -> Float:
    """(m, B) the scaled values of one metric."""
    leaves = [node.leaf for node in nodes if node.leaf is not None]
    key = leaves[0].key
    if key in metrics[0]:
        raw = np.array([drawn[key] for drawn in metrics])
    else:
        stated = [leaf.raw.value for leaf in leaves]
        raw = np.array([[np.nan if value is None else value] for value in stated], np.float64)
    missing = np.isnan(raw)
    filled = np.where(missing, 1.0, raw)
    rows: dict[Scale, list[int]] = {}
    for row, leaf in enumerate(leaves):
        rows.setdefault(leaf.scale, []).append(row)
    values = np.empty(raw.shape)
    for scale, same in rows.items():
        values[same] = scale(filled[same])
    return np.where(missing, np.nan, values)


def weighted_mean(
    values: Sequence[Float], weights: Sequence[Float], how: How, absent: float | None
) -> tuple[Float, Sequence[Float]]:
    """(m, B) the mean of k values (m, B), never outside their range, and k shares (m, B).

    NaN if no value has a weight, for any `absent`.

    Args:
        weights: k of (B,), none negative.
        absent: what NaN counts, see `Node`.
    """
    v, w = _stacked(values), _stacked(weights)[:, np.newaxis]
    has_value = ~np.isnan(v)
    measured = (has_value & (w > 0)).any(axis=0)
    if absent is None:
        w = np.where(has_value, w, 0.0)
    else:
        v = np.where(has_value, v, absent)
    used = w > 0
    shares = np.where(used, w / _sum(w), 0.0)  # if nothing has a weight, 0 / 0
    filled = np.where(used, v, 1.0)
    match how:
        case How.MEAN:
            mean = _shared(filled, shares)
        case How.LOGARITHMIC_MEAN:
            mean = np.exp(_shared(np.log(filled), shares))
        case How.HARMONIC_MEAN:
            mean = 1.0 / _shared(1.0 / filled, shares)
    # Rounding must not lift a mean out of the range of its values. NaN among the values stays NaN.
    low, high = np.where(used, v, np.inf).min(axis=0), np.where(used, v, -np.inf).max(axis=0)
    return np.where(measured, np.minimum(np.maximum(mean, low), high), np.nan), list(shares)


def _shared(values: Float, shares: Float) -> Float:
    return _sum(np.where(shares > 0, shares * values, 0.0))  # 0 × inf is NaN: a value without a share must not enter


def _stacked(arrays: Sequence[Float]) -> Float:
    """(k, ...) the arrays with all their axes of length 1 filled up."""
    stacked = np.empty((len(arrays), *np.broadcast_shapes(*[array.shape for array in arrays])))
    for row, array in zip(stacked, arrays, strict=True):
        row[...] = array
    return stacked


def _sum(arrays: Sequence[Float] | Float) -> Float:
    """The sum over the first axis, in order: numpy itself adds short and long axes in different orders."""
    total: Float = reduce(np.add, arrays)
    return total
