"""Rows to compare models with: unranked submissions, the trivial model, and errors that others published.

The last two are not submissions. Their errors go through the trees of the models, so their scores are those of a model
with the same errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from judge.ranking.leaderboard import Leaderboard
from judge.records.published_submissions import record_path
from judge.records.results import submission_ids
from scoring import Node, Term, explain
from scoring.lambench.answers import RelativeError
from scoring.names import ERRORS, LAMBENCH, of_scheme
from scoring.tree import Leaf
from submissions.records import Submission
from submissions.store.interface import Store, StoreError
from submissions.store.read_record import read_record
from tasks.suites.suite import TRIVIAL, StatedReference

COMPOSITION_ONLY = f"reference:{TRIVIAL}"
NAME = "Composition only"
ABOUT = (
    "The trivial model of each task, that errors are divided by: one that knows the composition alone, or answers "
    "zero. Of equations of state there is none, and how far PBE lies from experiment stands in its place. Nobody "
    "submitted it; it is 1 by definition."
)
_UNKNOWN = "not known"


@dataclass(frozen=True)
class ReferenceRow:
    """A row without a rank.

    Args:
        id: of the submission; for other rows, an ID that no submission can have.
        about: what it is, in a sentence.
        source: of its numbers; empty if this judge measured them.
        scores: by key. A number that needs an unknown metric has no value.
        page: path in the site; empty if it has none.
    """

    id: str
    name: str
    about: str
    source: str
    scores: Mapping[str, Term]
    page: str = ""


def unknown_references(store: Store, references: Collection[str]) -> tuple[str, ...]:
    """The `references` that are neither the ID nor the name of a submission in the store."""
    ids = submission_ids(store)
    unknown = set(references) - set(ids)
    for id in ids:
        if not unknown:
            break
        with suppress(StoreError):  # `read_board` reports records that cannot be read
            unknown.discard(read_record(store, record_path(id), Submission).card.name)
    return tuple(name for name in references if name in unknown)


def judged_references(board: Leaderboard) -> tuple[ReferenceRow, ...]:
    """The submissions that are compared only."""
    return tuple(
        ReferenceRow(
            row.submission.id,
            row.submission.card.name,
            row.reference,
            "",
            {key: row.scores[key] for key in of_scheme(LAMBENCH)},
            page=row.page,
        )
        for row in board.references
    )


def computed_references(board: Leaderboard) -> tuple[ReferenceRow, ...]:
    """The composition-only model and the rows that the suite states; none if no model has a score to compute."""
    fullest = {key: tree for key in ERRORS if (tree := _fullest(board, key))}
    if not fullest:
        return ()
    trivial = {key: _with_leaves(tree, _at_baseline) for key, tree in fullest.items()}
    return (
        _reference(COMPOSITION_ONLY, NAME, ABOUT, board.release.source, trivial),
        *(row for stated in board.suite.references if (row := _stated(stated, fullest)).scores),
    )


def _reference(id: str, name: str, about: str, source: str, trees: Mapping[str, Node]) -> ReferenceRow:
    """A row with the scores of the trees that have any value."""
    scores = {key: explain(tree) for key, tree in trees.items()}
    return ReferenceRow(id, name, about, source, {key: term for key, term in scores.items() if term.covered})


def _stated(stated: StatedReference, fullest: Mapping[str, Node]) -> ReferenceRow:
    """Scores of a row that the suite states. A missing metric gives no value; it does not count as the worst value."""
    trees = {
        key: _unless_known(_with_leaves(tree, lambda leaf: _at(leaf, stated.metrics))) for key, tree in fullest.items()
    }
    return _reference(f"reference:{stated.slug}", stated.name, stated.about, stated.source, trees)


def _fullest(board: Leaderboard, key: str) -> Node | None:
    """The corrected tree with the most baselines: a tree has no baseline for a metric that its model lacks."""
    trees = [term.node for row in board.rows if (term := row.scores.get(key)) and term.parts]
    return max(trees, key=lambda tree: sum(_baseline(leaf) is not None for leaf in tree.leaves), default=None)


def _baseline(leaf: Leaf) -> float | None:
    return leaf.scale.baseline if isinstance(leaf.scale, RelativeError) else None


def _at_baseline(leaf: Leaf) -> Leaf:
    """The leaf with the error of the trivial model."""
    return _valued(leaf, _baseline(leaf))


def _at(leaf: Leaf, metrics: Mapping[str, Mapping[str, float]]) -> Leaf:
    """The leaf with the error that the suite states; None if it states none."""
    known = None if _baseline(leaf) is None else metrics.get(leaf.raw.task, {}).get(leaf.raw.metric)
    return _valued(leaf, known)


def _valued(leaf: Leaf, value: float | None) -> Leaf:
    raw = leaf.raw._replace(value=value, n_items=0, n_failed=0, uncharged=None)
    return replace(leaf, raw=raw, left_out=False)


def _with_leaves(node: Node, new_leaf: Callable[[Leaf], Leaf]) -> Node:
    if node.leaf is None:
        return replace(node, parts=tuple(_with_leaves(part, new_leaf) for part in node.parts))
    return replace(node, leaf=new_leaf(node.leaf))


def _unless_known(node: Node) -> Node:
    """The tree in which a node has no value if any part has none."""
    if node.leaf is not None:
        return node if node.leaf.raw.value is not None else replace(node, rule=_UNKNOWN)
    return replace(node, absent=math.nan, parts=tuple(_unless_known(part) for part in node.parts))
