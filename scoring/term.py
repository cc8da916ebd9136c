"""`Term`: a number of a score together with what it is made of, down to single metrics.

Every score is a tree of terms, so that it can always be asked why it is what it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Evidence(NamedTuple):
    """The raw metric at the end of a branch.

    Args:
        task: that it is a metric of.
        metric: its name there.
        value: what is scored, failures charged where the scheme charges them; None where the model has none.
        unit: of `value`.
        facts: what it is held against, by name: a baseline, a threshold, a tolerance.
        n_items: over how many items it stands.
        n_failed: of these, how many failed.
        uncharged: the same metric over the items that succeeded; None where it is not known.
    """

    task: str
    metric: str
    value: float | None
    unit: str = ""
    facts: tuple[tuple[str, float | str], ...] = ()
    n_items: int = 0
    n_failed: int = 0
    uncharged: float | None = None


@dataclass(frozen=True)
class Term:
    """One number and the terms below it.

    Args:
        name: a score, a domain, a label type, a task, a metric or a run.
        value: None only where nothing at all was measured, or the scheme gives none.
        rule: how the value comes from the terms below, or from the evidence, in words.
        covered: of `total` tasks (or runs), how many were measured.
        total: what is asked for.
        weight: its share in the term above; the shares of the terms below one another sum to 1.
        counted: what it counts in the term above where it has no value itself; None: it has, or it is left out.
        at_worst: the value if what was left out had come out worst; None where nothing was left out.
        at_best: the value if what is missing had come out perfect; None where nothing is missing, or not asked for.
        evidence: the raw metric, at the end of a branch.
        source: where rule and facts come from.
        parts: the terms below.
    """

    name: str
    value: float | None
    rule: str
    covered: int
    total: int
    weight: float = 1.0
    counted: float | None = None
    at_worst: float | None = None
    at_best: float | None = None
    evidence: Evidence | None = None
    source: str = ""
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


def as_data(term: Term) -> dict[str, object]:
    """The tree as plain data for JSON: what is not finite is null, and what is empty is not there."""
    found: dict[str, object] = {
        "name": term.name,
        "value": _finite(term.value),
        "rule": term.rule,
        "share": term.weight,
        "covered": term.covered,
        "total": term.total,
    }
    for name, value in (("counted", term.counted), ("at_worst", term.at_worst), ("at_best", term.at_best)):
        if value is not None:
            found[name] = _finite(value)
    if term.source:
        found["source"] = term.source
    if term.evidence is not None:
        evidence = term.evidence._asdict()
        if not term.evidence.n_items:  # not known
            del evidence["n_items"], evidence["n_failed"]
        found["evidence"] = evidence | {
            "value": _finite(term.evidence.value),
            "uncharged": _finite(term.evidence.uncharged),
            "facts": dict(term.evidence.facts),
        }
    if term.parts:
        found["parts"] = [as_data(part) for part in term.parts]
    return found


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
