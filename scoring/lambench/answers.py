"""What the error scores are given: which metrics a release or suite asks for, and what a model answered."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scoring.errors import ScoringError
from scoring.tree import AsItIs, Evidence, Float, Leaf, Scale


@dataclass(frozen=True)
class Asked:
    """A task of the suite, whatever any model answers.

    Args:
        name: of the task.
        domain: it belongs to.
        columns: label types (`energy`, `force`, `virial`) or metric names that the task has references for.
    """

    name: str
    domain: str
    columns: tuple[str, ...]


class Error(NamedTuple):
    """A model's error in one column, and the error of the trivial model, in one unit.

    Args:
        charged: with failures charged where the scheme charges them; None where the model has none.
        divisor: that the normalised error is divided by: a success rate, where a release divides by it.
        metric: what the column is called in the record it comes from; the column's own name where empty.
        n_items: over how many items it stands, of which `n_failed` failed.
        uncharged: over the items that succeeded.
    """

    charged: float | None
    baseline: float
    divisor: float = 1.0
    metric: str = ""
    unit: str = ""
    n_items: int = 0
    n_failed: int = 0
    uncharged: float | None = None


Answers = Mapping[str, Mapping[str, Error]]
"""By task and column; what a model lacks is absent."""


@dataclass(frozen=True)
class RelativeError(Scale):
    """clip(error / baseline, floor, cap) / divisor.

    Source: LAMBench, arXiv:2504.19578, "generalizability"; the cap since its release 0.3.
    """

    name = "relative error"
    baseline: float
    cap: float
    floor: float
    divisor: float = 1.0

    def __call__(self, values: Float) -> Float:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.clip(values / self.baseline, self.floor, self.cap) / self.divisor


def by_domain(asked: Sequence[Asked]) -> dict[str, list[Asked]]:
    """Tasks by domain, both in alphabetical order.

    Raises:
        ScoringError: two tasks of one name, or a task without a column.
    """
    domains: dict[str, list[Asked]] = {}
    seen: set[str] = set()
    for task in sorted(asked, key=lambda t: (t.domain, t.name)):
        if task.name in seen:
            raise ScoringError(f"task {task.name}: named twice")
        if not task.columns:
            raise ScoringError(f"task {task.name}: columns is empty")
        seen.add(task.name)
        domains.setdefault(task.domain, []).append(task)
    return domains


def answer(answers: Answers, task: str, column: str) -> Error | None:
    """A model's error, None where it has none. NaN counts as none.

    Raises:
        ScoringError: an error below zero, or a baseline that is not a positive number.
    """
    error = answers.get(task, {}).get(column)
    if error is None or error.charged is None or math.isnan(error.charged):
        return None
    if error.charged < 0:
        raise ScoringError(f"task {task}: {column}: an error of {error.charged} is below zero")
    if not 0 < error.baseline < math.inf:
        raise ScoringError(f"task {task}: {column}: baseline {error.baseline} is not a positive number")
    return error


def error_leaf(answers: Answers, task: str, column: str, cap: float | None, floor: float) -> Leaf:
    """The leaf of one error: charged / baseline, between `floor` and `cap`, over the divisor.

    Raises:
        ScoringError: see `answer`.
    """
    error = answer(answers, task, column)
    if error is None:
        return Leaf(Evidence(task, column, None), AsItIs())
    facts: list[tuple[str, float | str]] = [("baseline", error.baseline)]
    if error.divisor != 1.0:
        facts.append(("success rate", error.divisor))
    evidence = Evidence(
        task,
        error.metric or column,
        error.charged,
        error.unit,
        tuple(facts),
        error.n_items,
        error.n_failed,
        error.uncharged,
    )
    limit = math.inf if cap is None else cap
    return Leaf(evidence, RelativeError(error.baseline, limit, floor, error.divisor))


def is_answered(answers: Answers, task: str, columns: Iterable[str]) -> bool:
    """True where the model has at least one number in the task."""
    return any(answer(answers, task, column) is not None for column in columns)
