"""Scores over time: of each model when it was submitted, and of the best at each publication."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple

from markupsafe import Markup

from judge.figures.axes import Axis, axes, key_line, layout, linear
from judge.figures.dates import dates, day
from judge.figures.drawing import DASHES, SYMBOLS, WIDTH, Point, mark, polyline, series_css, svg
from judge.figures.figure import Cell, Figure, Heading
from judge.figures.names import model_names, short_names
from judge.ranking.leaderboard import Row
from judge.view.columns import Column
from judge.view.page_context import Frame
from judge.view.score_display import ranked_by

N_FOLLOWED = 5
"""Of the ranking, the first so many are followed over publications."""

_LEFT, _RIGHT, _TOP, _LOW, _HEIGHT = 62.0, 540.0, 12.0, 330.0, 376.0


class _Dot(NamedTuple):
    """A model when it was submitted.

    Args:
        best: score of any model until then, of those that are ranked now.
    """

    name: str
    when: datetime
    score: float
    best: float


class _Followed(NamedTuple):
    """A model over publications: pairs of when and its score."""

    name: str
    points: tuple[tuple[datetime, float], ...]


def history_figure(frame: Frame) -> Figure | None:
    """How the score that the ranking is by went on; None where no model is ranked."""
    column = _column(frame)
    dots = [] if column is None else _dots(frame.board.ranked, column)
    if column is None or not dots:
        return None
    followed = _followed(frame, column)
    title = f"{column.label} over time"
    better = "lower" if column.lower_is_better else "higher"
    about = (
        f"{column.label} of each ranked model by the date of its submission, as it is scored now, and the best until "
        f"then of the models that are ranked now: one that was taken out since is not among them; {better} is better."
        + (" Lines with marks: how the first of the ranking were scored when results were published." * bool(followed))
    )
    headings = tuple(map(Heading, ("Model", "What", "Date", column.label, "Best until then of those ranked now")))
    table: list[Sequence[Cell]] = [(dot.name, "submitted", day(dot.when), dot.score, dot.best) for dot in dots]
    table += [(own.name, "published", day(when), score, None) for own in followed for when, score in own.points]
    drawing, plot = _drawing(title, about, column, dots, followed), _plot(column, dots, followed)
    return Figure("history", title, about, headings, table, drawing, plot)


def _column(frame: Frame) -> Column | None:
    """Of the score that the ranking is by, or of the first that there is."""
    key = ranked_by(frame.keys)
    return next((column for column in frame.columns if key in (None, column.key)), None)


def _dots(rows: Sequence[Row], column: Column) -> list[_Dot]:
    scored = [(row, value) for row in rows if (value := column.term(row).value) is not None]
    names = model_names(rows)
    dots: list[_Dot] = []
    for row, value in sorted(scored, key=lambda own: (own[0].submission.created, own[0].submission.id)):
        so_far = [dots[-1].best, value] if dots else [value]
        best = min(so_far) if column.lower_is_better else max(so_far)
        dots.append(_Dot(names[row.submission.id], row.submission.created, value, best))
    return dots


def _followed(frame: Frame, column: Column) -> list[_Followed]:
    """Those of the first in the ranking that were published more than once."""
    found = []
    names = model_names(frame.board.ranked)
    for row in frame.board.ranked[:N_FOLLOWED]:
        points = []
        for manifest in frame.sources.manifests:
            published = manifest.scores.get(row.submission.id)
            score = getattr(published, column.key) if published else None
            if score is not None:
                points.append((manifest.published, score))
        if len(points) > 1:
            found.append(_Followed(names[row.submission.id], tuple(points)))
    return found


def _drawing(title: str, about: str, column: Column, dots: Sequence[_Dot], followed: Sequence[_Followed]) -> Markup:
    moments = [dot.when for dot in dots] + [when for own in followed for when, _ in own.points]
    scores = [dot.score for dot in dots] + [score for own in followed for _, score in own.points]
    x, y = dates(moments, _LEFT, _RIGHT), linear([0.0, *scores], _LOW, _TOP)
    parts = [axes(x, y, "date", f"{column.label} {column.arrow}"), polyline(_steps(dots, x, y), series_css(0))]
    parts += [mark(_place(dot.when, dot.score, x, y), None, 3.5, told=_announced(dot)) for dot in dots]
    names = ["best until then"]
    for series, own in enumerate(followed, 1):
        places = [_place(when, score, x, y) for when, score in own.points]
        parts.append(polyline(places, series_css(series), own.name))
        parts += [mark(place, series, 3.5, told=own.name) for place in places]
        names.append(own.name)
    called = short_names(names, 28)
    parts += [key_line(i, name, _RIGHT + 20, _TOP + 12 + 19 * i) for i, name in enumerate(called)]
    parts.append(key_line(None, "a model", _RIGHT + 20, _TOP + 12 + 19 * len(names), marks=True))
    return svg("history", title, about, WIDTH, _HEIGHT, *parts)


def _place(when: datetime, score: float, x: Axis, y: Axis) -> Point:
    return x(when.timestamp()), y(score)


def _steps(dots: Sequence[_Dot], x: Axis, y: Axis) -> list[Point]:
    """The best until then as steps, on to the end of the axis."""
    places = [(x(dot.when.timestamp()), y(dot.best)) for dot in dots]
    steps = [point for before, after in pairwise(places) for point in (before, (after[0], before[1]))]
    return [*steps, places[-1], (x.end, places[-1][1])]


def _announced(dot: _Dot) -> str:
    return f"{dot.name}, {day(dot.when)}"


def _plot(column: Column, dots: Sequence[_Dot], followed: Sequence[_Followed]) -> dict[str, Any]:
    """As plotly takes it."""
    when = [_iso(dot.when) for dot in dots]
    best = {
        "name": "best until then",
        "mode": "lines",
        "x": when,
        "y": [dot.best for dot in dots],
        "line": {"shape": "hv"},
        "meta": {"colour": 0},
    }
    models = {
        "name": "a model",
        "mode": "markers",
        "x": when,
        "y": [dot.score for dot in dots],
        "text": [dot.name for dot in dots],
        "meta": {"colour": "rest"},
    }
    lines = [
        {
            "name": own.name,
            "mode": "lines+markers",
            "x": [_iso(moment) for moment, _ in own.points],
            "y": [score for _, score in own.points],
            "line": {"dash": DASHES[series]},
            "marker": {"symbol": SYMBOLS[series]},
            "meta": {"colour": series},
        }
        for series, own in enumerate(followed, 1)
    ]
    drawn = layout("date", f"{column.label} {column.arrow}")
    drawn["xaxis"]["type"] = "date"
    return {"data": [{"type": "scatter", **trace} for trace in (best, *lines, models)], "layout": drawn}


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
