"""What the error scores are given: which metrics the suite asks for, and what a model answered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scoring.release import ScoringError


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
    """A model's error in one column, its failures charged, and the error of the trivial model, in one unit."""

    charged: float | None
    baseline: float


Answers = Mapping[str, Mapping[str, Error]]
"""By task and column; what a model lacks is absent."""


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


def is_answered(answers: Answers, task: Asked) -> bool:
    """True where the model has at least one number in the task."""
    return any(answer(answers, task.name, column) is not None for column in task.columns)
