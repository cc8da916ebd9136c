"""The input of the error scores: the metrics that a release or suite asks for, and a model's errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scoring.errors import ScoringError
from scoring.tree import AsItIs, Float, Leaf, RawMetric, Scale


@dataclass(frozen=True)
class AskedTask:
    """A task of the suite with its columns, whether or not a model answers it.

    Args:
        columns: the label types (`energy`, `force`, `virial`) or metrics for which the task has references.
    """

    name: str
    domain: str
    columns: tuple[str, ...]


class MeasuredError(NamedTuple):
    """A model's error in one column, and the error of the trivial model, in the unit of the raw metric.

    Args:
        divisor: of the normalised error: a success rate, if a release divides by it.
    """

    raw: RawMetric
    baseline: float
    divisor: float = 1.0


Answers = Mapping[str, Mapping[str, MeasuredError]]
"""By task and column; columns without an error are absent."""


@dataclass(frozen=True)
class RelativeError(Scale):
    """clip(error / baseline, floor, cap) / divisor.

    Source: LAMBench, arXiv:2504.19578, "generalizability"; the cap of 1 as in its release 0.3.1.
    """

    name = "relative error"
    baseline: float
    cap: float
    floor: float
    divisor: float = 1.0

    def __call__(self, values: Float) -> Float:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.clip(values / self.baseline, self.floor, self.cap) / self.divisor

    @property
    def bounds(self) -> tuple[float, float]:
        return self.floor / self.divisor, self.cap / self.divisor


def by_domain(tasks: Sequence[AskedTask]) -> dict[str, list[AskedTask]]:
    """Tasks by domain, both in alphabetical order.

    Raises:
        ScoringError: two tasks have one name, or a task has no column.
    """
    domains: dict[str, list[AskedTask]] = {}
    seen: set[str] = set()
    for task in sorted(tasks, key=lambda t: (t.domain, t.name)):
        if task.name in seen:
            raise ScoringError(f"task {task.name}: named twice")
        if not task.columns:
            raise ScoringError(f"task {task.name}: columns is empty")
        seen.add(task.name)
        domains.setdefault(task.domain, []).append(task)
    return domains


def answer(answers: Answers, task: str, column: str) -> MeasuredError | None:
    """A model's error; None if it is missing or NaN.

    Raises:
        ScoringError: the error is below zero, or the baseline is not a positive number.
    """
    error = answers.get(task, {}).get(column)
    if error is None or error.raw.value is None or math.isnan(error.raw.value):
        return None
    if error.raw.value < 0:
        raise ScoringError(f"task {task}: {column}: an error of {error.raw.value} is below zero")
    if not 0 < error.baseline < math.inf:
        raise ScoringError(f"task {task}: {column}: baseline {error.baseline} is not a positive number")
    return error


def error_leaf(answers: Answers, task: str, column: str, cap: float | None, floor: float) -> Leaf:
    """The leaf of one error: error / baseline, between `floor` and `cap`, over the divisor.

    Raises:
        ScoringError: see `answer`.
    """
    error = answer(answers, task, column)
    if error is None:
        return Leaf(RawMetric(task, column, None), AsItIs())
    facts: tuple[tuple[str, float | str], ...] = (("baseline", error.baseline),)
    if error.divisor != 1.0:
        facts += (("success rate", error.divisor),)
    limit = math.inf if cap is None else cap
    return Leaf(
        error.raw._replace(facts=(*facts, *error.raw.facts)), RelativeError(error.baseline, limit, floor, error.divisor)
    )


def is_answered(answers: Answers, task: str, columns: Iterable[str]) -> bool:
    """True if the model has at least one number in the task."""
    return any(answer(answers, task, column) is not None for column in columns)
