"""How many runs are still sound, over the time of a run: the curve of survival."""

from __future__ import annotations

from collections.abc import Sequence

from judge.disclosure.public_curves import PUBLIC_DIGITS
from judge.disclosure.public_runs import public_runs
from judge.figures.chosen_models import ChosenModel
from judge.figures.figure import N_COLOURS, Figure, Heading, Trace, axis
from judge.figures.names import short_names
from judge.view.page_context import Frame
from tasks.metrics.run_progress import SURVIVAL
from tasks.structures.predictions import Cause

_KEY, _TITLE = "survival", "How long runs survive"
_ABOUT = (
    "The share of the systems whose runs are sound, over the share of a run. The metric is the area below the curve. "
    "Runs that were out of time are left out."
)
_PERCENT = 100.0


def survival_by_model(frame: Frame, models: Sequence[ChosenModel]) -> Figure | None:
    """The curves of these models in a task that measures survival; None if there are none, or if they are hidden."""
    ends: dict[str, list[float]] = {}
    for model in models:
        result = model.line.result
        runs = public_runs(model.line, model.items, frame.sources.public)
        if result is not None and SURVIVAL in result.metrics and runs is not None and runs.each:
            late = model.line.task.traits.progress.word(Cause.OVER_TIME) if model.line.task.traits.progress else ""
            known = sorted(run.percent for run in runs.each if run.end != late)
            if known:
                ends[model.name] = known
    if not ends:
        return None
    rows = [(name, *point) for name, percents in ends.items() for point in curve(percents)]
    labels = short_names(list(ends), 18)
    return Figure(
        _KEY,
        _TITLE,
        _ABOUT,
        (Heading("Model"), Heading("Share of the run", "%"), Heading("Sound", "%")),
        rows,
        [
            _trace(label, curve(percents), k)
            for k, (label, percents) in enumerate(zip(labels, ends.values(), strict=True))
        ],
        {
            "xaxis": axis("share of the run", ticksuffix=" %", range=[0, 103]),
            "yaxis": axis("runs that are sound", ticksuffix=" %", range=[0, 103]),
        },
        digits=PUBLIC_DIGITS,
    )


def curve(percents: Sequence[float]) -> list[tuple[float, float]]:
    """The points (share of the run, share of the runs that are sound from there on), of the sorted ends of runs [%]."""
    n = len(percents)
    early = sorted({percent for percent in percents if percent < _PERCENT})
    sound = [(place, _PERCENT * sum(percent > place for percent in percents) / n) for place in early]
    points = [(0.0, _PERCENT), *sound]
    return [*points, (_PERCENT, points[-1][1])]


def _trace(label: str, points: Sequence[tuple[float, float]], series: int) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label,
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "line": {"shape": "hv"},
        "meta": {"colour": series % N_COLOURS},
    }
