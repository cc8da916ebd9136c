"""Curves of items, as kinds state them: g(r), densities, distributions, paths. A small plot for each item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle, zip_longest
from typing import NamedTuple, TypeVar

from judge.disclosure.public_curves import PUBLIC_DIGITS, Points, PublicCurve, public_profile
from judge.figures.chosen_models import ChosenModel
from judge.figures.figure import Cell, Figure, Heading, Trace, axis
from judge.figures.small_plots import MOST_PLOTS, SmallPlot, grid_of
from judge.ranking.leaderboard import Row
from judge.records.few_items import LEAST_ITEMS
from judge.view.formatting import count
from judge.view.page_context import Frame
from tasks.metrics.profiles import Profile
from tasks.suites.suite import Task

MOST_POINTS = 1000
"""A table has the points of so many curves that it has at most so many rows, but of one curve at least."""

_MEAN = "mean over the items"
_HIDDEN = f"For a hidden data set only the mean is shown, over at least {LEAST_ITEMS} items and to two digits."
_REFERENCE = "reference"

Each = TypeVar("Each")


class TaskCurve(NamedTuple):
    """A curve of a model with its task and its axes."""

    task: str
    profile: Profile
    curve: PublicCurve

    @property
    def title(self) -> str:
        return f"{self.task}: {self.curve.name or _MEAN}"


class ItemCurves(NamedTuple):
    """The curves of several models of one item, or their means.

    Args:
        name: of the item; empty for the means.
        curves: by the names of the models.
        references: by label set.
    """

    name: str
    curves: dict[str, PublicCurve]
    references: dict[str, PublicCurve]

    @property
    def first(self) -> PublicCurve:
        """The curve of the first model, with the further curves, which are the same for all models."""
        return next(iter(self.curves.values()))

    @property
    def also(self) -> dict[str, Points]:
        """The further curves."""
        return dict(self.first.also)

    @property
    def x(self) -> list[float]:
        """All places at which any of the curves has a point."""
        return sorted({place for curve in self.curves.values() for place in curve.x})


def profiles_of(frame: Frame, row: Row) -> Figure | None:
    """The curves of a model, of at most `MOST_PLOTS` items in the plot; None if it has none."""
    items, public = frame.sources.items, frame.sources.public
    sorts = [
        [TaskCurve(line.task.label, profile, curve) for curve in curves]
        for line in row.tasks
        for profile in line.task.traits.profiles
        if (curves := public_profile(line, items.get((row.submission.id, line.task.name)), profile, public))
    ]
    every = [curve for sort in sorts for curve in sort]
    if not every:
        return None
    # Of each sort in turn: else the first data set, if it is large, would take all plots.
    in_turn = [curve for each in zip_longest(*sorts) for curve in each if curve is not None]
    chosen = set(map(id, in_turn[:MOST_PLOTS]))
    drawn = [curve for curve in every if id(curve) in chosen]
    listed = list(_within(every, (len(curve.curve.x) for curve in every)))
    also = _further(curve.curve for curve in listed)
    grid = grid_of([_plot_of_one(curve) for curve in drawn])
    about = (
        "What the model's own simulations and paths look like, item by item; the reference is grey."
        f"{_thin(also)} "
        f"{_HIDDEN}{_left_out(len(drawn), len(listed), len(every), 'curve')}"
    )
    return Figure(
        "profiles",
        "Curves of simulations and paths",
        about,
        tuple(map(Heading, ("Curve", "Quantity", "x", "y", "Reference", *also))),
        [point for curve in listed for point in _points_of_one(curve, also)],
        grid.traces,
        grid.layout,
        height=grid.height,
        digits=PUBLIC_DIGITS,
        narrow_height=grid.narrow_height,
    )


def profiles_by_model(frame: Frame, task: Task, models: Sequence[ChosenModel]) -> list[Figure]:
    """A figure for each profile of the task of which these models have curves: a plot for each item."""
    figures = (_by_model(frame, profile, models) for profile in task.traits.profiles)
    return [figure for figure in figures if figure is not None]


def _by_model(frame: Frame, profile: Profile, models: Sequence[ChosenModel]) -> Figure | None:
    by_item = _by_item(frame, profile, models)
    if not by_item:
        return None
    label_sets = sorted({label_set for item in by_item for label_set in item.references})
    names = [model.name for model in models if any(model.name in item.curves for item in by_item)]
    drawn = by_item[:MOST_PLOTS]
    listed = list(_within(by_item, (len(item.x) for item in by_item)))
    grid = grid_of([_plot_of_several(item, profile, models) for item in drawn])
    what = "A plot for each item, a line for each model." if by_item[0].name else f"A line for each model. {_HIDDEN}"
    grey = " The reference is grey." if label_sets else ""
    also = _further(curve for item in listed for curve in item.curves.values())
    left_out = _left_out(len(drawn), len(listed), len(by_item), "item")
    about = f"{what}{grey}{_thin(also)}{left_out}"
    references = [f"Reference, {name}" if len(label_sets) > 1 else "Reference" for name in label_sets]
    return Figure(
        f"profile-{profile.key}",
        profile.title,
        about,
        tuple(map(Heading, ("Item", profile.x, *references, *also, *names))),
        [point for item in listed for point in _points_of_several(item, label_sets, also, names)],
        grid.traces,
        grid.layout,
        height=grid.height,
        digits=PUBLIC_DIGITS,
        narrow_height=grid.narrow_height,
    )


def _by_item(frame: Frame, profile: Profile, models: Sequence[ChosenModel]) -> list[ItemCurves]:
    """The items in the order of the first model that has them."""
    by_item: dict[str, ItemCurves] = {}
    for model in models:
        label_set = model.line.result.label_set if model.line.result else ""
        for curve in public_profile(model.line, model.items, profile, frame.sources.public):
            item = by_item.setdefault(curve.name, ItemCurves(curve.name, {}, {}))
            item.curves[model.name] = curve
            if curve.reference:
                item.references.setdefault(label_set or "", curve)
    return list(by_item.values())


def _left_out(n_drawn: int, n_listed: int, n_all: int, noun: str) -> str:
    if n_drawn == n_listed == n_all:
        return ""
    table = "all" if n_listed == n_all else f"the first {n_listed}"
    return f" {n_drawn} of {count(n_all, noun)} are drawn; the table has {table}."


def _within(curves: Sequence[Each], n_points: Iterable[int]) -> Iterator[Each]:
    """The first of them that have at most `MOST_POINTS` points together, and at least one."""
    total = 0
    for index, (curve, n) in enumerate(zip(curves, n_points, strict=True)):
        total += n
        if index and total > MOST_POINTS:
            return
        yield curve


def _further(curves: Iterable[PublicCurve]) -> list[str]:
    """The names of further curves, for comparison."""
    return sorted({name for curve in curves for name, _ in curve.also})


def _thin(also: Sequence[str]) -> str:
    return f" Thin lines, for comparison: {', '.join(also)}." if also else ""


def _points_of_one(curve: TaskCurve, also: Sequence[str]) -> list[Sequence[Cell]]:
    quantity = f"{curve.profile.y} over {curve.profile.x}"
    none = (None,) * len(curve.curve.x)
    further = [dict(curve.curve.also).get(name, none) for name in also]
    points = zip(curve.curve.x, curve.curve.y, curve.curve.reference or none, *further, strict=True)
    return [(curve.title, quantity, x, y, *rest) for x, y, *rest in points if y is not None]


def _points_of_several(
    item: ItemCurves, label_sets: Sequence[str], also: Sequence[str], names: Sequence[str]
) -> list[Sequence[Cell]]:
    references = [_by_place(item.references.get(name), of_reference=True) for name in label_sets]
    further = [dict(zip(item.first.x, item.also.get(name, ()), strict=False)) for name in also]
    columns = [*references, *further, *(_by_place(item.curves.get(name)) for name in names)]
    return [(item.name or _MEAN, x, *(column.get(x) for column in columns)) for x in item.x]


def _by_place(curve: PublicCurve | None, *, of_reference: bool = False) -> Mapping[float, float | None]:
    if curve is None:
        return {}
    return dict(zip(curve.x, curve.reference if of_reference else curve.y, strict=True))


def _plot_of_one(curve: TaskCurve) -> SmallPlot:
    traces = [_line(curve.title, curve.curve.x, curve.curve.y, 0)]
    if curve.curve.reference:
        traces.insert(0, _line(_REFERENCE, curve.curve.x, curve.curve.reference, "rest"))
    traces[:0] = _thin_lines(curve.curve)
    return SmallPlot(curve.title, axis(curve.profile.x), axis(curve.profile.y), traces)


def _plot_of_several(item: ItemCurves, profile: Profile, models: Sequence[ChosenModel]) -> SmallPlot:
    """The references below the models, the first model on top."""
    traces = [
        _line(_REFERENCE, c.x, c.reference, "rest") | {"legendgroup": _REFERENCE, "legendrank": 2000}
        for c in item.references.values()
    ]
    traces[:0] = _thin_lines(item.first)
    for series, model in reversed(list(enumerate(models))):
        if model.name in item.curves:
            curve, look = item.curves[model.name], {"legendgroup": model.name, "legendrank": series}
            traces.append(_line(model.name, curve.x, curve.y, series) | look | {"line": {"width": 1.3}})
    return SmallPlot(item.name or _MEAN, axis(profile.x), axis(profile.y), traces)


def _thin_lines(curve: PublicCurve) -> list[Trace]:
    """The further curves: thin, each with its own dash."""
    return [
        _line(name, curve.x, y, "soft")
        | {"legendgroup": name, "legendrank": 3000, "line": {"width": 0.8, "dash": dash}}
        for (name, y), dash in zip(curve.also, cycle(("dot", "dash", "dashdot", "longdash")))
    ]


def _line(name: str, x: Sequence[float], y: Points, colour: int | str) -> Trace:
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "meta": {"colour": colour}}
