"""Trees of scores for `leaderboard.json`: the trees that models share, and the values of each model."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Hashable, Mapping
from typing import Any, NamedTuple, TypedDict

from judge.disclosure.redaction import public_score
from judge.ranking.interval_cache import IntervalCache, key_of
from judge.ranking.leaderboard import Row
from judge.view.leaderboard_schema import LeafFile, NodeFile, Number
from scoring import Node, Term
from scoring.lambench.answers import RelativeError
from scoring.names import Variant
from scoring.tree import Leaf

DIVISOR = "divisor"  # a number of a scale that differs between models


class LeafValues(TypedDict):
    """The fields of `ScoreValues` that follow from a tree."""

    leaves: tuple[Number | None, ...]
    divisors: dict[int, float]
    left_out: tuple[int, ...]


def tree_data(tree: Node) -> NodeFile:
    """The tree without the values of its model. Models with the same tasks have equal results."""
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
    """The values of the tree's model at the leaves, from the first to the last."""
    leaves = tree.leaves
    return {
        "leaves": tuple(None if leaf.raw.value is None else _number(leaf.raw.value) for leaf in leaves),
        "divisors": {
            index: leaf.scale.divisor
            for index, leaf in enumerate(leaves)
            if isinstance(leaf.scale, RelativeError) and leaf.scale.divisor != 1.0
        },
        "left_out": tuple(index for index, leaf in enumerate(leaves) if leaf.left_out),
    }


class SharedTrees:
    """Different trees, each once, in the order of their first use."""

    def __init__(self) -> None:
        self._indices: dict[str, int] = {}
        self.trees: list[NodeFile] = []

    def index(self, tree: str) -> int:
        """The position of a tree among them; it is added if it is new.

        Args:
            tree: its `tree_data`, as JSON.
        """
        if tree not in self._indices:
            self._indices[tree] = len(self.trees)
            self.trees.append(NodeFile.model_validate_json(tree))
        return self._indices[tree]


class ExportedTerm(NamedTuple):
    """A public term in `leaderboard.json`.

    Args:
        tree: its `tree_data`, as JSON.
        values: fields of `ScoreValues` that follow from the term.
    """

    tree: str
    values: Mapping[str, Any]


class Exporter:
    """Exports terms of a public board.

    Args:
        public: the names of the public data sets.
        kept: the exported terms of the last build.
    """

    def __init__(self, public: Collection[str] = (), kept: IntervalCache | None = None) -> None:
        self._public, self._kept = sorted(public), kept
        self._trees: dict[Hashable, str] = {}

    def of_row(self, row: Row, variant: Variant) -> Mapping[str, ExportedTerm]:
        """The terms of a row by key: they follow from the stored scores (`Row.made_from`) and from what is public."""
        terms = row.scores if variant is Variant.CORRECTED else row.as_published
        if self._kept is None or not row.made_from:
            return {key: self.exported(key, term) for key, term in terms.items()}
        kept_key = key_of("exported", variant, row.made_from, self._public)
        entry: dict[str, tuple[str, dict[str, Any]]] = json.loads(self._kept.get(kept_key) or b"{}")
        known = {key: ExportedTerm(self._kept.get(tree).decode(), _read(each)) for key, (tree, each) in entry.items()}
        if known.keys() == terms.keys() and all(each.tree for each in known.values()):
            return known
        made = {key: self.exported(key, term) for key, term in terms.items()}
        trees = {key: key_of("exported tree", each.tree) for key, each in made.items()}
        for key, each in made.items():
            self._kept.put(trees[key], each.tree.encode())
        plain = {key: (trees[key], _plain(each.values)) for key, each in made.items()}
        self._kept.put(kept_key, json.dumps(plain).encode())
        return made

    def exported(self, key: str, term: Term) -> ExportedTerm:
        """A term; `key` is that of its score."""
        tree_key = _tree_key(term.node)
        if tree_key not in self._trees:
            self._trees[tree_key] = tree_data(term.node).model_dump_json()
        values = {
            **leaf_values(term.node),
            "score": public_score(key, term.value),
            "at_worst": public_score(key, term.at_worst),
            "covered": term.covered,
            "total": term.total,
        }
        return ExportedTerm(self._trees[tree_key], values)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {**values, "divisors": list(values["divisors"].items())}  # JSON has only texts as keys


def _read(values: dict[str, Any]) -> dict[str, Any]:
    sequences = {name: tuple(values[name]) for name in ("leaves", "left_out")}
    return {**values, **sequences, "divisors": dict(map(tuple, values["divisors"]))}


def _tree_key(tree: Node) -> Hashable:
    """A key that is equal for trees with equal `tree_data`; it takes a fraction of the time."""
    leaf = tree.leaf and _leaf_key(tree.leaf)
    parts = tuple([_tree_key(part) for part in tree.parts])
    absent = repr(tree.absent)  # NaN does not equal itself, but its text does
    return tree.name, tree.weight, tree.how, absent, tree.decimals, tree.unit, leaf, parts


def _leaf_key(leaf: Leaf) -> Hashable:
    raw, numbers = leaf.raw, leaf.scale.numbers()
    numbers.pop(DIVISOR, None)
    return raw.task, raw.metric, raw.unit, type(leaf.scale), *numbers.values()


def _leaf_data(leaf: Leaf) -> LeafFile:
    raw, numbers = leaf.raw, leaf.scale.numbers()
    numbers.pop(DIVISOR, None)
    plain = {name: value if isinstance(value, bool | str) else _number(value) for name, value in numbers.items()}
    return LeafFile(task=raw.task, metric=raw.metric, unit=raw.unit, scale=leaf.scale.name, numbers=plain)


def _number(value: float) -> Number:
    if math.isinf(value) and value > 0:
        return "Infinity"
    return float(value)
