"""A metric by element, on the periodic table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from math import log10
from statistics import median
from typing import NamedTuple

from ase.data import atomic_numbers, chemical_symbols

from judge.figures.figure import Cell, Figure, Heading, Trace
from judge.ranking.leaderboard import Row, TaskLine
from judge.view import formatting
from judge.view.page_context import Frame
from tasks.metrics.metric import MetricPart

SYMBOLS = chemical_symbols[1:119]
"""All 118 elements."""

FORCES = "force_rmse"
"""Preferred among metrics by element: an error of energies or virials belongs to a whole frame, not to one element."""

_NOBLE = (0, 2, 10, 18, 36, 54, 86, 118)


class PeriodicPlace(NamedTuple):
    """The place of an element in the table: columns and rows from 0, the f block below after a gap."""

    column: float
    row: float


class ElementValue(NamedTuple):
    """The error of an element, over `n_items` items; None if all of them failed."""

    value: float | None
    n_items: int
    n_failed: int


def place_of(symbol: str) -> PeriodicPlace:
    """The place of an element in the periodic table with 18 columns."""
    number = atomic_numbers[symbol]
    period = next(index for index, last in enumerate(_NOBLE) if number <= last)
    first, last = _NOBLE[period - 1] + 1, _NOBLE[period]
    size, index = last - first + 1, number - first
    if size == 32 and 2 <= index < 17:  # La to Lu, Ac to Lr
        return PeriodicPlace(float(index), period + 1.4)
    from_the_end = last - number
    left = index < (1 if size == 2 else 2)
    return PeriodicPlace(float(index if left else 17 - from_the_end), period - 1.0)


def elements_of(frame: Frame, row: Row) -> Figure | None:
    """The errors of a model by element, in the task with the most elements; None if no task has errors by element."""
    by_task = [(line, parts) for line in row.tasks if (parts := _parts(line))]
    if not by_task:
        return None
    line, parts = max(by_task, key=lambda task: len({part.name for part in task[1]}))
    values = {part.name: ElementValue(part.value, part.n_items, part.n_failed) for part in parts}
    more = f" Of {formatting.count(len(by_task), 'task')}, this one has the most elements." if len(by_task) > 1 else ""
    about = (
        f"{formatting.metric_label(parts[0].metric)} in “{line.task.label}” by element. A force error is over the "
        "atoms of the element; any other error is over the structures with the element. The colour scale is "
        f"logarithmic.{more}"
    )
    return _figure(about, parts[0], values)


def elements_figure(frame: Frame, task: str) -> Figure | None:
    """The errors by element in a task, the median over all models; None if no result has them."""
    index = [each.name for each in frame.board.suite.tasks].index(task)
    by_model = [parts for row in frame.board.rows if (parts := _parts(row.tasks[index]))]
    if not by_model:
        return None
    metric = Counter(parts[0].metric for parts in by_model).most_common(1)[0][0]
    by_model = [parts for parts in by_model if parts[0].metric == metric]
    by_element: dict[str, list[MetricPart]] = {}
    for part in chain.from_iterable(by_model):
        by_element.setdefault(part.name, []).append(part)
    values = {symbol: _over_models(parts) for symbol, parts in by_element.items()}
    n_models = sum(any(part.value is not None for part in parts) for parts in by_model)
    about = (
        f"{formatting.metric_label(metric)} in “{frame.board.suite.tasks[index].label}” by element, the median over "
        f"{formatting.count(n_models, 'model')} with a value. The colour scale is logarithmic."
    )
    return _figure(about, by_model[0][0], values, "failed in the worst model")


def _over_models(parts: Sequence[MetricPart]) -> ElementValue:
    values = [part.value for part in parts if part.value is not None]
    return ElementValue(median(values) if values else None, parts[0].n_items, max(part.n_failed for part in parts))


def _parts(line: TaskLine) -> list[MetricPart]:
    """The parts by element, of one metric; a part whose name is not an element is left out."""
    if line.result is None:
        return []
    parts = [part for part in line.result.parts if part.by == "element" and atomic_numbers.get(part.name, 0)]
    metrics = {part.metric for part in parts}
    metric = FORCES if FORCES in metrics else min(metrics, default="")
    return [part for part in parts if part.metric == metric]


def _figure(about: str, like: MetricPart, values: Mapping[str, ElementValue], failed: str = "failed") -> Figure:
    """The figure of values by element, with the metric and unit of `like`; `failed` says what `n_failed` counts."""
    values = {symbol: values[symbol] for symbol in SYMBOLS if symbol in values}
    rows: list[Sequence[Cell]] = [(symbol, *value) for symbol, value in values.items()]
    metric = Heading(formatting.metric_label(like.metric), like.unit)
    headings = (Heading("Element"), metric, Heading("Items"), Heading(failed.capitalize()))
    unit = formatting.shown_unit(like.unit)
    positive = [value.value for value in values.values() if value.value is not None and value.value > 0]
    ends = (min(positive), max(positive)) if positive else (1.0, 1.0)
    layout = {
        "barmode": "overlay",
        "hovermode": "closest",
        "coloraxis": {
            "cmin": log10(ends[0]),
            "cmax": log10(ends[1]),
            "colorbar": {
                "orientation": "h",
                "len": 0.5,
                "title": {"text": unit, "side": "top"},
                "tickvals": [log10(end) for end in ends],
                "ticktext": [formatting.number(formatting.shown_value(end, like.unit), 2) for end in ends],
            },
        },
        "xaxis": {"visible": False, "range": [-0.5, 17.5]},
        "yaxis": {"visible": False, "range": [9.0, -0.6], "scaleanchor": "x"},
    }
    title = f"{metric.name} by element"
    traces = _traces(values, like.unit, ends[0], failed)
    return Figure("elements", title, about, headings, rows, traces, layout, height=480, narrow_height=300)


def _traces(values: Mapping[str, ElementValue], unit: str, lowest: float, failed_words: str) -> list[Trace]:
    """Elements with a value, elements whose items all failed, and elements without items.

    Args:
        lowest: the colour of a value that is 0.
    """
    known, failed = {}, {}
    for symbol, value in values.items():
        if value.value is None:
            failed[symbol] = f"{symbol}\n×"
        else:
            known[symbol] = f"{symbol}\n{formatting.number(formatting.shown_value(value.value, unit), 2)}"
    colours = [log10(max(values[symbol].value or 0.0, lowest)) for symbol in known]
    absent = [symbol for symbol in SYMBOLS if symbol not in values]
    return [
        _cells(absent, absent, absent) | {"meta": {"colour": "void"}, "hoverinfo": "skip"},
        _cells(list(failed), list(failed.values()), [_hover_text(s, values[s], unit, failed_words) for s in failed])
        | {"meta": {"colour": "bad-wash"}},
        _cells(list(known), list(known.values()), [_hover_text(s, values[s], unit, failed_words) for s in known])
        | {"marker": {"color": colours, "coloraxis": "coloraxis"}},
    ]


def _cells(symbols: Sequence[str], texts: Sequence[str], hover_texts: Sequence[str]) -> Trace:
    """A bar at the place of each element."""
    places = [place_of(symbol) for symbol in symbols]
    return {
        "type": "bar",
        "x": [place.column for place in places],
        "y": [0.95] * len(places),
        "base": [round(place.row - 0.475, 3) for place in places],
        "width": 0.95,
        "text": texts,
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "hovertext": hover_texts,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "showlegend": False,
    }


def _hover_text(symbol: str, value: ElementValue, unit: str, failed: str) -> str:
    items = formatting.count(value.n_items, "item")
    if value.value is None:
        return f"{symbol}: failed, {items}"
    shown = formatting.number(formatting.shown_value(value.value, unit), 3)
    return f"{symbol}: {shown} {formatting.shown_unit(unit)}, {items}, {value.n_failed} {failed}"
