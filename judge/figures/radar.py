"""How much of each domain a model gets right: one less its error there, on an axis a domain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from judge.disclosure.redaction import SCORE_DIGITS
from judge.figures.axes import key_line
from judge.figures.drawing import (
    DASHES,
    SYMBOLS,
    Point,
    group,
    line,
    mark,
    polygon,
    series_css,
    shortened,
    svg,
    text,
)
from judge.figures.figure import Figure, Heading
from judge.figures.names import model_names, short_names
from judge.ranking.leaderboard import Row
from judge.view.page_context import Frame
from judge.view.score_display import score_of

N_BEST = 5
_WIDTH, _RADIUS = 480.0, 116.0  # narrower than other drawings: it fits a telephone
_CENTRE = (240.0, 154.0)
_LEGEND, _ENTRY = 330.0, 20.0
_LEVELS = (0.25, 0.5, 0.75, 1.0)
_KINDS = {"force_field": "forces and energies", "property_error": "properties"}
_HOW = (
    "On each axis one less the error of a domain: 1 at the rim is perfect, 0 in the middle no better than the trivial "
    "model. A domain without a value stands in the middle, and as a dash in the table."
)


class Spoke(NamedTuple):
    """An axis: a domain of one of the error scores."""

    score: str
    domain: str

    @property
    def name(self) -> str:
        return f"{self.domain}, {_KINDS[self.score]}"


class Shape(NamedTuple):
    """A model on all axes; `series` is None where it is there for comparison."""

    name: str
    values: tuple[float | None, ...]
    series: int | None


def radar(frame: Frame) -> Figure | None:
    """The best models of the ranking; None where nothing is ranked, or there are less than three axes."""
    takes_part = {model.id for model in frame.file.models if not model.reference}
    best = [row for row in frame.board.ranked if row.submission.id in takes_part][:N_BEST]
    shapes = [(row, number) for number, row in enumerate(best)]
    title = "What the best get right" if len(best) > 1 else "What the best gets right"
    return _radar(frame, "radar", f"{title}, by domain", _HOW, shapes)


def radar_of(frame: Frame, row: Row) -> Figure | None:
    """One model, and the best of the ranking beside it; None where there are less than three axes."""
    best = next((other for other in frame.board.ranked if other is not row), None)
    shapes: list[tuple[Row, int | None]] = [(row, 0)]
    about = _HOW
    if best is not None:
        shapes.append((best, None))
        about = f"{_HOW} In grey {model_names((row, best))[best.submission.id]}, no. {best.rank}."
    return _radar(frame, "radar", "What it gets right, by domain", about, shapes)


def spokes(frame: Frame) -> tuple[Spoke, ...]:
    """The axes: all domains of force-field error, then those of property error."""
    first = frame.board.rows[0] if frame.board.rows else None
    if first is None:
        return ()
    return tuple(
        Spoke(key, part.name) for key in _KINDS if key in frame.keys for part in score_of(first.scores, key).parts
    )


def _radar(frame: Frame, key: str, title: str, about: str, rows: Sequence[tuple[Row, int | None]]) -> Figure | None:
    axes = spokes(frame)
    if len(axes) < 3 or not rows:
        return None
    names = model_names(row for row, _ in rows)
    shapes = [Shape(names[row.submission.id], _values(row, axes), series) for row, series in rows]
    if all(value is None for shape in shapes for value in shape.values):
        return None
    return Figure(
        key,
        title,
        about,
        (Heading("Model"), *(Heading(spoke.name) for spoke in axes)),
        [(shape.name, *shape.values) for shape in shapes],
        _drawing(key, title, about, axes, shapes),
        _plot(axes, shapes),
    )


def _values(row: Row, axes: Iterable[Spoke]) -> tuple[float | None, ...]:
    """One less the error, on each axis; an error above 1 is no worse than 1 here."""
    errors = {Spoke(key, part.name): part.value for key in _KINDS for part in score_of(row.scores, key).parts}
    found = (errors.get(spoke) for spoke in axes)
    return tuple(None if error is None else round(max(0.0, 1.0 - error), SCORE_DIGITS) for error in found)


def _drawing(key: str, title: str, about: str, axes: Sequence[Spoke], shapes: Sequence[Shape]) -> Markup:
    rings = [polygon(_ring(len(axes), [level] * len(axes)), "grid ring") for level in _LEVELS]
    lines = [line(_CENTRE, _at(number, len(axes), 1.0), "grid") for number in range(len(axes))]
    levels = [text((_CENTRE[0] + 4, _CENTRE[1] - _RADIUS * level + 11), f"{level:g}", "tick") for level in _LEVELS]
    names = [_spoke_name(spoke, number, len(axes)) for number, spoke in enumerate(axes)]
    # The first is drawn last: it lies on top.
    drawn = [_shape(shape) for shape in reversed(shapes)]
    called = short_names((shape.name for shape in shapes), 26)
    entries = [
        key_line(shape.series, name, _CENTRE[0] - 70, _LEGEND + _ENTRY * number, marks=True)
        for number, (shape, name) in enumerate(zip(shapes, called, strict=True))
    ]
    height = _LEGEND + _ENTRY * len(shapes)
    return svg(key, title, about, _WIDTH, height, *rings, *lines, *drawn, *levels, *names, *entries)


def _shape(shape: Shape) -> Markup:
    values = [value or 0.0 for value in shape.values]
    corners = _ring(len(values), values)
    marks = [mark(corner, shape.series, 3.2) for corner in corners] if shape.series is not None else []
    outline = polygon(corners, series_css(shape.series), shape.name)
    area = [polygon(corners, series_css(shape.series, "area"))] if shape.series == 0 else []
    return group(*area, outline, *marks)


def _ring(n: int, values: Sequence[float]) -> list[Point]:
    return [_at(number, n, value) for number, value in enumerate(values)]


def _at(number: int, n: int, value: float) -> Point:
    """The place of a value on an axis: the first points up, the next follow clockwise."""
    angle = math.tau * number / n
    return _CENTRE[0] + _RADIUS * value * math.sin(angle), _CENTRE[1] - _RADIUS * value * math.cos(angle)


def _spoke_name(spoke: Spoke, number: int, n: int) -> Markup:
    """The domain, and below it what of it, outside of the rim."""
    x, y = _at(number, n, 1.08)
    side = round(math.sin(math.tau * number / n), 6)
    lower = (1 - math.cos(math.tau * number / n)) / 2  # 0 at the top, 1 at the bottom
    y += -14 + 20 * lower
    anchor = "middle" if side == 0 else "start" if side > 0 else "end"
    room = 36 if side == 0 else 20
    return group(
        text((x, y), shortened(spoke.domain, room), "small strong", anchor),  # type: ignore[arg-type]
        text((x, y + 13), _KINDS[spoke.score], "small soft", anchor),  # type: ignore[arg-type]
    )


def _plot(axes: Sequence[Spoke], shapes: Sequence[Shape]) -> dict[str, object]:
    names = [f"{spoke.domain}\n{_KINDS[spoke.score]}" for spoke in axes]
    return {"data": [_trace(shape, names) for shape in reversed(shapes)], "layout": _LAYOUT}


def _trace(shape: Shape, names: Sequence[str]) -> dict[str, object]:
    values = [value or 0.0 for value in shape.values]
    return {
        "type": "scatterpolar",
        "name": shape.name,
        "r": [*values, values[0]],
        "theta": [*names, names[0]],
        "fill": "toself" if shape.series == 0 else "none",
        "mode": "lines" if shape.series is None else "lines+markers",
        "line": {"dash": "dash" if shape.series is None else DASHES[shape.series]},
        "marker": {"symbol": SYMBOLS[shape.series or 0]},
        "hovertemplate": "%{theta}: %{r:.3f}",
        "meta": {"colour": "rest" if shape.series is None else shape.series},
    }


_LAYOUT = {
    "polar": {
        "radialaxis": {"range": [0, 1], "tickvals": list(_LEVELS), "angle": 90, "tickangle": 90},
        "angularaxis": {"rotation": 90, "direction": "clockwise"},
    },
    "legend": {"traceorder": "reversed", "orientation": "h"},
}
