"""Many scores explained at once: the terms that `scoring.tree.explained` gives one by one, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat

from scoring.explanation import Numbered, term_of
from scoring.forest import Grown, alike
from scoring.term import Term
from scoring.tree import Draw, Float, Key, Node, leaves_out, with_left_out


def explained_forest(trees: Mapping[str, Node]) -> dict[str, Term]:
    """By model, the own numbers of its tree as a tree of terms."""
    numbers = forest_numbers(trees)
    worst = forest_numbers({model: with_left_out(tree) for model, tree in trees.items() if leaves_out(tree)})
    return {model: term_of(own, worst.get(model)) for model, own in numbers.items()}


def forest_numbers(
    trees: Mapping[str, Node], metrics: Mapping[str, Mapping[Key, Float]] | None = None
) -> dict[str, Numbered]:
    """By model, its tree with all its values; as `scoring.tree.own_numbers`.

    Args:
        metrics: by model and key, (1,) values in place of those that the leaves have.
    """
    found: dict[str, Numbered] = {}
    for stand in alike(trees, metrics):
        found.update(zip(stand.models, _numbered(stand.evaluate(Draw())), strict=True))
    return {model: found[model] for model in trees}


def _numbered(grown: Grown) -> list[Numbered]:
    """A node of each tree with its value, and all below it."""
    n, present = len(grown.nodes), bool(grown.present.all())
    values = _each(grown.value, n)
    if not grown.parts:
        return [Numbered(node, value, present) for node, value in zip(grown.nodes, values, strict=True)]
    shares = zip(*[_each(share, n) for share in grown.shares], strict=True)
    parts = zip(*[_numbered(part) for part in grown.parts], strict=True)
    return list(map(Numbered, grown.nodes, values, repeat(present), shares, parts))


def _each(numbers: Float, n: int) -> list[float]:
    """Those of n trees; one for all where they are the same."""
    flat: list[float] = numbers.reshape(-1).tolist()
    return flat if len(flat) == n else flat * n
