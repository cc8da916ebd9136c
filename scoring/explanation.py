"""A score as it is explained: the tree's own numbers, one model at a time, as terms with their shares.

As `scoring.tree.evaluate` with nothing drawn, to the last bit, and much faster: most trees are evaluated once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scoring.term import Term
from scoring.tree import How, Key, Node, leaves_out, with_left_out

NOTHING_SET: Mapping[Key, float] = {}
NO_UNITS: frozenset[str] = frozenset()


class Numbered(NamedTuple):
    """A node and its own value, NaN where it has none, as `Valued` has it of many alternatives."""

    node: Node
    value: float
    present: bool
    shares: tuple[float, ...] = ()
    parts: tuple[Numbered, ...] = ()


def explained(node: Node) -> Term:
    """The node's own numbers as a tree of terms."""
    with np.errstate(divide="ignore", invalid="ignore"):
        worst = own_numbers(with_left_out(node)) if leaves_out(node) else None
        return term_of(own_numbers(node), worst)


def own_numbers(node: Node, metrics: Mapping[Key, float] = NOTHING_SET) -> Numbered:
    """The node with its own values and those of all nodes below it: as `evaluate`, to the last bit, and much faster.

    Args:
        metrics: by key, values in place of those that the leaves have.
    """
    if node.leaf is not None:
        raw = metrics.get(node.leaf.key, node.leaf.evidence.value)
        value = math.nan if raw is None or math.isnan(raw) else float(node.leaf.normalise(np.array(raw)))
        return Numbered(node, value, not node.leaf.left_out)
    parts = tuple([own_numbers(part, metrics) for part in node.parts])
    if not parts:
        return Numbered(node, math.nan, False)
    weights = [part.node.weight * part.present for part in parts]
    value, shares = _combined([part.value for part in parts], weights, node.how, node.absent)
    if node.decimals is not None:
        value = float(np.round(value, node.decimals))
    return Numbered(node, value, sum(weights) > 0, shares, parts)


def _combined(
    values: list[float], weights: list[float], how: How, absent: float | None
) -> tuple[float, tuple[float, ...]]:
    """As `combine`, of k numbers. What numpy rounds in its own way is left to it: sums and logarithms."""
    missing = [math.isnan(value) for value in values]
    measured = any(weight > 0 and not lacks for weight, lacks in zip(weights, missing, strict=True))
    if absent is None:
        weights = [0.0 if lacks else weight for weight, lacks in zip(weights, missing, strict=True)]
    else:
        values = [absent if lacks else value for value, lacks in zip(values, missing, strict=True)]
    total = _sum(weights)
    shares = tuple([weight / total if weight > 0 else 0.0 for weight in weights])
    if not measured:
        return math.nan, shares
    used = [value for value, weight in zip(values, weights, strict=True) if weight > 0]
    if any(map(math.isnan, used)):
        return math.nan, shares
    filled = [value if weight > 0 else 1.0 for value, weight in zip(values, weights, strict=True)]
    match how:
        case How.MEAN:
            value = _shared(filled, shares)
        case How.LOGARITHMIC_MEAN:
            value = float(np.exp(_shared(np.log(np.array(filled)).tolist(), shares)))
        case How.HARMONIC_MEAN:
            value = float(1.0 / np.array(_shared((1.0 / np.array(filled)).tolist(), shares)))
    return value if math.isnan(value) else min(max(value, min(used)), max(used)), shares


def _shared(values: list[float], shares: Sequence[float]) -> float:
    return _sum([share * value if share > 0 else 0.0 for value, share in zip(values, shares, strict=True)])


def _sum(values: list[float]) -> float:
    """As numpy adds numbers up: those of a long list in pairs."""
    return float(np.add.reduce(np.array(values, np.float64)))


def term_of(own: Numbered, worst: Numbered | None) -> Term:
    """The term of a tree.

    Args:
        worst: the same tree with all that is left out counted as absent; None where nothing is.
    """
    return _explained(own, worst, 1.0, None)[0]


def _explained(
    valued: Numbered, worst: Numbered | None, share: float, counts: float | None
) -> tuple[Term, frozenset[str], frozenset[str]]:
    """The term of a node; the units at and below it that have a value, and all of them; a leaf that belongs to no unit
    is its own.
    """
    node, missing = valued.node, math.isnan(valued.value)
    if node.leaf is not None and worst is None:  # most nodes are such
        own = frozenset((node.unit or "::".join(node.leaf.key),))
        counted = counts if missing and share > 0 else None
        value, covered = (None, NO_UNITS) if missing else (valued.value, own)
        evidence, source = node.leaf.evidence, node.source
        term = Term(node.name, value, node.rule, len(covered), 1, share, counted, evidence=evidence, source=source)
        return term, covered, own
    left_out = worst is not None and leaves_out(node)
    below = worst.parts if worst is not None and left_out else (None,) * len(valued.parts)
    absent = None if node.absent is None or math.isnan(node.absent) else node.absent
    parts = [_explained(p, w, s, absent) for p, w, s in zip(valued.parts, below, valued.shares, strict=True)]
    covered = NO_UNITS.union(*[part[1] for part in parts])
    total = NO_UNITS.union(*[part[2] for part in parts])
    if node.leaf is not None:
        total = frozenset({node.unit or "::".join(node.leaf.key)})
        covered = NO_UNITS if missing else total
    elif node.unit:
        total = frozenset({node.unit})
        covered = total if covered else NO_UNITS
    term = Term(
        name=node.name,
        value=None if missing else valued.value,
        rule=node.rule,
        covered=len(covered),
        total=len(total),
        weight=share,
        counted=counts if missing and share > 0 else None,
        at_worst=worst.value if worst is not None and left_out and not missing else None,
        evidence=node.leaf.evidence if node.leaf else None,
        source=node.source,
        parts=tuple([part[0] for part in parts]),
    )
    return term, covered, total
