"""Many trees at once: the values of all nodes of all models, as `scoring.tree.evaluate` gives them one by one.

Models of one scheme mostly have one shape of tree, with other numbers at its leaves. Such trees are evaluated together,
a row a model, so that a node costs a handful of operations on long arrays and not so many for each model. Every number
is the same to the last bit as by `evaluate`: the same operations in the same order, which the tests hold against it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.tree import Draw, Float, How, Key, Node, Scale

Path = tuple[str, ...]
ROWS = 16_384  # numbers of a node that are worked on at once: 128 kB, which stay near the processor


class Grown(NamedTuple):
    """A node of m trees of one shape.

    Args:
        nodes: (m,) that node of each tree.
        value: (m, B), or (m,) where nothing of it was drawn; NaN where there is none.
        present: (B,) or (); false where no unit of it was drawn.
        shares: of each part, (m or 1, B), or (m or 1,).
    """

    path: Path
    nodes: Sequence[Node]
    value: Float
    present: NDArray[np.bool_]
    shares: tuple[Float, ...] = ()
    parts: tuple[Grown, ...] = ()

    def walk(self) -> Iterator[Grown]:
        """This node and all below, from the top down, in the order of `Node.walk`."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, eq=False)
class Stand:
    """Trees of one shape, of which the same metrics are drawn.

    Args:
        models: (m,) whose they are.
        metrics: (m,) of each, the (B,) values that are drawn, by key.
    """

    models: tuple[str, ...]
    trees: tuple[Node, ...]
    metrics: tuple[Mapping[Key, Float], ...]

    @cached_property
    def keys(self) -> frozenset[Key]:
        """The metrics that are drawn."""
        return frozenset(self.metrics[0])

    def blocks(self, n_drawn: int) -> Iterator[Stand]:
        """The same trees, so many at once that `n_drawn` alternatives of each stay near the processor."""
        step = max(1, ROWS // max(1, n_drawn))
        for begin in range(0, len(self.models), step):
            some = slice(begin, begin + step)
            yield Stand(self.models[some], self.trees[some], self.metrics[some])

    def evaluate(self, draw: Draw) -> Grown:
        """All nodes of the trees.

        Args:
            draw: units and weights, as for `scoring.tree.evaluate`; its metrics are passed over.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return _grow(self.trees, self.metrics, draw, ())


def stands(trees: Mapping[str, Node], metrics: Mapping[str, Mapping[Key, Float]] | None = None) -> list[Stand]:
    """The trees by shape, and by which of their metrics there are, models in alphabetical order.

    Args:
        metrics: by model, the values of metrics that are drawn, by key; None: none are.
    """
    drawn = {model: (metrics or {}).get(model, {}) for model in trees}
    return _stands(trees, drawn, lambda model: (trees[model].shape, _there(trees[model]), frozenset(drawn[model])))


def alike(trees: Mapping[str, Node], metrics: Mapping[str, Mapping[Key, Float]] | None = None) -> list[Stand]:
    """As `stands`, whichever of their metrics there are: fewer stands, for what asks for values alone."""
    drawn = {model: (metrics or {}).get(model, {}) for model in trees}
    return _stands(trees, drawn, lambda model: (trees[model].shape, frozenset(drawn[model])))


def _stands(
    trees: Mapping[str, Node], drawn: Mapping[str, Mapping[Key, Float]], kind: Callable[[str], Hashable]
) -> list[Stand]:
    found: dict[Hashable, list[str]] = {}
    for model in sorted(trees):
        found.setdefault(kind(model), []).append(model)
    return [
        Stand(tuple(own), tuple(trees[model] for model in own), tuple(drawn[model] for model in own))
        for own in found.values()
    ]


def forest_scores(
    trees: Mapping[str, Node], draw: Draw, metrics: Mapping[str, Mapping[Key, Float]] | None = None
) -> dict[str, Float]:
    """By model, (B,) or () the value of its tree; as `scoring.tree.score`."""
    n_drawn = max([len(drawn) for drawn in (*draw.units.values(), *draw.weights.values())], default=1)
    found: dict[str, Float] = {}
    for stand in alike(trees, metrics):
        for block in stand.blocks(n_drawn):
            value = block.evaluate(draw).value
            found.update(zip(block.models, value, strict=True))
    return {model: np.asarray(found[model]) for model in sorted(found)}


def _there(node: Node) -> tuple[bool, ...]:
    """Of each leaf whether it has a value, from the first to the last."""
    return tuple([leaf.evidence.value is not None for leaf in node.leaves])


def _grow(nodes: Sequence[Node], metrics: Sequence[Mapping[Key, Float]], draw: Draw, path: Path) -> Grown:
    first = nodes[0]
    own = (*path, first.name)
    if first.leaf is not None:
        return Grown(own, nodes, _leaf_values(nodes, metrics), np.array(not first.leaf.left_out))
    parts = tuple(_grow([node.parts[i] for node in nodes], metrics, draw, own) for i in range(len(first.parts)))
    if not parts:
        return Grown(own, nodes, np.full(len(nodes), np.nan), np.array(False))
    weights = [_weight(part, draw) for part in parts]
    n_drawn = max([w.shape[0] for w in weights if w.ndim] + [p.value.shape[1] for p in parts if p.value.ndim > 1] + [0])
    values = [part.value for part in parts]
    if n_drawn > 1:
        whole = len(nodes), n_drawn
        weights = [w if w.shape == whole[1:] else np.broadcast_to(w, whole[1:]) for w in weights]
        values = [v if v.shape == whole else np.broadcast_to(v[:, None] if v.ndim == 1 else v, whole) for v in values]
        value, shares = _combined(values, weights, first.how, first.absent)
    else:
        rows, shares_of = _combined_few(values, weights, first.how, first.absent)
        value, shares = (rows[:, None], [s[:, None] for s in shares_of]) if n_drawn else (rows, shares_of)
    if first.decimals is not None:
        value = np.round(value, first.decimals)
    present = np.array([np.broadcast_to(w, (n_drawn,) if n_drawn else ()) for w in weights]).sum(axis=0) > 0
    return Grown(own, nodes, value, np.asarray(present), tuple(shares), parts)


def _weight(part: Grown, draw: Draw) -> Float:
    """(B,) or () as in `scoring.tree`: that of all trees is the same."""
    node = part.nodes[0]
    own = draw.weights.get(part.path)
    weight = np.array(node.weight) if own is None else own
    return np.asarray(weight * draw.units.get(node.unit, 1.0) * part.present)


def _leaf_values(nodes: Sequence[Node], metrics: Sequence[Mapping[Key, Float]]) -> Float:
    """(m, B), or (m,) where the metric is not drawn."""
    leaves = [node.leaf for node in nodes if node.leaf is not None]
    key = leaves[0].key
    if key in metrics[0]:
        raw = np.array([drawn[key] for drawn in metrics])
    else:
        raw = np.array([np.nan if leaf.evidence.value is None else leaf.evidence.value for leaf in leaves], np.float64)
    missing = np.isnan(raw)
    lacking = bool(missing.any())
    filled = np.where(missing, 1.0, raw) if lacking else raw
    rows: dict[object, list[int]] = {}
    for row, leaf in enumerate(leaves):
        scale = leaf.normalise
        rows.setdefault(scale if isinstance(scale, Scale) else id(scale), []).append(row)
    if len(rows) == 1:
        value = np.asarray(leaves[0].normalise(filled), np.float64)
    else:
        value = np.empty(raw.shape)
        for some in rows.values():
            value[some] = leaves[some[0]].normalise(filled[some])
    return np.where(missing, np.nan, value) if lacking else value


def _combined_few(
    values: Sequence[Float], weights: Sequence[Float], how: How, absent: float | None
) -> tuple[Float, list[Float]]:
    """As `combine` for a single alternative: (m,) means and shares of (m,) or (m, 1) values.

    Sums over parts that lie side by side, as they do in the tree of one model: numpy adds those in another order.
    """
    v = np.ascontiguousarray(np.array([np.reshape(value, -1) for value in values]).T)
    w = np.broadcast_to(np.array([float(np.reshape(weight, -1)[0]) for weight in weights]), v.shape)
    there = ~np.isnan(v)
    measured = (there & (w > 0)).any(axis=1)
    if absent is None:
        w = np.where(there, w, 0.0)
    else:
        v = np.where(there, v, absent)
    used = w > 0
    filled = np.where(used, v, 1.0)
    shares = np.where(used, w / np.ascontiguousarray(w).sum(axis=1)[:, None], 0.0)
    found = _back(np.where(shares > 0, shares * _forth(filled, how), 0.0).sum(axis=1), how)
    low, high = np.where(used, v, np.inf).min(axis=1), np.where(used, v, -np.inf).max(axis=1)
    return np.where(measured, np.minimum(np.maximum(found, low), high), np.nan), list(shares.T)


def _combined(
    values: Sequence[Float], weights: Sequence[Float], how: How, absent: float | None
) -> tuple[Float, list[Float]]:
    """As `combine`: (m, B) means and shares (m or 1, B) of values (m, B) with weights (B,), part after part."""
    there = [~missing if (missing := np.isnan(value)).any() else None for value in values]
    w: list[Float] = list(weights)
    measured: NDArray[np.bool_] | None = None
    if any(t is not None for t in there):
        measured = np.zeros(values[0].shape, np.bool_)
        for t, weight in zip(there, weights, strict=True):
            measured |= (weight > 0) if t is None else t & (weight > 0)
        if absent is None:
            w = [weight if t is None else np.where(t, weight, 0.0) for t, weight in zip(there, weights, strict=True)]
        else:
            values = [v if t is None else np.where(t, v, absent) for t, v in zip(there, values, strict=True)]
    elif not all((weight > 0).all() for weight in weights):
        measured = np.zeros(weights[0].shape, np.bool_)
        for weight in weights:
            measured |= weight > 0
    total = w[0].astype(np.float64, copy=True)
    for weight in w[1:]:
        total = total + weight
    shares: list[Float] = []
    found = low = high = np.empty(0)
    for i, (value, weight) in enumerate(zip(values, w, strict=True)):
        used = weight > 0
        everywhere = bool(used.all())
        share = weight / total if everywhere else np.where(used, weight / total, 0.0)
        filled = value if everywhere else np.where(used, value, 1.0)
        term = share * _forth(filled, how)
        if not (share > 0).all():  # 0 × inf is NaN: what has no share must not speak
            term = np.where(share > 0, term, 0.0)
        lowest, highest = (value, value) if everywhere else (np.where(used, value, s) for s in (np.inf, -np.inf))
        found = term if i == 0 else found + term
        low = lowest if i == 0 else np.minimum(low, lowest)
        high = highest if i == 0 else np.maximum(high, highest)
        shares.append(share if share.ndim > 1 else share[None])
    inside = np.minimum(np.maximum(_back(found, how), low), high)
    return (inside if measured is None else np.where(measured, inside, np.nan)), shares


def _forth(values: Float, how: How) -> Float:
    """What the weighted mean is taken of."""
    if how is How.LOGARITHMIC_MEAN:
        return np.asarray(np.log(values))
    return np.asarray(1.0 / values) if how is How.HARMONIC_MEAN else values


def _back(mean: Float, how: How) -> Float:
    if how is How.LOGARITHMIC_MEAN:
        return np.asarray(np.exp(mean))
    return np.asarray(1.0 / mean) if how is How.HARMONIC_MEAN else mean
