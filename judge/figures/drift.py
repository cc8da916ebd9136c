"""Energy drift: the change of the total energy in constant-energy dynamics, over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from judge.disclosure.public_curves import PUBLIC_DIGITS, Drift, is_hidden, public_drift
from judge.disclosure.redaction import rounded
from judge.figures.figure import N_COLOURS, Cell, Figure, Heading, Trace, axis, log_axis
from judge.figures.names import model_names
from judge.ranking.leaderboard import Row, TaskLine
from judge.records.few_items import LEAST_ITEMS
from judge.view.formatting import count
from judge.view.page_context import Frame
from tasks.kinds.nve import NveParameters

SMALLEST = 1e-6
"""meV/atom: a smaller deviation is rounding, and is drawn at this value."""

_UNIT, _PER_EV = "meV/atom", 1000.0
_HIDDEN = (
    f"For a hidden data set only the mean is shown, over at least {LEAST_ITEMS} runs and to two digits; no single run."
)


class TimeAxis(NamedTuple):
    """The times of all points; if runs have different lengths, shares of the run in percent."""

    values: tuple[float, ...]
    name: str
    unit: str


def drift_figure(frame: Frame) -> Figure | None:
    """The energy drift of every model, the mean over its tasks; None if no model has one."""
    drifts_by_row = [
        (row, drifts) for row in frame.board.rows if (drifts := [drift for _, drift in drifts_of(frame, row)])
    ]
    if not drifts_by_row:
        return None
    times = _common_times(drift for _, drifts in drifts_by_row for drift in drifts)
    names = model_names(frame.board.rows)
    best = [row.submission.id for row, _ in drifts_by_row if row.rank is not None][:N_COLOURS]
    traces: list[Trace] = []
    rows: list[Sequence[Cell]] = []
    for row, drifts in drifts_by_row:
        mean, name = _mean_over_tasks(drifts), names[row.submission.id]
        traces.append(_line(name, times, mean, best.index(row.submission.id) if row.submission.id in best else None))
        shown = [None if value is None else rounded(_PER_EV * value, PUBLIC_DIGITS) for value in mean[1:]]
        rows.append((name, row.rank, len(drifts), _runs_at_the_end(mean, drifts), *shown))
    about = (
        "|E(t) − E(0)| per atom in constant-energy dynamics: the mean over the runs of each task that reached that "
        "time, then over the tasks; lower is better. The best models of the ranking are in colour, the others in grey. "
        f"{_HIDDEN} A line ends where one of its tasks has no value."
    )
    if n_missing := len(frame.board.rows) - len(rows):
        first = f"{times.values[1]:g} {times.unit}"
        about += f" Without a line: {count(n_missing, 'model')}; too few runs reached the first time, {first}."
    headings = (
        *(Heading("Model"), Heading("Rank"), Heading("Tasks"), Heading("Runs at its end")),
        *(Heading(f"At {time:g} {times.unit}", _UNIT) for time in times.values[1:]),
    )
    return _figure(about, headings, rows, traces, times)


def drift_of(frame: Frame, row: Row) -> Figure | None:
    """The energy drift of one model by task, with the runs of public data sets; None if it has none."""
    drifts = drifts_of(frame, row)
    if not drifts:
        return None
    times = _common_times(drift for _, drift in drifts)
    traces: list[Trace] = []
    rows: list[Sequence[Cell]] = []
    for series, (task, drift) in enumerate(drifts):
        traces.append(_line(task, times, drift.mean, series))
        rows += _points_of(f"{task}: mean size", drift, drift.mean, drift.n_runs)
        for run, deviation in drift.runs:
            sizes = [None if value is None else abs(value) for value in deviation]
            traces.append(_line(f"{task}: {run}", times, sizes, None))
            rows += _points_of(f"{task}: {run}", drift, deviation, [1] * len(deviation))
    about = (
        "|E(t) − E(0)| per atom in constant-energy dynamics; lower is better. In colour the mean over the runs of each "
        f"task that reached that time; in grey the single runs of public data sets. {_HIDDEN}"
    )
    headings = (Heading("Line"), Heading("Time", "ps"), Heading("Runs"), Heading("E(t) − E(0)", _UNIT))
    return _figure(about, headings, rows, traces, times, PUBLIC_DIGITS)


def drifts_of(frame: Frame, row: Row) -> list[tuple[str, Drift]]:
    """The drifts of a model that have a value, with the name of the task."""
    drifts = []
    for line in row.tasks:
        drift = _drift_in(frame, row, line)
        if drift is not None and any(value is not None for value in drift.mean[1:]):
            drifts.append((line.task.label, drift))
    return drifts


def _drift_in(frame: Frame, row: Row, line: TaskLine) -> Drift | None:
    """The drift of a model in a task; None if it has none."""
    sources, parameters = frame.sources, line.task.parameters
    if sources.derived is None:
        return public_drift(line, sources.items.get((row.submission.id, line.task.name)), sources.public)
    if not isinstance(parameters, NveParameters) or line.result is None:
        return None
    stated = parameters.model_dump_json(), is_hidden(line, sources.public)
    kept = sources.derived.of(line.result, "drift", lambda items: [public_drift(line, items, sources.public)], *stated)
    if not kept or kept[0] is None:
        return None
    times_ps, mean, n_runs, runs, hidden = kept[0]
    return Drift(
        tuple(times_ps), tuple(mean), tuple(n_runs), tuple((name, tuple(values)) for name, values in runs), hidden
    )


def _points_of(
    name: str, drift: Drift, values: Sequence[float | None], n_runs: Sequence[int | None]
) -> list[Sequence[Cell]]:
    """A row of the table for each point with a value, in meV/atom."""
    points = zip(drift.times_ps, n_runs, values, strict=True)
    return [(name, time, n, rounded(_PER_EV * value, PUBLIC_DIGITS)) for time, n, value in points if value is not None]


def _mean_over_tasks(drifts: Sequence[Drift]) -> tuple[float | None, ...]:
    """The mean at each point, as far as every task has a value."""
    means: list[float | None] = []
    for column in zip(*(drift.mean for drift in drifts), strict=True):
        values = [value for value in column if value is not None]
        is_complete = len(values) == len(drifts)
        means.append(rounded(sum(values) / len(drifts), PUBLIC_DIGITS) if is_complete else None)
    return tuple(means)


def _runs_at_the_end(mean: Sequence[float | None], drifts: Sequence[Drift]) -> int:
    """The number of runs in the mean of the last value."""
    last = max((index for index, value in enumerate(mean) if value is not None), default=0)
    return sum(drift.n_runs[last] or 0 for drift in drifts)


def _common_times(drifts: Iterable[Drift]) -> TimeAxis:
    times = {drift.times_ps for drift in drifts}
    if len(times) == 1:
        return TimeAxis(tuple(rounded(time, 6) for time in times.pop()), "time", "ps")
    n = len(next(iter(times)))
    return TimeAxis(tuple(100.0 * index / (n - 1) for index in range(n)), "share of the run", "%")


def _line(name: str, times: TimeAxis, deviations: Sequence[float | None], series: int | None) -> Trace:
    """The deviations [eV/atom] after the start as a line in meV/atom; grey if `series` is None."""
    sizes = [None if v is None else max(rounded(_PER_EV * v, PUBLIC_DIGITS), SMALLEST) for v in deviations[1:]]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": times.values[1:],
        "y": sizes,
        "meta": {"colour": "rest" if series is None else series},
        "showlegend": series is not None,
        "legendrank": 1000 if series is None else series,
    }


def _figure(
    about: str,
    headings: tuple[Heading, ...],
    rows: Sequence[Sequence[Cell]],
    traces: Sequence[Trace],
    times: TimeAxis,
    digits: int = 3,
) -> Figure:
    """The figure of these lines: grey lines below the others, the first series on top."""
    layout = {"xaxis": axis(f"{times.name} / {times.unit}"), "yaxis": log_axis("|E(t) − E(0)| / meV per atom")}
    from_below = sorted(traces, key=lambda trace: -trace["legendrank"])
    title = "Energy drift in constant-energy dynamics"
    return Figure("drift", title, about, headings, rows, from_below, layout, digits=digits)
