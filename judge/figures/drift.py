"""How far the total energy of dynamics at constant energy is from where it started, over time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from markupsafe import Markup

from judge.disclosure.public_curves import PUBLIC_DIGITS, Drift, public_drift
from judge.disclosure.redaction import LEAST_ITEMS, rounded
from judge.figures.axes import Axis, axes, finite, key_line, layout, linear, log
from judge.figures.drawing import DASHES, N_COLOURS, WIDTH, group, polyline, series_css, svg
from judge.figures.figure import Cell, Figure, Heading
from judge.figures.names import model_names, short_names
from judge.ranking.leaderboard import Row
from judge.view.page_context import Frame

SMALLEST = 1e-6
"""meV/atom: less is rounding, and is drawn as this."""

_TITLE = "Drift of the total energy"
_Y_NAME = "|E(t) − E(0)| / meV per atom"
_UNIT, _PER_EV = "meV/atom", 1000.0
_LEFT, _RIGHT, _TOP, _LOW, _HEIGHT = 62.0, 540.0, 12.0, 330.0, 376.0
_OF_HIDDEN = (
    f"Of a hidden data set the mean is shown as far as at least {LEAST_ITEMS} runs got, to two digits, and no single "
    "run."
)


class _Times(NamedTuple):
    """When the points are; of runs of different lengths, in shares of the run."""

    values: tuple[float, ...]
    name: str
    unit: str


class _Line(NamedTuple):
    """A line of the drawing.

    Args:
        values: by point |E(t) − E(0)| [eV/atom].
        series: its colour; None: grey.
    """

    name: str
    values: tuple[float | None, ...]
    series: int | None


def drift_figure(frame: Frame) -> Figure | None:
    """The drift of every model, the mean over its tasks; None where no model has any."""
    found = [(row, drifts) for row in frame.board.rows if (drifts := [each for _, each in drifts_of(frame, row)])]
    if not found:
        return None
    times, names = _common_times(drift for _, drifts in found for drift in drifts), model_names(frame.board.rows)
    best = [row.submission.id for row, _ in found if row.rank is not None][:N_COLOURS]
    lines: list[_Line] = []
    rows: list[Sequence[Cell]] = []
    for row, drifts in found:
        own, name = _mean_over_tasks(drifts), names[row.submission.id]
        lines.append(_Line(name, own, best.index(row.submission.id) if row.submission.id in best else None))
        shown = [None if value is None else rounded(_PER_EV * value, PUBLIC_DIGITS) for value in own[1:]]
        rows.append((name, row.rank, len(drifts), _runs_at_the_end(own, drifts), *shown))
    about = (
        "Mean of |E(t) − E(0)| per atom over the runs of each task of constant-energy dynamics that got as far, then "
        f"over these tasks; lower is better. In colour the best of the ranking. {_OF_HIDDEN} A line ends where one of "
        "its tasks has no more to show."
    )
    headings = (
        *(Heading("Model"), Heading("Rank"), Heading("Tasks"), Heading("Runs at its end")),
        *(Heading(f"At {time:g} {times.unit}", _UNIT) for time in times.values[1:]),
    )
    return _figure(about, headings, rows, lines, times, "other models")


def drift_of(frame: Frame, row: Row) -> Figure | None:
    """The drift of one model by task, with the runs of public data sets; None where it has none."""
    found = drifts_of(frame, row)
    if not found:
        return None
    lines: list[_Line] = []
    rows: list[Sequence[Cell]] = []
    for series, (task, drift) in enumerate(found):
        lines.append(_Line(task, drift.mean, series))
        rows += _points_of(f"{task}: mean size", drift, drift.mean, drift.n_runs)
        for run, deviation in drift.runs:
            lines.append(_Line(f"{task}: {run}", tuple(None if v is None else abs(v) for v in deviation), None))
            rows += _points_of(f"{task}: {run}", drift, deviation, [1] * len(deviation))
    about = (
        "|E(t) − E(0)| per atom in constant-energy dynamics; lower is better. In colour the mean over the runs of a "
        f"task that got as far, in grey the runs of public data sets. {_OF_HIDDEN}"
    )
    headings = (Heading("Line"), Heading("Time", "ps"), Heading("Runs"), Heading("E(t) − E(0)", _UNIT))
    times = _common_times(drift for _, drift in found)
    return replace(_figure(about, headings, rows, lines, times, "single runs"), digits=PUBLIC_DIGITS)


def drifts_of(frame: Frame, row: Row) -> list[tuple[str, Drift]]:
    """By task, the drifts of a model that have anything to show."""
    items, public = frame.sources.items, frame.sources.public
    found = []
    for line in row.tasks:
        drift = public_drift(line, items.get((row.submission.id, line.task.name)), public)
        if drift is not None and any(value is not None for value in drift.mean[1:]):
            found.append((line.task.name, drift))
    return found


def _points_of(
    name: str, drift: Drift, values: Sequence[float | None], n_runs: Sequence[int | None]
) -> list[Sequence[Cell]]:
    """A row of the table for each point that is there, in meV/atom."""
    points = zip(drift.times_ps, n_runs, values, strict=True)
    return [(name, time, n, rounded(_PER_EV * value, PUBLIC_DIGITS)) for time, n, value in points if value is not None]


def _mean_over_tasks(drifts: Sequence[Drift]) -> tuple[float | None, ...]:
    """By point, as far as every task goes."""
    columns = zip(*(drift.mean for drift in drifts), strict=True)
    return tuple(_mean([value for value in column if value is not None], len(drifts)) for column in columns)


def _mean(values: Sequence[float], n: int) -> float | None:
    return rounded(sum(values) / n, PUBLIC_DIGITS) if len(values) == n else None


def _runs_at_the_end(line: Sequence[float | None], drifts: Sequence[Drift]) -> int:
    """How many runs the last point of the line is the mean of."""
    last = max((index for index, value in enumerate(line) if value is not None), default=0)
    return sum(drift.n_runs[last] or 0 for drift in drifts)


def _common_times(drifts: Iterable[Drift]) -> _Times:
    times = {drift.times_ps for drift in drifts}
    if len(times) == 1:
        return _Times(tuple(rounded(time, 6) for time in times.pop()), "time", "ps")
    n = len(next(iter(times)))
    return _Times(tuple(100.0 * index / (n - 1) for index in range(n)), "share of the run", "%")


def _figure(
    about: str,
    headings: tuple[Heading, ...],
    rows: Sequence[Sequence[Cell]],
    lines: Sequence[_Line],
    times: _Times,
    rest: str,
) -> Figure:
    """The figure of these lines, those in grey below the others, and the first of those on top.

    Args:
        rest: what the legend calls those in grey.
    """
    lines = sorted(lines, key=lambda own: (own.series is not None, -(own.series or 0)))
    drawn = [own._replace(values=tuple(map(_drawn, own.values))) for own in lines]
    x, y = linear(times.values, _LEFT, _RIGHT), log(_all(drawn), _LOW, _TOP)
    x_name = f"{times.name} / {times.unit}"
    curves = [polyline(_places(own, times, x, y), series_css(own.series), own.name) for own in drawn]
    parts = (axes(x, y, x_name, _Y_NAME), group(*curves), *_legend(drawn, rest))
    drawing = svg("drift", _TITLE, about, WIDTH, _HEIGHT, *parts)
    traces = [_trace(own, times) for own in drawn]
    plot = {"data": traces, "layout": layout(x_name, _Y_NAME, y_log=True)}
    return Figure("drift", _TITLE, about, headings, rows, drawing, plot)


def _drawn(value: float | None) -> float | None:
    """What is drawn of a value [eV/atom], in meV/atom."""
    return None if value is None else max(rounded(_PER_EV * value, PUBLIC_DIGITS), SMALLEST)


def _all(lines: Iterable[_Line]) -> list[float]:
    """The values of all points but the first, where all are 0."""
    return [value for own in lines for value in own.values[1:] if value is not None]


def _places(own: _Line, times: _Times, x: Axis, y: Axis) -> list[tuple[float, float]]:
    values = [math.nan if value is None else value for value in own.values[1:]]
    return list(zip(x.places(times.values[1:]), y.places(values), strict=True))


def _legend(lines: Sequence[_Line], rest: str) -> list[Markup]:
    """An entry for each series, and one for all that is grey."""
    entries: list[tuple[int | None, str]] = [
        (own.series, own.name) for own in reversed(lines) if own.series is not None
    ]
    if any(own.series is None for own in lines):
        entries.append((None, rest))
    places = zip(entries, short_names((name for _, name in entries), 28), strict=True)
    return [key_line(s, name, _RIGHT + 20, _TOP + 12 + 19 * i) for i, ((s, _), name) in enumerate(places)]


def _trace(own: _Line, times: _Times) -> dict[str, Any]:
    colour = "rest" if own.series is None else own.series % N_COLOURS
    trace = {
        "type": "scatter",
        "mode": "lines",
        "name": own.name,
        "x": times.values[1:],
        "y": finite(own.values[1:]),
        "meta": {"colour": colour},
        "showlegend": own.series is not None,
    }
    return trace | ({} if own.series is None else {"line": {"dash": DASHES[own.series % N_COLOURS]}})
