"""The values of units, such as tasks, by themselves: a unit has one node of a tree, or one for each label type."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scoring.evaluation import Evaluated
from scoring.tree import Float, Path


def unit_values(evaluated: Evaluated, varying: Collection[Path]) -> dict[str, Float]:
    """By unit, (m, B) its value: the mean over its nodes, with the weights of the label types that these are in.

    Args:
        varying: the nodes that were resampled; units without one are left out.
    """
    nodes: dict[str, list[_UnitNode]] = {}
    for unit, node in _unit_nodes(evaluated, np.ones((1, 1))):
        nodes.setdefault(unit, []).append(node)
    means = {unit: _mean(of_unit) for unit, of_unit in nodes.items() if any(node.path in varying for node in of_unit)}
    return {unit: np.broadcast_to(mean, (len(evaluated.nodes), mean.shape[1])) for unit, mean in means.items()}


class _UnitNode(NamedTuple):
    """A node of a unit in m trees.

    Args:
        share: (m, B) of the node above among its neighbours.
        values: (m, B), where NaN counts what it counts in the node above.
    """

    path: Path
    share: Float
    values: Float


def _unit_nodes(evaluated: Evaluated, share: Float) -> Iterator[tuple[str, _UnitNode]]:
    """The uppermost nodes of units, each with its unit.

    Args:
        share: (m, B) of `evaluated` among its neighbours.
    """
    for part, part_share in zip(evaluated.parts, evaluated.shares, strict=True):
        if unit := part.nodes[0].unit:
            absent = evaluated.nodes[0].absent
            values = part.values if absent is None else np.where(np.isnan(part.values), absent, part.values)
            yield unit, _UnitNode(part.path, share, values)
        else:
            yield from _unit_nodes(part, part_share)


def _mean(nodes: Sequence[_UnitNode]) -> Float:
    """(m, B) the mean of the values that are not NaN, by the shares."""
    if len(nodes) == 1:
        return nodes[0].values
    weights = [np.where(np.isnan(node.values), 0.0, node.share) for node in nodes]
    sums = [weight * np.nan_to_num(node.values) for weight, node in zip(weights, nodes, strict=True)]
    with np.errstate(invalid="ignore"):
        return np.asarray(sum(sums) / sum(weights))
