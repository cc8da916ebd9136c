"""`Term`: a number of a score together with what it is made of, down to single metrics.

Every score is a tree of terms, so that it can always be asked why it is what it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One number and the terms below it.

    Args:
        name: a score, a domain, a label type, a task, a metric or a run.
        value: None only where nothing at all was measured.
        rule: how the value comes from the terms below, in words.
        covered: of `total` tasks (or runs), how many were measured. What was not counts at its worst.
        total: what the suite asks for.
        weight: its share in the term above.
        at_worst: the value if what was left out had come out worst; None where nothing was left out.
        parts: the terms below.
    """

    name: str
    value: float | None
    rule: str
    covered: int
    total: int
    weight: float = 1.0
    at_worst: float | None = None
    parts: tuple[Term, ...] = ()

    @property
    def complete(self) -> bool:
        """True where everything asked for was measured."""
        return self.covered == self.total

    def part(self, name: str) -> Term | None:
        """The term of that name directly below, None where there is none."""
        return next((part for part in self.parts if part.name == name), None)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Term]]:
        """This term and all below, each with its depth, from the top down."""
        yield depth, self
        for part in self.parts:
            yield from part.walk(depth + 1)


def mean(values: Iterable[float]) -> float:
    """Σ x / n, correctly rounded, so that the order of the values does not matter.

    Raises:
        ZeroDivisionError: of nothing.
    """
    listed = list(values)
    return math.fsum(listed) / len(listed)


def logarithmic_mean(values: Iterable[float]) -> float:
    """exp(Σ ln x / n) of positive numbers, never outside their range.

    Raises:
        ZeroDivisionError: of nothing.
    """
    listed = list(values)
    return min(max(math.exp(mean(math.log(x) for x in listed)), min(listed)), max(listed))


def normalised(charged: float | None, baseline: float, cap: float | None, floor: float = 0.0) -> float:
    """charged / baseline, between `floor` and `cap`; an error that is missing or not finite is the worst there is.

    Args:
        charged: a model's error, failures included; None where there is none.
        baseline: that of the trivial model, in the same unit; positive.
        cap: None for no limit: then what is missing counts 1, as good as the trivial model.

    Source: LAMBench, arXiv:2504.19578, "generalizability"; the cap since its release 0.3.
    """
    worst = 1.0 if cap is None else cap
    # Written so that NaN loses.
    if charged is None or not 0.0 <= charged < math.inf:
        return worst
    ratio = charged / baseline
    return max(floor, ratio if cap is None else min(cap, ratio))
