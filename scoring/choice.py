"""The ranking of a choice: models by their errors in some tasks, over items with chosen elements and structures.

The input is sums of errors over groups of items. No item is in two groups. `templates/js/chooser_rank.js` computes the
same in the browser. For a model and a column (a metric of a task), over the groups that fit the choice:

    R = Σ s / Σ d                    s: its errors, or squared errors, failures at their cost;  d: those of the trivial
                                     model, or the number of components if its errors are not known by item
    error = factor × R, or factor × √R for a root mean square;  between `floor` and 1
    var R = n / (n − 1) × Σₖ (sₖ − R dₖ)² / (Σ d)²                     over the n clusters k of correlated items

By the delta method the standard deviation of the error is sd = error × √var R / R, half of it under a root, and 0 at
the ends. Columns of a task count the same, and so do tasks. Errors of one task are taken as fully correlated and those
of different tasks as independent:

    score = mean over tasks of the mean over columns of the error
    sd² = Σ over tasks of (mean over columns of sd)² / (number of tasks)²
    95 % interval = score ± 1.96 sd, within 0 and 1

A model is tied with the first one if 0 is in the interval of their difference, ± 1.96 √(sd² + sd₁²). Models share the
items, so their errors are correlated, and this interval is rather too wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Z = 1.959963984540054  # of a normal distribution, two-sided 95 %


@dataclass(frozen=True)
class SumGroup:
    """A group of items, with the sums that all models share.

    Args:
        n_clusters: of correlated items.
        trivial: Σ d.
        trivial_squares: Σₖ dₖ² over clusters.
    """

    elements: tuple[str, ...]
    classes: tuple[str, ...]
    n_items: int
    n_clusters: int
    trivial: float
    trivial_squares: float


@dataclass(frozen=True)
class ReferenceSums:
    """The groups by one label set.

    Args:
        factor: of the ratio: 1 if `trivial` are the trivial model's errors, else what divides by its error.
        floor: the least error that counts.
    """

    groups: tuple[SumGroup, ...]
    factor: float = 1.0
    floor: float = 0.0


@dataclass(frozen=True)
class ModelSums:
    """The sums of a model by group; r = s / d of the group.

    Args:
        reference: index in `ErrorColumn.references`.
        errors: Σ s.
        spreads: Σₖ (sₖ − r dₖ)².
        slopes: Σₖ (sₖ − r dₖ) dₖ.
        failed: number of failed items.
    """

    reference: int
    errors: tuple[float, ...]
    spreads: tuple[float, ...]
    slopes: tuple[float, ...]
    failed: tuple[int, ...]


@dataclass(frozen=True)
class ErrorColumn:
    """A metric of a task.

    Args:
        needs: what a reader may need it for.
        root: whether the metric is a root mean square.
        models: by submission; a model without sums has failed, and counts 1.
    """

    metric: str
    needs: tuple[str, ...]
    root: bool
    references: tuple[ReferenceSums, ...]
    models: Mapping[str, ModelSums]


@dataclass(frozen=True)
class TaskSums:
    """A task with its columns."""

    task: str
    columns: tuple[ErrorColumn, ...]


@dataclass(frozen=True)
class Choice:
    """What a reader simulates and needs; nothing chosen: everything.

    Args:
        elements: a group fits if all its elements are among these.
        classes: a group fits if all its classes are among these.
        needs: a column fits if it has one of these.
    """

    elements: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()


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
class _Error:
    value: float
    deviation: float | None
    n_items: int = 0
    n_failed: int = 0
    measured: bool = False


def fits(group: SumGroup, choice: Choice) -> bool:
    """Whether the items of a group belong to a choice."""
    return not (
        (choice.elements and not choice.elements.issuperset(group.elements))
        or (choice.classes and not choice.classes.issuperset(group.classes))
    )


def columns_of_choice(task: TaskSums, choice: Choice) -> list[ErrorColumn]:
    """The columns of a task that a choice rests on."""
    return [
        column
        for column in task.columns
        if (not choice.needs or not choice.needs.isdisjoint(column.needs))
        and any(fits(group, choice) for reference in column.references for group in reference.groups)
    ]


def independent_items(tasks: Iterable[TaskSums], choice: Choice) -> int:
    """The number of clusters of correlated items that a choice rests on: in each task, of its smallest column."""
    total = 0
    for task in tasks:
        counts = [
            max(sum(g.n_clusters for g in reference.groups if fits(g, choice)) for reference in column.references)
            for column in columns_of_choice(task, choice)
        ]
        total += min(counts, default=0)
    return total


def ranking_of_choice(tasks: Sequence[TaskSums], models: Iterable[str], choice: Choice) -> list[ModelInChoice]:
    """The models with errors in a task of the choice, best first; equal scores are ordered by the id of the model."""
    chosen = [columns for task in tasks if (columns := columns_of_choice(task, choice))]
    scored = [_scored(model, chosen, choice) for model in models]
    placed = sorted((model for model in scored if model.n_tasks), key=lambda model: (model.score, model.model))
    return [_with_tie(model, placed[0]) for model in placed]


def _scored(model: str, chosen: Sequence[Sequence[ErrorColumn]], choice: Choice) -> ModelInChoice:
    score, variance, known = 0.0, 0.0, True
    n_tasks = n_items = n_failed = 0
    for columns in chosen:
        errors = [_error(column, model, choice) for column in columns]
        score += sum(error.value for error in errors) / len(errors)
        deviations = [error.deviation for error in errors if error.deviation is not None]
        known = known and len(deviations) == len(errors)
        variance += (sum(deviations) / len(errors)) ** 2
        n_tasks += any(error.measured for error in errors)
        largest = max(errors, key=lambda error: error.n_items)
        n_items, n_failed = n_items + largest.n_items, n_failed + largest.n_failed
    score /= max(len(chosen), 1)
    deviation = math.sqrt(variance) / len(chosen) if known and chosen else None
    low = None if deviation is None else max(score - Z * deviation, 0.0)
    high = None if deviation is None else min(score + Z * deviation, 1.0)
    return ModelInChoice(model, score, deviation, low, high, None, n_tasks, n_items, n_failed)


def _error(column: ErrorColumn, model: str, choice: Choice) -> _Error:
    """The error of a model in a column; 1 if it has none."""
    sums = column.models.get(model)
    reference = column.references[sums.reference] if sums else ReferenceSums(())
    chosen = [g for g, group in enumerate(reference.groups) if fits(group, choice)]
    if sums is None or not chosen:
        return _Error(1.0, 0.0)
    groups = reference.groups
    s, d = sum(sums.errors[g] for g in chosen), sum(groups[g].trivial for g in chosen)
    n_items, n_failed = sum(groups[g].n_items for g in chosen), sum(sums.failed[g] for g in chosen)
    if d <= 0:
        return _Error(1.0 if s > 0 else reference.floor, 0.0, n_items, n_failed, True)
    ratio = s / d
    error = reference.factor * (math.sqrt(ratio) if column.root else ratio)
    n = sum(groups[g].n_clusters for g in chosen)
    deviation: float | None = None
    if not reference.floor < error < 1:
        deviation = 0.0
    elif n > 1:
        residual = 0.0
        for g in chosen:
            shift = (sums.errors[g] / groups[g].trivial if groups[g].trivial > 0 else ratio) - ratio
            residual += sums.spreads[g] + 2 * shift * sums.slopes[g] + shift * shift * groups[g].trivial_squares
        spread = math.sqrt(max(residual, 0.0) * n / (n - 1)) / d
        deviation = error * spread / ratio * (0.5 if column.root else 1.0)
    return _Error(max(min(error, 1.0), reference.floor), deviation, n_items, n_failed, True)


def _with_tie(model: ModelInChoice, first: ModelInChoice) -> ModelInChoice:
    tied = None
    if model.deviation is not None and first.deviation is not None:
        half = Z * math.sqrt(model.deviation * model.deviation + first.deviation * first.deviation)
        tied = model.score - first.score <= half
    return ModelInChoice(**{**vars(model), "tied": tied})
