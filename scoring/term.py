"""A score with its explanation: the values of a model's tree, down to single metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.evaluation import Evaluated, tree_groups
from scoring.tree import Float, Node, RawMetric, with_left_out


@dataclass
class Term:
    """A node of a model's tree with its value.

    Args:
        node: the name and the rule, the raw metric and the source; see `Node`.
        value: None only if nothing was measured, or the scheme gives no value.
        covered: number of measured tasks (or runs), out of `total`.
        total: number of tasks (or runs) that the score counts.
        share: of the weight in the term above; the shares of the parts of a term sum to 1.
        counted: what it counts in the term above without a value; None: it has a value, or it is left out.
        at_worst: the value if what was left out had the worst value; None if nothing was left out.
        at_best: the value if what is missing were perfect; None if nothing is missing, or if not asked for.
        parts: the terms below.
    """

    node: Node
    value: float | None
    covered: int
    total: int
    share: float = 1.0
    counted: float | None = None
    at_worst: float | None = None
    at_best: float | None = None
    parts: tuple[Term, ...] = ()

    @property
    def name(self) -> str:
        """A score, a domain, a label type, a task, a metric or a run."""
        return self.node.name

    @property
    def rule(self) -> str:
        """How the value is computed, in words."""
        return self.node.rule

    @property
    def source(self) -> str:
        """Publication of the rule and its facts."""
        return self.node.source

    @property
    def raw(self) -> RawMetric | None:
        """The raw metric, at a leaf."""
        return None if self.node.leaf is None else self.node.leaf.raw

    @property
    def complete(self) -> bool:
        """True if every task (or run) was measured."""
        return self.covered == self.total

    def part(self, name: str) -> Term | None:
        """The part of that name; None if there is none."""
        return next((part for part in self.parts if part.name == name), None)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Term]]:
        """This term and all below, each with its depth, from the top down."""
        yield depth, self
        for part in self.parts:
            yield from part.walk(depth + 1)


def explain(tree: Node) -> Term:
    """The values of a tree."""
    return explain_all({"": tree})[""]


def explain_all(trees: Mapping[str, Node]) -> dict[str, Term]:
    """By model, the values of its tree."""
    terms = _terms(trees)
    worst = _terms({model: with_left_out(tree) for model, tree in trees.items() if tree.leaves_out})
    return {model: _with_worst(terms[model], worst[model]) if model in worst else terms[model] for model in trees}


def _terms(trees: Mapping[str, Node]) -> dict[str, Term]:
    terms: dict[str, Term] = {}
    for group in tree_groups(trees):
        top = group.evaluate()
        terms.update(zip(group.models, _explained(top, [1.0] * len(group.models), None).terms, strict=True))
    return terms


class _Explained(NamedTuple):
    """A node of m trees.

    Args:
        covered: by unit at and below it, (m,) whether it has a value.
    """

    terms: Sequence[Term]
    covered: Mapping[str, NDArray[np.bool_]]


def _explained(evaluated: Evaluated, shares: Sequence[float], counts: float | None) -> _Explained:
    """The terms of a node.

    Args:
        shares: (m,) the share of the node in the node above.
        counts: what it counts there without a value; None: it is left out.
    """
    first, m = evaluated.nodes[0], len(evaluated.nodes)
    absent = None if first.absent is None or math.isnan(first.absent) else first.absent
    below = [
        _explained(part, _each(share, m), absent) for part, share in zip(evaluated.parts, evaluated.shares, strict=True)
    ]
    covered: dict[str, NDArray[np.bool_]] = {}
    for part in below:
        for unit, has_value in part.covered.items():
            covered[unit] = covered[unit] | has_value if unit in covered else has_value
    values = _each(evaluated.values, m)
    if first.leaf is not None:
        covered = {first.unit or "::".join(first.leaf.key): ~np.isnan(values)}
    elif first.unit:
        covered = {first.unit: np.any([np.zeros(m, np.bool_), *covered.values()], axis=0)}
    n_covered = np.sum([np.zeros(m, np.int64), *covered.values()], axis=0).tolist()
    parts = zip(*[part.terms for part in below], strict=True) if below else repeat((), m)
    terms = [
        Term(node, None, n, len(covered), share, counts if share > 0 else None, parts=of_node)
        if math.isnan(value)
        else Term(node, value, n, len(covered), share, parts=of_node)
        for node, value, n, share, of_node in zip(evaluated.nodes, values, n_covered, shares, parts, strict=True)
    ]
    return _Explained(terms, covered)


def _each(values: Float, m: int) -> list[float]:
    """(m,) the numbers of an array (m, 1), or (1, 1) if they are all equal."""
    numbers: list[float] = values.reshape(-1).tolist()
    return numbers if len(numbers) == m else numbers * m


def _with_worst(term: Term, worst: Term) -> Term:
    """The term, with the value of `worst` wherever something was left out."""
    if not term.node.leaves_out:
        return term
    parts = tuple(map(_with_worst, term.parts, worst.parts))
    return replace(term, at_worst=None if term.value is None else worst.value, parts=parts)


def explained_with_best(trees: Mapping[str, Node]) -> dict[str, Term]:
    """By model, the values of its `corrected` tree.

    `value`, by which models are ranked, counts a missing metric as 0. `at_best` counts it as 1, and is None if nothing
    with a weight is missing. Every level has both; they are 0 and 1 if a model has no metric at all.
    """
    terms = explain_all(trees)
    incomplete = {model: tree for model, tree in trees.items() if any(leaf.raw.value is None for leaf in tree.leaves)}
    best = explain_all({model: _with_missing_as_good(tree) for model, tree in incomplete.items()})
    return terms | {model: _with_best(terms[model], term) for model, term in best.items()}


def _with_missing_as_good(node: Node) -> Node:
    return replace(node, absent=1.0, parts=tuple([_with_missing_as_good(part) for part in node.parts]))


def _with_best(term: Term, best: Term) -> Term:
    parts = tuple(map(_with_best, term.parts, best.parts))
    incomplete = term.raw is not None and term.raw.value is None
    incomplete = incomplete or any(part.at_best is not None and part.share > 0 for part in parts)
    at_best = 1.0 if best.value is None else best.value
    return replace(term, value=term.value or 0.0, at_best=at_best if incomplete else None, parts=parts)


def as_data(term: Term) -> dict[str, object]:
    """The tree as plain data for JSON: null for numbers that are not finite, no entry for empty fields."""
    data: dict[str, object] = {
        "name": term.name,
        "value": _finite(term.value),
        "rule": term.rule,
        "share": term.share,
        "covered": term.covered,
        "total": term.total,
    }
    for name, value in (("counted", term.counted), ("at_worst", term.at_worst), ("at_best", term.at_best)):
        if value is not None:
            data[name] = _finite(value)
    if term.source:
        data["source"] = term.source
    if term.raw is not None:
        raw = term.raw._asdict()
        if not term.raw.n_items:  # not known
            del raw["n_items"], raw["n_failed"]
        data["evidence"] = raw | {
            "value": _finite(term.raw.value),
            "uncharged": _finite(term.raw.uncharged),
            "facts": dict(term.raw.facts),
        }
    if term.parts:
        data["parts"] = [as_data(part) for part in term.parts]
    return data


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
