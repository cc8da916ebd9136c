"""How a score is computed: a tree of numbers down to the raw metrics, each with its share in the number above it.

If the scheme as published gives another number, that number stands in the same tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from judge.ranking.leaderboard import Leaderboard, Row
from judge.view import formatting
from judge.view.escaping import percent
from judge.view.score_display import OTHERS, known, uncertainty_of
from scoring import Term
from scoring.intervals import Interval, Uncertainty
from scoring.tree import AsItIs, Leaf

PLACES = 4


class Published(NamedTuple):
    """A number as published, if it differs.

    Args:
        words: the number, or that there is none.
        share: its share in the published number above; None if the share is the same or if there is no number.
        rule: the published rule; empty if it is the same.
    """

    words: str
    share: float | None = None
    rule: str = ""


class Branch(NamedTuple):
    """One number of a score as text, with its parts.

    Args:
        number: as text; a dash if there is none.
        counted: whether the number has no value of its own and is what it counts in the number above.
        up_to: its value if all missing parts had their worst, or their best, value.
        share: its share in the number above; None at the top.
        source: of rule and facts; empty if it is that of the number above.
        published: the number as published; None if it does not differ.
    """

    name: str
    number: str
    counted: bool
    up_to: float | None
    interval: Interval | None
    share: float | None
    rule: str
    raw: str
    source: str
    published: Published | None
    parts: tuple[Branch, ...]


def score_trees(board: Leaderboard, row: Row, keys: Sequence[str]) -> tuple[Branch, ...]:
    """Each score of a row as a tree, other schemes last. A raw metric has its facts in its first place only."""
    described: set[tuple[str, str]] = set()
    trees = []
    for key in keys:
        corrected, published = row.scores[key], row.as_published[key]
        tree = _TreeWriter(board, uncertainty_of(board, key, row), described).branch(corrected, published, (), "")
        trees.append(tree._replace(share=None, source=corrected.source or board.release.source))
    for name, label in OTHERS.items():
        if name in row.scores:
            corrected, other = row.scores[name], row.as_published.get(name)
            tree = _TreeWriter(board, uncertainty_of(board, name, row), described).branch(corrected, other, (), "")
            trees.append(tree._replace(name=label, share=None))
    return tuple(trees)


def differs_as_published(branch: Branch) -> bool:
    """Whether any number of a tree differs as published."""
    return branch.published is not None or any(differs_as_published(part) for part in branch.parts)


class _TreeWriter(NamedTuple):
    """Writes the tree of one score.

    Args:
        uncertainty: the intervals of the score.
        described: tasks and metrics whose facts are already written.
    """

    board: Leaderboard
    uncertainty: Uncertainty | None
    described: set[tuple[str, str]]

    def branch(self, term: Term, published: Term | None, path: tuple[str, ...], above: str) -> Branch:
        """A number and its parts.

        Args:
            path: the names above it.
            above: the source of the number above.
        """
        here, source = (*path, term.name), term.source or above
        published_parts = {part.name: part for part in published.parts} if published is not None else {}
        raw = term.raw
        return Branch(
            formatting.metric_label(term.name) if raw and raw.metric == term.name else self._label(term.name),
            _number(term),
            term.counted is not None,
            term.at_worst if term.at_worst is not None else term.at_best,
            known(self.uncertainty.nodes.get(here)) if self.uncertainty else None,
            term.share,
            term.rule,
            self._evidence(term.node.leaf, term.name) if term.node.leaf else "",
            source if source != above else "",
            _published(term, published),
            (
                *(
                    self._part(part, published_parts.get(part.name), bool(published_parts), here, source)
                    for part in term.parts
                ),
                *(
                    _only_published(part, self._label(part.name))
                    for name, part in published_parts.items()
                    if term.part(name) is None
                ),
            ),
        )

    def _label(self, name: str) -> str:
        return self.board.suite.label_of(name)

    def _part(
        self, term: Term, published: Term | None, any_published: bool, path: tuple[str, ...], source: str
    ) -> Branch:
        """A number below another. If the published scheme lacks a whole branch, only its top says so."""
        branch = self.branch(term, published, path, source)
        return branch._replace(published=Published("without it")) if any_published and published is None else branch

    def _evidence(self, leaf: Leaf, under: str) -> str:
        if leaf.key in self.described:
            return ""
        self.described.add(leaf.key)
        if isinstance(leaf.scale, AsItIs):  # the number is the metric itself
            return ""
        interval = known(self.uncertainty.metrics.get(leaf.key)) if self.uncertainty else None
        return formatting.evidence_words(leaf.raw, under, interval)


def _only_published(term: Term, label: str) -> Branch:
    """A number that only the scheme as published has, without its parts."""
    published = Published(_number(term), term.share)
    return Branch(label, formatting.NONE, False, None, None, None, term.rule, "", term.source, published, ())


def _number(term: Term) -> str:
    return formatting.decimals(term.value if term.counted is None else term.counted, PLACES)


def _published(term: Term, published: Term | None) -> Published | None:
    """The number as published; None if a reader would see no difference."""
    if published is None:
        return None
    value = _number(published)
    share = None if percent(published.share) == percent(term.share) else published.share
    if (value, published.counted is None) == (_number(term), term.counted is None) and share is None:
        return None
    rule = "" if published.rule == term.rule else published.rule
    if published.value is None and published.counted is None:
        return Published("left out" if published.share == 0 else "no value", None, rule)
    return Published(f"counts {value}" if published.counted is not None else value, share, rule)
