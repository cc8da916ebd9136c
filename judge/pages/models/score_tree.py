"""Why a score is what it is: each number with its share in the one above it, down to the raw metric.

What a scheme as published comes to otherwise stands with the same number, so that there is one tree to read.
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
    """What a number is as published.

    Args:
        words: the number; or that it is left out, or that there is no such number.
        share: in the published number above; None where it is the same, or the number is not there.
        rule: empty where it is the same.
    """

    words: str
    share: float | None = None
    rule: str = ""


class Branch(NamedTuple):
    """One number of a score as text and what it is made of; `share` is None at the top.

    Args:
        worth: the number; a dash where there is none.
        counted: whether that is what it counts in the number above, since it has no value.
        up_to: its value if what is missing, or was left out, came out at the other end.
        source: of rule and facts, where it is another than that of the number above.
        published: where that reads otherwise.
    """

    name: str
    worth: str
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
    """Each score of a row as a tree, those of other schemes last. A raw metric is told where it first stands."""
    told: set[tuple[str, str]] = set()
    trees = []
    for key in keys:
        corrected, published = row.scores[key], row.as_published[key]
        tree = _Reading(uncertainty_of(board, key, row), told).branch(corrected, published, (), "")
        trees.append(tree._replace(share=None, source=corrected.source or board.release.source))
    for name, label in OTHERS.items():
        if name in row.scores:
            corrected, other = row.scores[name], row.as_published.get(name)
            tree = _Reading(uncertainty_of(board, name, row), told).branch(corrected, other, (), "")
            trees.append(tree._replace(name=label, share=None))
    return tuple(trees)


def is_otherwise(branch: Branch) -> bool:
    """Whether anything of a tree is otherwise as published."""
    return branch.published is not None or any(is_otherwise(part) for part in branch.parts)


class _Reading(NamedTuple):
    """One score as it is read.

    Args:
        firm: its intervals.
        told: tasks and metrics that were told in full before.
    """

    firm: Uncertainty | None
    told: set[tuple[str, str]]

    def branch(self, term: Term, published: Term | None, path: tuple[str, ...], above: str) -> Branch:
        """A number and what is below it.

        Args:
            path: the names above it.
            above: where the number above comes from.
        """
        own, source = (*path, term.name), term.source or above
        there = {part.name: part for part in published.parts} if published is not None else {}
        raw = term.raw
        return Branch(
            formatting.metric_label(term.name) if raw and raw.metric == term.name else term.name,
            _worth(term),
            term.counted is not None,
            term.at_worst if term.at_worst is not None else term.at_best,
            known(self.firm.nodes.get(own)) if self.firm else None,
            term.share,
            term.rule,
            self._evidence(term.node.leaf, term.name) if term.node.leaf else "",
            source if source != above else "",
            _published(term, published),
            (
                *(self._part(part, there.get(part.name), bool(there), own, source) for part in term.parts),
                *(_only_published(part) for name, part in there.items() if term.part(name) is None),
            ),
        )

    def _part(self, term: Term, published: Term | None, any_there: bool, path: tuple[str, ...], source: str) -> Branch:
        """A number below another; that a whole branch is missing as published is said at its top alone."""
        branch = self.branch(term, published, path, source)
        return branch._replace(published=Published("not there")) if any_there and published is None else branch

    def _evidence(self, leaf: Leaf, under: str) -> str:
        if leaf.key in self.told:
            return ""
        self.told.add(leaf.key)
        if isinstance(leaf.scale, AsItIs):  # the number itself
            return ""
        interval = known(self.firm.metrics.get(leaf.key)) if self.firm else None
        return formatting.evidence_words(leaf.raw, under, interval)


def _only_published(term: Term) -> Branch:
    """What only the scheme as published has: its number and rule, and nothing below."""
    own = Published(_worth(term), term.share)
    return Branch(term.name, formatting.NONE, False, None, None, None, term.rule, "", term.source, own, ())


def _worth(term: Term) -> str:
    return formatting.decimals(term.value if term.counted is None else term.counted, PLACES)


def _published(term: Term, published: Term | None) -> Published | None:
    """What is otherwise as published; None where nothing that a reader sees is."""
    if published is None:
        return None
    value = _worth(published)
    share = None if percent(published.share) == percent(term.share) else published.share
    if (value, published.counted is None) == (_worth(term), term.counted is None) and share is None:
        return None
    rule = "" if published.rule == term.rule else published.rule
    if published.value is None and published.counted is None:
        return Published("left out" if published.share == 0 else "no value", None, rule)
    return Published(f"counts {value}" if published.counted is not None else value, share, rule)
