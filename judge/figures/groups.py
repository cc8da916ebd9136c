"""A model's errors by group of structures, beside its error over the whole task."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from markupsafe import Markup

from judge.disclosure.redaction import SCORE_DIGITS, cut, rounded
from judge.figures.axes import Axis, key_line, log
from judge.figures.drawing import WIDTH, group, line, mark, path, shortened, svg, text
from judge.figures.figure import Figure, Heading
from judge.ranking.leaderboard import Row
from judge.view import formatting
from judge.view.page_context import Frame
from judge.view.table_cells import shown
from tasks.metrics.measurement import MetricPart

DRAWN = 12
"""Groups of a task that are drawn: those of the largest errors. The table has all."""

_TITLE = "Error by group of structures"
_NAME = "error in the group / error in the task"
_LEFT, _RIGHT, _STEP = 250.0, 736.0, 19.0


class _Part(NamedTuple):
    """A metric over a group.

    Args:
        ratio: to the metric over the whole task; None where one of the two has no value.
    """

    task: str
    record: MetricPart
    ratio: float | None


def groups_of(frame: Frame, row: Row) -> Figure | None:
    """The errors of a model by group; None where no task has groups."""
    parts = list(_parts(row))
    if not parts:
        return None
    about = (
        "Each error over the structures of a group, beside the same over its whole task: 1 is no better and no worse "
        f"than elsewhere. Of each task up to {DRAWN} groups are drawn, those of the largest errors."
    )
    # The unit is a column: a table of several metrics has several.
    names = ("Group", "Task", "Metric", "Error", "Unit", "Error in the task = 1", "Items", "Failed")
    rows = [
        (
            *(own.record.name, own.task, formatting.metric_label(own.record.metric), cut(own.record.value)),
            *(own.record.unit, own.ratio, own.record.n_items, own.record.n_failed),
        )
        for own in parts
    ]
    series = {name: index for index, name in enumerate(dict.fromkeys(own.record.metric for own in parts))}
    return Figure("groups", _TITLE, about, tuple(map(Heading, names)), rows, _drawing(_drawn(parts), series, about))


def _parts(row: Row) -> Iterator[_Part]:
    """Task by task and group by group, as they come."""
    for own in row.tasks:
        by_group: dict[str, list[_Part]] = {}
        for record in own.result.parts if own.result else ():
            if record.by == "group":
                whole = own.result.metrics.get(record.metric) if own.result else None
                ratio = _ratio(record.value, whole.value if whole else None)
                by_group.setdefault(record.name, []).append(_Part(own.task.name, record, ratio))
        yield from chain.from_iterable(by_group.values())


def _ratio(value: float | None, whole: float | None) -> float | None:
    if value is None or whole is None or not (value > 0 and whole > 0 and math.isfinite(value / whole)):
        return None
    return rounded(value / whole, SCORE_DIGITS)


def _drawn(parts: Sequence[_Part]) -> dict[str, dict[str, list[_Part]]]:
    """By task and group, the parts that are drawn, the largest errors first."""
    by_task: dict[str, dict[str, list[_Part]]] = {}
    for own in parts:
        if own.ratio is not None:
            by_task.setdefault(own.task, {}).setdefault(own.record.name, []).append(own)
    return {task: dict(sorted(groups.items(), key=_largest_first)[:DRAWN]) for task, groups in by_task.items()}


def _largest_first(entry: tuple[str, Sequence[_Part]]) -> float:
    return -max(own.ratio or 0.0 for own in entry[1])


def _drawing(tasks: Mapping[str, Mapping[str, Sequence[_Part]]], series: Mapping[str, int], about: str) -> Markup:
    """A line a group, under the name of its task."""
    ratios = [own.ratio or 1.0 for groups in tasks.values() for found in groups.values() for own in found]
    x = log([0.5, 2.0, *ratios], _LEFT, _RIGHT)
    metrics = dict.fromkeys(own.record.metric for groups in tasks.values() for of in groups.values() for own in of)
    legend = [
        key_line(
            series[name], shortened(formatting.metric_label(name), 36), 12 + i % 3 * 246, 14 + i // 3 * 17, marks=True
        )
        for i, name in enumerate(metrics)
    ]
    top = y = 24.0 + 17 * math.ceil(len(metrics) / 3)
    lines: list[Markup] = []
    called: list[Markup] = []
    grid: list[str] = []
    for task, groups in tasks.items():
        called.append(text((12, y + 13), shortened(task, 40), "strong"))
        y += _STEP + 3
        for name, found in groups.items():
            lines.append(_line(name, found, series, x, y + _STEP / 2))
            grid.append(f"M{_LEFT:g} {y + _STEP / 2:g}H{_RIGHT:g}")
            y += _STEP
        y += 8
    below = (*_axis(x, top, y), *legend, path("".join(grid), "grid"), *called)
    return svg("groups", _TITLE, about, WIDTH, y + 44, *below, group(*lines, css="small", anchor="end"))


def _line(name: str, found: Sequence[_Part], series: Mapping[str, int], x: Axis, y: float) -> Markup:
    """A group's name and its marks; the numbers are said of all of it."""
    label = shortened(name, 36)
    items = formatting.count(max(own.record.n_items for own in found), "item")
    told = f"{'' if label == name else f'{name}: '}{', '.join(map(_announced, found))}; {items}"
    marks = [mark((x(own.ratio or 1.0), y), series[own.record.metric], 4.5) for own in found]
    return group(text((_LEFT - 12, y + 4), label), *marks, told=told)


def _announced(own: _Part) -> str:
    value = shown(formatting.shown_value(own.record.value, own.record.unit))
    return f"{formatting.metric_label(own.record.metric)} {value} {formatting.shown_unit(own.record.unit)}"


def _axis(x: Axis, top: float, low: float) -> list[Markup]:
    ticks = [line((x(tick.value), low), (x(tick.value), low + 4), "axis") for tick in x.ticks]
    labels = [text((x(tick.value), low + 17), tick.label, "tick", "middle") for tick in x.ticks]
    whole, below = line((x(1.0), top), (x(1.0), low), "axis"), line((x.start, low), (x.end, low), "axis")
    return [group(whole, below, *ticks, *labels, text(((x.start + x.end) / 2, low + 37), _NAME, "name", "middle"))]
