"""A metric by element, on the periodic table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from math import log10
from statistics import median
from typing import NamedTuple

from ase.data import atomic_numbers, chemical_symbols
from markupsafe import Markup

from judge.figures.drawing import WIDTH, Point, group, joined, path, ramp, rect, short, svg, text
from judge.figures.figure import Cell, Figure, Heading
from judge.ranking.leaderboard import Row, TaskLine
from judge.view import formatting
from judge.view.page_context import Frame
from tasks.metrics.measurement import MetricPart

LARGEST = 118
FORCES = "force_rmse"
"""Drawn where there is a choice: of energies and virials, all that is known by element is whose frames have it."""

_CELL, _SIZE, _TOP, _LEFT = 41.6, 40.0, 8.0, 5.6
_HEIGHT = _TOP + 9.4 * _CELL + 8
_NOBLE = (0, 2, 10, 18, 36, 54, 86, 118)


class Place(NamedTuple):
    """Where an element stands: columns and rows from 0, the f block below, after a gap."""

    column: float
    row: float


class _Value(NamedTuple):
    """What is known of an element; None: nothing but failures.

    Args:
        n_items, n_failed: that it is over.
    """

    value: float | None
    n_items: int
    n_failed: int


def place_of(symbol: str) -> Place:
    """The place of an element, as the table is printed with 18 columns."""
    number = atomic_numbers[symbol]
    period = next(index for index, last in enumerate(_NOBLE) if number <= last)
    first, last = _NOBLE[period - 1] + 1, _NOBLE[period]
    size, index = last - first + 1, number - first
    if size == 32 and 2 <= index < 17:  # La to Lu, Ac to Lr
        return Place(float(index), period + 1.4)
    from_the_end = last - number
    left = index < (1 if size == 2 else 2)
    return Place(float(index if left else 17 - from_the_end), period - 1.0)


def elements_of(frame: Frame, row: Row) -> Figure | None:
    """The errors of a model by element in the task that has most of them, of forces if they are known; or None."""
    by_task = [(line, parts) for line in row.tasks if (parts := _parts(line))]
    if not by_task:
        return None
    line, parts = max(by_task, key=lambda own: len({part.name for part in own[1]}))
    values = {part.name: _Value(part.value, part.n_items, part.n_failed) for part in parts}
    more = f" Of {formatting.count(len(by_task), 'task')} the one with most elements." if len(by_task) > 1 else ""
    about = (
        f"{formatting.metric_label(parts[0].metric)} in {line.task.name} by element: of forces over its atoms, of "
        f"others over the structures that have it. The stronger the colour, the larger, on a logarithmic scale.{more}"
    )
    return _figure("Error by element", about, parts[0], values)


def elements_figure(frame: Frame, task: str) -> Figure | None:
    """The median over all models of the errors by element in a task; None where no result knows any."""
    lines = [line for row in frame.board.rows for line in row.tasks if line.task.name == task]
    every = [parts for line in lines if (parts := _parts(line))]
    if not every:
        return None
    metric = Counter(parts[0].metric for parts in every).most_common(1)[0][0]
    known: dict[str, list[MetricPart]] = {}
    for part in (part for parts in every for part in parts if part.metric == metric):
        known.setdefault(part.name, []).append(part)
    values = {symbol: _over_models(parts) for symbol, parts in known.items()}
    about = (
        f"{formatting.metric_label(metric)} in {task} by element, the median over "
        f"{formatting.count(len(every), 'model')}. The stronger the colour, the larger, on a logarithmic scale."
    )
    return _figure("Error by element", about, next(iter(known.values()))[0], values)


def _over_models(parts: Sequence[MetricPart]) -> _Value:
    there = [part.value for part in parts if part.value is not None]
    return _Value(median(there) if there else None, parts[0].n_items, max(part.n_failed for part in parts))


def _parts(line: TaskLine) -> list[MetricPart]:
    """The parts by element, of one metric; those whose name is no element are none."""
    if line.result is None:
        return []
    parts = [part for part in line.result.parts if part.by == "element" and atomic_numbers.get(part.name, 0)]
    metrics = {part.metric for part in parts}
    metric = FORCES if FORCES in metrics else min(metrics, default="")
    return [part for part in parts if part.metric == metric]


def _figure(title: str, about: str, like: MetricPart, values: Mapping[str, _Value]) -> Figure:
    """The figure of values by element, in the unit that a part like them has."""
    rows: list[Sequence[Cell]] = [
        (symbol, *values[symbol]) for symbol in chemical_symbols[1 : LARGEST + 1] if symbol in values
    ]
    metric = Heading(formatting.metric_label(like.metric), like.unit)
    headings = (Heading("Element"), metric, Heading("Items"), Heading("Failed"))
    unit = formatting.shown_unit(like.unit)
    told = f"{about} Values are in {unit}." if unit else about
    return Figure("elements", title, told, headings, rows, _drawing(title, told, like.unit, values))


def _drawing(title: str, about: str, unit: str, values: Mapping[str, _Value]) -> Markup:
    """All elements, those that nothing is known of as empty cells."""
    there = [log10(own.value) for own in values.values() if own.value is not None and own.value > 0]
    ends = (min(there), max(there)) if there else (0.0, 0.0)
    symbols = chemical_symbols[1 : LARGEST + 1]
    known = [_cell(symbol, values[symbol], unit, ends) for symbol in symbols if symbol in values]
    return svg("elements", title, about, WIDTH, _HEIGHT, *_empty([s for s in symbols if s not in values]), *known)


def _empty(symbols: Sequence[str]) -> tuple[Markup, ...]:
    """The cells of these elements, and their symbols; what is the same of all is said once."""
    boxes = path("".join(map(_box, symbols)), "cell absent")
    return boxes, group(*map(_name, symbols), css="small soft", anchor="middle")


@cache  # a site of many models has thousands of them
def _box(symbol: str) -> str:
    x, y = _corner(symbol)
    return f"M{short(x)} {short(y)}h{_SIZE:g}v{_SIZE:g}h-{_SIZE:g}z"


@cache
def _name(symbol: str) -> Markup:
    x, y = _corner(symbol)
    return text((x + _SIZE / 2, y + 17), symbol)


def _cell(symbol: str, own: _Value, unit: str, ends: tuple[float, float]) -> Markup:
    x, y = _corner(symbol)
    middle = x + _SIZE / 2
    if own.value is None:
        box, css, said = "cell fault", "", "× failed"
    else:
        step = ramp(log10(own.value), *ends) if own.value > 0 else 0
        box, css, said = f"cell h{step}", f"on-h{step}", formatting.number(formatting.shown_value(own.value, unit), 2)
    items = formatting.count(own.n_items, "item")
    told = f"{symbol}: {said} {formatting.shown_unit(unit)}, {items}, {own.n_failed} failed"
    parts = (
        rect((x, y), _SIZE, _SIZE, box, told),
        text((middle, y + 17), symbol, f"strong {css}", "middle"),
        text((middle, y + 32), said, f"small {css}", "middle"),
    )
    return joined(parts)


def _corner(symbol: str) -> Point:
    """The upper left corner of an element's cell."""
    column, row = place_of(symbol)
    return _LEFT + column * _CELL, _TOP + row * _CELL
