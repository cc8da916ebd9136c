"""The ranking of a choice: models by their errors in some tasks, over items with chosen elements and structures.

The input is sums of errors over groups of items. No item is in two groups. `templates/js/chooser_rank.js` computes the
same in the browser. `scoring.choice_errors` has the error of a model in a column (a metric of a task) with its standard
deviation sd. Columns of a task count the same, and so do tasks. Errors of one task are taken as fully correlated and
those of different tasks as independent:

    score = mean over tasks of the mean over columns of the error
    sd² = Σ over tasks of (mean over columns of sd)² / (number of tasks)²
    95 % interval = score ± 1.96 sd, within 0 and 1

A model is tied with the first one if 0 is in the interval of their difference, ± 1.96 sd of the difference, which is
added up in the same way from the columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scoring.choice_errors import ColumnError, column_error, difference_deviation
from scoring.choice_sums import ErrorColumn, SumGroup, TaskSums

Z = 1.959963984540054  # of a normal distribution, two-sided 95 %

NEAR = 0.1
"""Runs cover a temperature that is within this share of it."""


@dataclass(frozen=True)
class Choice:
    """What a reader simulates and needs; nothing chosen: everything.

    Args:
        elements: a group fits if all its elements are among these.
        classes: a group fits if all its classes are among these.
        needs: a column fits if it has one of these.
        temperature_k: a task fits if it runs dynamics within 10 % of it [K].
        length_ns: a task fits if it runs dynamics at least as long [ns].
    """

    elements: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    temperature_k: float | None = None
    length_ns: float | None = None


@dataclass(frozen=True)
class ModelInChoice:
    """A model in the ranking of a choice.

    Args:
        deviation: sd; None if a column has fewer than two clusters.
        low, high: ends of the 95 % interval; None without `deviation`.
        tied: whether it is tied with the first; None without a `deviation` of both.
        n_tasks: tasks of the choice in which it has errors.
        n_items, n_failed: over these tasks, of the column with the most items.
    """

    model: str
    score: float
    deviation: float | None
    low: float | None
    high: float | None
    tied: bool | None
    n_tasks: int
    n_items: int
    n_failed: int


@dataclass(frozen=True)
class _Scored:
    """A model with its errors by task and column."""

    model: str
    score: float
    errors: Sequence[Sequence[ColumnError]]


def fits(group: SumGroup, choice: Choice) -> bool:
    """Whether the items of a group belong to a choice."""
    return not (
        (choice.elements and not choice.elements.issuperset(group.elements))
        or (choice.classes and not choice.classes.issuperset(group.classes))
    )


def covers(task: TaskSums, choice: Choice) -> bool:
    """Whether a task runs at the temperature and for the time of a choice, if it states any."""
    t, length = choice.temperature_k, choice.length_ns
    if t is None and length is None:
        return True
    if task.runs is None or (length is not None and task.runs.length_ns < length):
        return False
    if t is None:
        return True
    low, high = task.runs.temperatures_k or (math.inf, -math.inf)
    return low - NEAR * t <= t <= high + NEAR * t


def columns_of_choice(task: TaskSums, choice: Choice) -> list[ErrorColumn]:
    """The columns of a task that a choice rests on."""
    return [
        column
        for column in task.columns
        if covers(task, choice)
        and (not choice.needs or not choice.needs.isdisjoint(column.needs))
        and any(fits(group, choice) for reference in column.references for group in reference.groups)
    ]


def independent_items(tasks: Iterable[TaskSums], choice: Choice) -> int:
    """The number of independent items that a choice rests on: in each task, of its smallest column."""
    total = 0.0
    for task in tasks:
        counts = [
            max(
                sum(g.n_clusters for g in reference.groups if fits(g, choice)) / reference.dependence
                for reference in column.references
            )
            for column in columns_of_choice(task, choice)
        ]
        total += min(counts, default=0)
    return int(total)


def ranking_of_choice(tasks: Sequence[TaskSums], models: Iterable[str], choice: Choice) -> list[ModelInChoice]:
    """The models with errors in a task of the choice, best first; equal scores are ordered by the id of the model."""
    chosen = [columns for task in tasks if (columns := columns_of_choice(task, choice))]
    scored = [_scored(model, chosen, choice) for model in models]
    measured = [each for each in scored if any(e.reference is not None for task in each.errors for e in task)]
    placed = sorted(measured, key=lambda each: (each.score, each.model))
    return [_ranked(each, placed[0]) for each in placed]


def _scored(model: str, chosen: Sequence[Sequence[ErrorColumn]], choice: Choice) -> _Scored:
    errors = [[column_error(column, model, lambda group: fits(group, choice)) for column in task] for task in chosen]
    total = sum(sum(error.value for error in task) / len(task) for task in errors)
    return _Scored(model, total / max(len(errors), 1), errors)


def _ranked(each: _Scored, first: _Scored) -> ModelInChoice:
    deviation = _deviation([[error.deviation for error in task] for task in each.errors])
    of_difference = _deviation(
        [list(map(difference_deviation, *of_task)) for of_task in zip(each.errors, first.errors, strict=True)]
    )
    largest = [max(task, key=lambda error: error.n_items) for task in each.errors]
    return ModelInChoice(
        each.model,
        each.score,
        deviation,
        None if deviation is None else max(each.score - Z * deviation, 0.0),
        None if deviation is None else min(each.score + Z * deviation, 1.0),
        None if of_difference is None else each.score - first.score <= Z * of_difference,
        sum(any(error.reference is not None for error in task) for task in each.errors),
        sum(error.n_items for error in largest),
        sum(error.n_failed for error in largest),
    )


def _deviation(tasks: Sequence[Sequence[float | None]]) -> float | None:
    """The deviation of a mean over tasks of a mean over columns; None if that of a column is not known."""
    variance = 0.0
    for deviations in tasks:
        known = [each for each in deviations if each is not None]
        if len(known) < len(deviations):
            return None
        variance += (sum(known) / len(known)) ** 2
    return math.sqrt(variance) / len(tasks)
