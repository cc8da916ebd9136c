"""The ranking within one task: scores over the task alone, raw metrics, and ranges of places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from judge.disclosure.public_learning import learns
from judge.ranking.leaderboard import Leaderboard, Row, TaskLine
from judge.view.score_display import known, uncertainty_of
from judge.view.score_shares import TaskScore
from scoring.intervals import MIN_INDEPENDENT, Interval, Uncertainty
from scoring.order import NO_ORDER, PairOrder
from tasks.metrics.metric import Metric

Shares = Mapping[str, Mapping[str, TaskScore]]
"""By submission and task."""


class PlaceRange(NamedTuple):
    """The best and the worst place of a model: one before each that it is better than, one behind each better one."""

    first: int
    last: int


class RawCell(NamedTuple):
    """A scored metric, failures penalised; None if the model does not have it."""

    record: Metric | None
    interval: Interval | None


class TaskRank(NamedTuple):
    """A model in one task.

    Args:
        value: the score over this task alone; None if there is none.
        counted: what the task counts in the model's score if `value` is None; None if it does not count.
        place: None for a model without a value and for a model that is there for comparison.
        few: True if a metric has too few independent items for an order.
        as_references: True if no scored metric can tell the model from the references: two such models have no order.
    """

    row: Row
    line: TaskLine
    value: float | None
    counted: float | None
    interval: Interval | None
    place: PlaceRange | None
    raw: tuple[RawCell, ...]
    few: bool = False
    as_references: bool = False

    @property
    def n_failed(self) -> int:
        return sum(self.line.result.failures.values()) if self.line.result else 0


class RankGroup(NamedTuple):
    """Models that are compared with one another; `hardware` is empty if it makes no difference to the task."""

    hardware: str
    lines: tuple[TaskRank, ...]

    @property
    def ordered(self) -> bool:
        """Whether any two models have an order."""
        return len({line.place for line in self.lines if line.place is not None}) > 1

    @property
    def few(self) -> bool:
        """Whether there are too few independent items for an order."""
        return any(line.few for line in self.lines if line.place is not None)

    @property
    def has_ties(self) -> bool:
        """Whether any two models have no order."""
        return any(line.place is not None and line.place.first != line.place.last for line in self.lines)

    @property
    def as_references(self) -> bool:
        """Whether any model cannot be told from the references."""
        return any(line.as_references for line in self.lines)


def ranking(
    board: Leaderboard, index: int, shares: Shares, metrics: Sequence[str], *, lower: bool
) -> tuple[RankGroup, ...]:
    """The models in the task of that index, best first, without a value last; by hardware class where it matters.

    Args:
        metrics: the names of the metrics that are scored in this task.
        lower: whether a lower score is better.
    """
    groups: dict[str, list[TaskRank]] = {}
    order = board.robustness.task_orders.get(board.suite.tasks[index].name, NO_ORDER)
    for row in board.rows:
        line = _line(board, row, index, shares, metrics)
        groups.setdefault(_hardware(line), []).append(line)
    return tuple(
        RankGroup(hardware, tuple(sorted(_placed(lines, order), key=lambda line: _by_value(line, lower))))
        for hardware, lines in sorted(groups.items(), key=lambda group: (not group[0], group[0]))
    )


def _line(board: Leaderboard, row: Row, index: int, shares: Shares, metrics: Sequence[str]) -> TaskRank:
    line, score = row.tasks[index], shares[row.submission.id].get(row.tasks[index].task.name)
    if score is None:
        return TaskRank(row, line, None, None, None, None, _raw(board, row, line, "", metrics))
    uncertainty = uncertainty_of(board, score.key, row)
    value, interval = score.value, score.interval(uncertainty)
    counted = score.counted if value is None else None
    raw = _raw(board, row, line, score.key, metrics)
    as_references = bool(raw) and all(cell.record is not None and cell.record.at_reference_uncertainty for cell in raw)
    return TaskRank(row, line, value, counted, interval, None, raw, _few(uncertainty, line, metrics), as_references)


def _few(uncertainty: Uncertainty | None, line: TaskLine, metrics: Sequence[str]) -> bool:
    """Whether the metric of the task with most independent items has too few of them for an order."""
    counts = uncertainty.independent if uncertainty is not None else {}
    of_task = [counts[key] for key in ((line.task.name, name) for name in metrics) if key in counts]
    return bool(of_task) and max(of_task) < MIN_INDEPENDENT


def _raw(board: Leaderboard, row: Row, line: TaskLine, key: str, metrics: Sequence[str]) -> tuple[RawCell, ...]:
    records = line.result.metrics if line.result is not None else {}
    uncertainty = uncertainty_of(board, key, row)
    intervals = uncertainty.metrics if uncertainty is not None else {}
    return tuple(RawCell(records.get(name), known(intervals.get((line.task.name, name)))) for name in metrics)


def _hardware(line: TaskRank) -> str:
    """The hardware class of a timed result, or of trainings, which have equal times.

    Empty if the task is neither, or if the model has no value.
    """
    matters = line.line.task.traits.times or learns(line.line.task)
    if not matters or line.value is None or line.line.result is None:
        return ""
    return line.line.result.provenance.origin.hardware


def _placed(lines: Sequence[TaskRank], order: PairOrder) -> list[TaskRank]:
    """The lines with their places.

    A model with too few independent items, or without an interval, has no order to any other. Models that cannot be
    told from the references have none among themselves.

    Args:
        order: of the models in this task, by paired draws.
    """
    within = [line for line in lines if line.value is not None and not line.row.reference]
    row_of = {model: row for row, model in enumerate(order.models)}
    ordered = [
        line for line in within if line.interval is not None and not line.few and line.row.submission.id in row_of
    ]
    rows = [row_of[line.row.submission.id] for line in ordered]
    as_references = np.array([line.as_references for line in ordered], np.bool_)
    better = order.better[np.ix_(rows, rows)] & ~np.outer(as_references, as_references)
    counts = zip(ordered, better.sum(axis=0).tolist(), better.sum(axis=1).tolist(), strict=True)
    places = {line.row.submission.id: PlaceRange(1 + before, len(within) - after) for line, before, after in counts}
    anywhere = PlaceRange(1, len(within))
    return [
        line
        if line.value is None or line.row.reference
        else line._replace(place=places.get(line.row.submission.id, anywhere))
        for line in lines
    ]


def _by_value(line: TaskRank, lower: bool) -> tuple[bool, float, str]:
    value = line.value
    cost = 0.0 if value is None else (value if lower else -value)
    return value is None, cost, line.row.submission.id
