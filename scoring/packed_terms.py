"""Terms as plain data for JSON, and back: most of a term is the same for all models with the same tasks.

A packed term has two parts. The form has names, rules, weights and scales; models share it. The numbers are those of
one model.
"""

from __future__ import annotations

from typing import Any

from scoring.lambench.answers import RelativeError
from scoring.lambench.efficiency import Speed
from scoring.lambench.instability import Decades
from scoring.mlipaudit.tree import Share
from scoring.normalisers import BetweenThresholds
from scoring.term import Term
from scoring.tree import AsItIs, How, Leaf, Node, RawMetric

_SCALES = {scale.name: scale for scale in (AsItIs, RelativeError, Speed, Decades, Share, BetweenThresholds)}

Plain = list[Any]


def packed(top: Term) -> tuple[Plain, Plain]:
    """The form and the numbers of a term. Parts stand before the term that has them."""
    terms = [*_upwards(top)]
    raws = [term.raw for term in terms if term.raw is not None]
    numbers = [
        *zip(*((t.value, t.covered, t.total, t.share, t.counted, t.at_worst, t.at_best) for t in terms), strict=True),
        *zip(*((raw.value, raw.n_items, raw.n_failed, raw.uncharged) for raw in raws), strict=True),
    ]
    return [_form_of(term.node) for term in terms], numbers


def _upwards(term: Term) -> Plain:
    return [*(below for part in term.parts for below in _upwards(part)), term]


def _form_of(node: Node) -> Plain:
    leaf = node.leaf
    metric = leaf and [
        [leaf.raw.task, leaf.raw.metric, leaf.raw.unit, leaf.raw.facts],
        [leaf.scale.name, leaf.scale.numbers()],
        leaf.left_out,
    ]
    fixed = [node.unit, node.pool, node.decimals, node.source]
    return [len(node.parts), [node.name, node.rule, node.weight], [node.how.value, node.absent], metric, fixed]


class Form:
    """The form of `packed`, ready for many models.

    Args:
        plain: as JSON gives it back.
    """

    def __init__(self, plain: Plain) -> None:
        self._nodes = [_Fixed(*each) for each in plain]

    def term(self, numbers: Plain) -> Term:
        """The term of a model with these numbers, as JSON gives them back."""
        raws = zip(*numbers[7:], strict=True)
        below: list[Term] = []
        for fixed, value, covered, total, share, counted, at_worst, at_best in zip(
            self._nodes, *numbers[:7], strict=True
        ):
            leaf = None
            if fixed.metric is not None:
                raw, n_items, n_failed, uncharged = next(raws)
                task, metric, unit, facts = fixed.metric
                leaf = Leaf(
                    RawMetric(task, metric, raw, unit, facts, n_items, n_failed, uncharged),
                    fixed.scale,
                    fixed.left_out,
                )
            parts: tuple[Term, ...] = ()
            if fixed.n_parts:
                parts = tuple(below[-fixed.n_parts :])
                del below[-fixed.n_parts :]
            node = Node(
                fixed.name,
                fixed.rule,
                fixed.weight,
                tuple([part.node for part in parts]),
                fixed.how,
                fixed.absent,
                leaf,
                *fixed.others,
            )
            below.append(Term(node, value, covered, total, share, counted, at_worst, at_best, parts))
        (top,) = below
        return top


class _Fixed:
    """What the nodes of all models have in common."""

    def __init__(self, n_parts: int, named: Plain, mean: Plain, metric: Plain | None, others: Plain) -> None:
        self.n_parts, self.others = n_parts, tuple(others)
        self.name, self.rule, self.weight = named
        self.how, self.absent = How(mean[0]), mean[1]
        self.metric = None
        if metric is not None:
            (task, name, unit, facts), (scale, constants), self.left_out = metric
            self.metric = task, name, unit, tuple(map(tuple, facts))
            self.scale = _SCALES[scale](**constants)
