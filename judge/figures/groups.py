"""A model's errors by group of structures, relative to its error over the whole task."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from judge.disclosure.redaction import SCORE_DIGITS, cut, rounded
from judge.figures.figure import Figure, Heading, Trace, axis
from judge.figures.names import shortened
from judge.ranking.leaderboard import Row
from judge.view import formatting
from judge.view.page_context import Frame
from judge.view.table_cells import shown
from tasks.metrics.metric import MetricPart

DRAWN = 12
"""The plot has so many groups of a task, those with the largest errors. The table has all."""

_ROW_HEIGHT = 19  # CSS pixels


class GroupError(NamedTuple):
    """A metric over a group.

    Args:
        ratio: the metric over the group / the metric over the whole task; None if one of the two has no value.
    """

    task: str
    record: MetricPart
    ratio: float | None


def groups_of(frame: Frame, row: Row) -> Figure | None:
    """The errors of a model by group; None if no task has groups."""
    errors = list(_errors(row))
    if not errors:
        return None
    about = (
        "Each error over the structures of a group, divided by the error over the whole task: a ratio of 1 is the "
        f"task's own error. The plot has up to {DRAWN} groups of a task, those with the largest errors."
    )
    # The unit is a column: a table of several metrics has several.
    names = ("Group", "Task", "Metric", "Error", "Unit", "Error in the task = 1", "Items", "Failed")
    rows = [
        (
            *(error.record.name, error.task, formatting.metric_label(error.record.metric), cut(error.record.value)),
            *(error.record.unit, error.ratio, error.record.n_items, error.record.n_failed),
        )
        for error in errors
    ]
    metrics = list(dict.fromkeys(error.record.metric for error in errors))
    return _figure(about, tuple(map(Heading, names)), rows, _drawn(errors), metrics)


def _errors(row: Row) -> Iterator[GroupError]:
    """Task by task and group by group."""
    for line in row.tasks:
        by_group: dict[str, list[GroupError]] = {}
        for record in line.result.parts if line.result else ():
            if record.by == "group":
                whole = line.result.metrics.get(record.metric) if line.result else None
                ratio = _ratio(record.value, whole.value if whole else None)
                by_group.setdefault(record.name, []).append(GroupError(line.task.label, record, ratio))
        yield from chain.from_iterable(by_group.values())


def _ratio(value: float | None, whole: float | None) -> float | None:
    if value is None or whole is None or not (value > 0 and whole > 0 and math.isfinite(value / whole)):
        return None
    return rounded(value / whole, SCORE_DIGITS)


def _drawn(errors: Sequence[GroupError]) -> dict[str, dict[str, list[GroupError]]]:
    """The errors in the plot by task and group, the largest first."""
    by_task: dict[str, dict[str, list[GroupError]]] = {}
    for error in errors:
        if error.ratio is not None:
            by_task.setdefault(error.task, {}).setdefault(error.record.name, []).append(error)
    return {task: dict(sorted(groups.items(), key=_largest_first)[:DRAWN]) for task, groups in by_task.items()}


def _largest_first(group: tuple[str, Sequence[GroupError]]) -> float:
    return -max(error.ratio or 0.0 for error in group[1])


def _figure(
    about: str,
    headings: tuple[Heading, ...],
    rows: Sequence[Sequence[str | float | int | None]],
    tasks: Mapping[str, Mapping[str, Sequence[GroupError]]],
    metrics: Sequence[str],
) -> Figure:
    """A line of the plot for each task's name, and below it one for each of its groups."""
    labels: list[str] = []
    placed: list[tuple[int, GroupError]] = []
    for task, groups in tasks.items():
        labels.append(f"{shortened(task, 34)}:")
        for name, errors in groups.items():
            placed += [(len(labels), error) for error in errors]
            labels.append(shortened(name, 30))
    line_at_one = {"type": "line", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "yref": "paper"}
    layout = {
        "hovermode": "closest",
        "xaxis": axis("error / error in the task", type="log"),
        "yaxis": {
            "tickvals": list(range(len(labels))),
            "ticktext": labels,
            "range": [len(labels) - 0.5, -0.5],
            "zeroline": False,
        },
        "shapes": [line_at_one],
        "legend": {"orientation": "h"},
    }
    traces = [_trace(series, metric, placed) for series, metric in enumerate(metrics)]
    height = 140 + _ROW_HEIGHT * len(labels)
    return Figure("groups", "Error by group of structures", about, headings, rows, traces, layout, height)


def _trace(series: int, metric: str, placed: Sequence[tuple[int, GroupError]]) -> Trace:
    points = [(number, error) for number, error in placed if error.record.metric == metric]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": formatting.metric_label(metric),
        "x": [error.ratio for _, error in points],
        "y": [number for number, _ in points],
        "text": [_hover_text(error) for _, error in points],
        "marker": {"size": 9},
        "hovertemplate": "%{text}<extra></extra>",
        "meta": {"colour": series},
    }


def _hover_text(error: GroupError) -> str:
    record = error.record
    value = shown(formatting.shown_value(record.value, record.unit))
    unit, items = formatting.shown_unit(record.unit), formatting.count(record.n_items, "item")
    return f"{record.name}\n{formatting.metric_label(record.metric)} {value} {unit}; {items}"
