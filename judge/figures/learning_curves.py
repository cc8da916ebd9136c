"""Learning curves: the error of trained models over the number of frames that they learned from."""

from __future__ import annotations

import math
from collections.abc import Sequence

from judge.disclosure.public_curves import PUBLIC_DIGITS
from judge.disclosure.public_learning import PublicTraining, SeedErrors, elements_in
from judge.figures.figure import N_COLOURS, Cell, Figure, Heading, Trace, axis
from judge.figures.learning import (
    ALL_ATOMS,
    Coordinate,
    LearnedModel,
    any_hidden,
    error_of,
    learned_by,
    milli,
    numbers,
)
from judge.figures.names import short_names
from judge.figures.small_plots import MOST_PLOTS, SmallPlot, grid_of
from judge.ranking.leaderboard import Row
from judge.view.formatting import number
from judge.view.page_context import Frame
from tasks.kinds.learned_models import ENERGY, FORCE, LEARNED, UNITS
from tasks.kinds.sample_efficiency import SampleEfficiency

KIND = SampleEfficiency.name
COMPOSITION_ONLY = "composition only"
_TITLE = "Learning curves"
_BAND = "Bands are the mean plus and minus its standard error over seeds. "
_ABOUT = (
    "The mean absolute error over the number of frames learned from, both on logarithmic axes: of forces on all atoms "
    "and on those of each element, and of energies. The dashed line is composition alone, which learns nothing else. "
)
_FAILED = "A point is the mean over the seeds that left a model; the table tells how many did not."
_ROW_HEIGHT = 260
MOST_TICKS = 7


def learning_curves(frame: Frame, models: Sequence[LearnedModel]) -> Figure | None:
    """The curves of these models in one task, a line for each; None if there are none."""
    models = [model for model in models if model.line.task.kind == KIND][:N_COLOURS]
    if not models:
        return None
    labels = short_names([model.name for model in models], 18)
    every = [training for model in models for training in model.trainings]
    plots = []
    for shown in coordinates(every):
        traces = [trace for k, model in enumerate(models) for trace in _curve(labels[k], points(model, shown), k)]
        baselines = [baseline(model, shown) for model in models]
        plots.append(_plot(shown, [*_composition_only(every, baselines), *traces]))
    grid = grid_of(plots[:MOST_PLOTS], row_height=_ROW_HEIGHT)
    rows = [row for model in models for row in _rows(model)]
    return Figure(
        "learning-curves",
        _TITLE,
        f"{_ABOUT}{_band(models)}{_FAILED}{any_hidden(frame, models)}",
        _headings("Model"),
        rows,
        grid.traces,
        grid.layout,
        height=grid.height,
        digits=PUBLIC_DIGITS,
        narrow_height=grid.narrow_height,
    )


def learning_curves_of(frame: Frame, row: Row) -> Figure | None:
    """The curves of one model in all tasks that have them: a plot of forces and one of energies for each task."""
    tasks = learned_by(frame, row, KIND)
    if not tasks:
        return None
    plots = []
    for task in tasks:
        shown = coordinates(task.trainings)
        for stem, title in ((FORCE, "forces"), (ENERGY, "energy")):
            lines = [each for each in shown if each.stem == stem]
            curves = [t for k, each in enumerate(lines) for t in _curve(each.name, points(task, each), k % N_COLOURS)]
            if lines:
                before = f"{task.name}: " if len(tasks) > 1 else ""
                alone = _composition_only(task.trainings, [baseline(task, lines[0])])
                plots.append(_plot(Coordinate(f"{before}{title}", stem), [*alone, *curves]))
    grid = grid_of(plots[:MOST_PLOTS], 2, _ROW_HEIGHT + 40)
    return Figure(
        "learning-curves",
        _TITLE,
        f"{_ABOUT}{_band(tasks)}{_FAILED}{any_hidden(frame, tasks)}",
        _headings("Task"),
        [row for task in tasks for row in _rows(task)],
        grid.traces,
        grid.layout,
        height=grid.height,
        digits=PUBLIC_DIGITS,
        narrow_height=grid.narrow_height,
    )


def coordinates(trainings: Sequence[PublicTraining]) -> list[Coordinate]:
    """What there are errors of: forces on all atoms, on those of each element, energies."""
    known = {stem for each in trainings for stem in each.errors}
    found = [Coordinate(ALL_ATOMS, FORCE)] if FORCE in known else []
    found += [Coordinate(symbol, FORCE, symbol) for symbol in elements_in(trainings)]
    return [*found, Coordinate("energy", ENERGY)] if ENERGY in known else found


def points(model: LearnedModel, shown: Coordinate) -> list[tuple[int, SeedErrors]]:
    """The errors by number of frames, increasing."""
    each = ((t.training.n_frames, error_of(t, shown.stem, shown.symbol)) for t in model.trainings)
    return sorted(((n, error) for n, error in each if error is not None), key=lambda point: point[0])


def baseline(model: LearnedModel, shown: Coordinate) -> float | None:
    """The error of composition alone, over all trainings of a model [eV/Å or eV/atom]."""
    if not shown.symbol:
        metric = model.line.result.metrics.get(LEARNED[shown.stem]) if model.line.result else None
        return metric.baseline if metric else None
    known = [error.baseline for _, error in points(model, shown) if error.baseline is not None]
    return sum(known) / len(known) if known else None


def _plot(shown: Coordinate, traces: Sequence[Trace]) -> SmallPlot:
    unit = "meV/Å" if shown.stem == FORCE else "meV/atom"
    title = f"force on {shown.symbol}" if shown.symbol else shown.name
    x, y = ([value for trace in traces for value in trace[side]] for side in ("x", "y"))
    return SmallPlot(title, _log("frames learned from", x), _log(f"MAE, {unit}", y), traces)


def _log(title: str, values: Sequence[float]) -> dict[str, object]:
    places = ticks(min(values), max(values)) if values else []
    return axis(title, type="log", tickvals=places, ticktext=[number(place, 1) for place in places])


def ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten from about `low` to about `high`; the powers alone if that is too many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [float(f"{step}e{power}") for power in powers for step in (1, 2, 5)]
    within = [place for place in every if low / 1.2 <= place <= high * 1.2]
    return within if len(within) <= MOST_TICKS else within_powers(within)


def within_powers(places: Sequence[float]) -> list[float]:
    """Those that are powers of ten."""
    return [place for place in places if f"{place:e}".startswith("1.000000e")]


def _curve(name: str, values: Sequence[tuple[int, SeedErrors]], series: int) -> list[Trace]:
    """A line with its band; a seed without a model is told at its point."""
    known = [(n, error, error.mean) for n, error in values if error.mean]
    look = {"legendgroup": name, "legendrank": series, "meta": {"colour": series}}
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [n for n, _, _ in known],
        "y": [milli(mean) for _, _, mean in known],
        "text": [_missing(error) for _, error, _ in known],
        "hovertemplate": "%{fullData.name}: n = %{x}, %{y:.4g}%{text}<extra></extra>",
        **look,
    }
    ends = [(n, *band(mean, error.se)) for n, error, mean in known if error.se is not None]
    if len(ends) < 2:
        return [line]
    around = {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [n for n, _, _ in ends] + [n for n, _, _ in reversed(ends)],
        "y": [milli(high) for _, _, high in ends] + [milli(low) for _, low, _ in reversed(ends)],
        "fill": "toself",
        "line": {"width": 0},
        "hoverinfo": "skip",
        **look,
    }
    return [line, around]


def _missing(error: SeedErrors) -> str:
    return f", {error.n_failed} of {error.n} seeds without a model" if error.n_failed else ""


def band(mean: float, se: float) -> tuple[float, float]:
    """Mean minus and plus its standard error; the lower end is above zero, since the axis is logarithmic."""
    return max(mean - se, mean / 100), mean + se


def _composition_only(trainings: Sequence[PublicTraining], values: Sequence[float | None]) -> list[Trace]:
    """A dashed line at the largest error of composition alone: models with other labels have another."""
    known, sizes = [value for value in values if value], [each.training.n_frames for each in trainings]
    if not known:
        return []
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": COMPOSITION_ONLY,
            "x": [min(sizes), max(sizes)],
            "y": [milli(max(known))] * 2,
            "line": {"dash": "dash", "width": 1.3},
            "hovertemplate": "%{fullData.name}: %{y:.4g}<extra></extra>",
            "legendgroup": COMPOSITION_ONLY,
            "legendrank": 2000,
            "meta": {"colour": "soft"},
        }
    ]


def _band(models: Sequence[LearnedModel]) -> str:
    spread = any(error.se is not None for m in models for t in m.trainings for error in t.errors.values())
    return _BAND if spread else ""


def _headings(first: str) -> tuple[Heading, ...]:
    errors = (Heading("Force MAE", UNITS[FORCE]), Heading("Its standard error", UNITS[FORCE]))
    energies = (Heading("Energy MAE", UNITS[ENERGY]), Heading("Its standard error", UNITS[ENERGY]))
    return (Heading(first), Heading("Atoms"), Heading("Frames learned from"), *errors, *energies, *SEEDS)


SEEDS = (Heading("Seeds"), Heading("Without a model"))


def _rows(model: LearnedModel) -> list[tuple[Cell, ...]]:
    """A row for each number of frames: of all atoms, then of each element."""
    rows: list[tuple[Cell, ...]] = []
    energies = dict(points(model, Coordinate("", ENERGY)))
    for shown in coordinates(model.trainings):
        if shown.stem == FORCE:
            for n, error in points(model, shown):
                *of_energy, _, _ = numbers(None if shown.symbol else energies.get(n))
                mean, se, seeds, failed = numbers(error)
                rows.append((model.name, shown.name, n, mean, se, *of_energy, seeds, failed))
    return rows
