"""How far the runs of dynamics got, and how they ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from judge.disclosure.public_curves import PUBLIC_DIGITS, is_hidden
from judge.disclosure.public_runs import PublicRuns, public_runs
from judge.figures.chosen_models import ChosenModel
from judge.figures.figure import Cell, Figure, Heading, Trace, axis
from judge.figures.names import short_names
from judge.figures.small_plots import MOST_PLOTS, SmallPlot, grid_of
from judge.ranking.leaderboard import Row
from judge.records.few_items import LEAST_ITEMS
from judge.view.formatting import count
from judge.view.page_context import Frame
from tasks.metrics.run_progress import TO_THE_END

MOST_BARS = 30
MOST_ROWS = 1000
"""The table has at most so many rows."""

SMALLEST = 0.5
"""Percent: a run that ended at its start is drawn as long as this; plotly writes no text on a bar without length."""

_KEY, _TITLE = "progress", "How far each run got"
_ABOUT = "The share of its length until which a run was sound, and how it ended; of several replicas, the first to end."
_HIDDEN = (
    f" For a hidden data set only the mean is shown, over at least {LEAST_ITEMS} runs and to two digits, and how many "
    "ended in which way."
)
_NUMBERS = (Heading("Reached", "%"), Heading("Sound until", "ps"), Heading("End"))


class RunBar(NamedTuple):
    """A bar: a run, or the mean over the runs of a hidden data set.

    Args:
        place: the task or the model.
        run: the name of the run, or what the mean is over.
        end: how it ended, or how many of them ended in which way.
    """

    place: str
    run: str
    percent: float
    ended_ps: float | None
    end: str

    @property
    def numbers(self) -> tuple[Cell, ...]:
        return self.percent, self.ended_ps, self.end


def progress_of(frame: Frame, row: Row) -> Figure | None:
    """The runs of a model; None if it has none."""
    items, public = frame.sources.items, frame.sources.public
    bars = [
        bar
        for line in row.tasks
        if line.task.traits.progress is not None
        for bar in _bars(line.task.label, public_runs(line, items.get((row.submission.id, line.task.name)), public))
    ]
    if not bars:
        return None
    first = sorted(bars, key=lambda bar: bar.percent)
    drawn = first[:MOST_BARS]
    labels = short_names([f"{bar.place}: {bar.run}" for bar in drawn], 36)
    return Figure(
        _KEY,
        _TITLE,
        f"{_ABOUT}{_HIDDEN}{_left_out(len(drawn), len(bars), 'bar', MOST_ROWS)}",
        (Heading("Task"), Heading("Run"), *_NUMBERS),
        [(bar.place, bar.run, *bar.numbers) for bar in first[:MOST_ROWS]],
        [_trace(drawn, labels)],
        {"xaxis": _share_axis(), "yaxis": _names_axis(labels)},
        height=120 + 20 * len(drawn),
        digits=PUBLIC_DIGITS,
    )


def progress_by_model(frame: Frame, models: Sequence[ChosenModel]) -> Figure | None:
    """The runs of these models in one task: a plot for each system, a bar for each model; None if there are none."""
    by_run: dict[str, list[RunBar]] = {}
    for model in models:
        for bar in _bars(model.name, public_runs(model.line, model.items, frame.sources.public)):
            by_run.setdefault(bar.run, []).append(bar)
    if not by_run:
        return None
    systems = sorted(by_run, key=lambda name: sum(bar.percent for bar in by_run[name]) / len(by_run[name]))
    early = [name for name in systems if any(bar.end != TO_THE_END for bar in by_run[name])]
    drawn = early[:MOST_PLOTS] or systems[:1]
    labels = dict(zip([model.name for model in models], short_names([m.name for m in models], 18), strict=True))
    n_bars = max(len(by_run[name]) for name in drawn)
    grid = grid_of([_plot(name, by_run[name], labels) for name in drawn], 2, 80 + 20 * n_bars)
    n_listed = max(1, MOST_ROWS // len(models))
    hidden = _HIDDEN if is_hidden(models[0].line, frame.sources.public) else ""
    return Figure(
        _KEY,
        _TITLE,
        f"{_ABOUT}{hidden} A bar for each model.{_of_systems(len(drawn), len(early), len(systems), n_listed)}",
        (Heading("System"), Heading("Model"), *_NUMBERS),
        [(name, bar.place, *bar.numbers) for name in systems[:n_listed] for bar in by_run[name]],
        grid.traces,
        grid.layout,
        height=grid.height,
        digits=PUBLIC_DIGITS,
        narrow_height=grid.narrow_height,
    )


def _bars(place: str, runs: PublicRuns | None) -> list[RunBar]:
    if runs is None:
        return []
    if runs.each:
        return [RunBar(place, run.name, run.percent, run.ended_ps, run.end) for run in runs.each]
    ends = ", ".join(f"{n} {word}" for word, n in runs.ends)
    return [RunBar(place, "mean over the runs", runs.mean_percent, None, ends)]


def _of_systems(n_drawn: int, n_early: int, n_all: int, n_listed: int) -> str:
    """Which systems are drawn: those of which all runs are whole have equal plots."""
    if n_drawn == n_all:
        return ""
    which = "the first of those in which a run ended early" if n_drawn < n_early else "those in which a run ended early"
    drawn = f"The plots show {n_drawn} of {count(n_all, 'system')}: {which}" if n_early else "Every run reached its end"
    table = "all" if n_all <= n_listed else f"the first {n_listed}"
    return f" {drawn}; the table has {table}."


def _left_out(n_drawn: int, n_all: int, noun: str, n_listed: int) -> str:
    if n_drawn == n_all:
        return ""
    table = "all" if n_all <= n_listed else f"the first {n_listed}"
    return f" The {n_drawn} of {count(n_all, noun)} that got least far are drawn; the table has {table}."


def _plot(name: str, bars: Sequence[RunBar], labels: dict[str, str]) -> SmallPlot:
    names = [labels[bar.place] for bar in bars]
    return SmallPlot(name, _share_axis(), _names_axis(names), [_trace(bars, names)])


def _share_axis() -> dict[str, object]:
    return axis("share of the run", ticksuffix=" %", range=[0, 103])


def _names_axis(names: Sequence[str]) -> dict[str, object]:
    return {"type": "category", "categoryarray": names, "autorange": "reversed"}


def _trace(bars: Sequence[RunBar], labels: Sequence[str]) -> Trace:
    """Horizontal bars; the end is written on bars of runs that did not get to theirs."""
    times = ["" if bar.ended_ps is None else f", {bar.ended_ps:g} ps" for bar in bars]
    return {
        "type": "bar",
        "orientation": "h",
        "name": _TITLE,
        "x": [max(bar.percent, SMALLEST) for bar in bars],
        "y": labels,
        "text": ["" if bar.end == TO_THE_END else bar.end for bar in bars],
        "textposition": "auto",
        "textangle": 0,
        "constraintext": "none",
        "customdata": [f"{bar.percent:g} %{time}: {bar.end}" for bar, time in zip(bars, times, strict=True)],
        "hovertemplate": "%{y}: %{customdata}<extra></extra>",
        "meta": {"colour": 0},
        "showlegend": False,
    }
