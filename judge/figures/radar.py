"""Accuracy by domain: 1 − the error of each domain, as a radar plot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from judge.disclosure.redaction import SCORE_DIGITS
from judge.figures.figure import Figure, Heading, Trace
from judge.figures.names import model_names
from judge.ranking.leaderboard import Row
from judge.view.page_context import Frame
from scoring.names import ERRORS, SCORES

N_BEST = 5
_ABOUT = (
    "Each axis is 1 − error in a domain: 1 is perfect, 0 is no better than the trivial model. A domain without a value "
    "is drawn at 0 and has a dash in the table."
)
_LAYOUT = {
    "polar": {
        "radialaxis": {"range": [0, 1], "tickvals": [0.25, 0.5, 0.75, 1.0], "angle": 90, "tickangle": 90},
        "angularaxis": {"rotation": 90, "direction": "clockwise"},
    },
    "legend": {"traceorder": "reversed", "orientation": "h"},
}


class Spoke(NamedTuple):
    """An axis: a domain of one of the error scores."""

    score: str
    domain: str


class RadarShape(NamedTuple):
    """The values of a model on all axes; `series` is None for a model that is drawn for comparison."""

    name: str
    values: tuple[float | None, ...]
    series: int | None


def radar(frame: Frame) -> Figure | None:
    """The best models of the ranking; None if no model is ranked, or there are fewer than three axes."""
    best = frame.board.ranked[:N_BEST]
    title = f"Accuracy by domain: the best {f'{len(best)} models' if len(best) > 1 else 'model'}"
    return _radar(frame, title, _ABOUT, [(row, series) for series, row in enumerate(best)])


def radar_of(frame: Frame, row: Row) -> Figure | None:
    """One model, and the best other model of the ranking; None if there are fewer than three axes."""
    best = rival_of(frame, row)
    shapes: list[tuple[Row, int | None]] = [(row, 0)]
    about = _ABOUT
    if best is not None:
        shapes.append((best, None))
        about = f"{_ABOUT} In grey {model_names((row, best))[best.submission.id]}, no. {best.rank}."
    return _radar(frame, "Accuracy by domain", about, shapes)


def rival_of(frame: Frame, row: Row) -> Row | None:
    """The best other model of the ranking; None if no other is ranked."""
    return next((other for other in frame.board.ranked if other is not row), None)


def spokes(frame: Frame) -> tuple[Spoke, ...]:
    """The axes: all domains of force-field error, then those of property error."""
    first = frame.board.rows[0] if frame.board.rows else None
    if first is None:
        return ()
    return tuple(Spoke(key, part.name) for key in ERRORS if key in frame.keys for part in first.scores[key].parts)


def _radar(frame: Frame, title: str, about: str, rows: Sequence[tuple[Row, int | None]]) -> Figure | None:
    axes = spokes(frame)
    if len(axes) < 3 or not rows:
        return None
    names = model_names(row for row, _ in rows)
    shapes = [RadarShape(names[row.submission.id], _values(row, axes), series) for row, series in rows]
    if all(value is None for shape in shapes for value in shape.values):
        return None
    headings = (Heading("Model"), *(Heading(f"{spoke.domain}, {SCORES[spoke.score].measures}") for spoke in axes))
    labels = [f"{spoke.domain}\n{SCORES[spoke.score].measures}" for spoke in axes]
    # The first model is drawn last: it lies on top.
    traces = [_trace(shape, labels) for shape in reversed(shapes)]
    return Figure("radar", title, about, headings, [(shape.name, *shape.values) for shape in shapes], traces, _LAYOUT)


def _values(row: Row, axes: Iterable[Spoke]) -> tuple[float | None, ...]:
    """1 − the error on each axis; an error above 1 counts as 1."""
    errors = errors_of(row)
    by_axis = (errors.get(spoke) for spoke in axes)
    return tuple(None if error is None else round(max(0.0, 1.0 - error), SCORE_DIGITS) for error in by_axis)


def errors_of(row: Row) -> dict[Spoke, float | None]:
    """The error of a model in each domain."""
    return {Spoke(key, part.name): part.value for key in ERRORS for part in row.scores[key].parts}


def _trace(shape: RadarShape, labels: Sequence[str]) -> Trace:
    values = [value or 0.0 for value in shape.values]
    trace: Trace = {
        "type": "scatterpolar",
        "name": shape.name,
        "r": [*values, values[0]],
        "theta": [*labels, labels[0]],
        "hovertemplate": "%{theta}: %{r:.3f}",
    }
    if shape.series is None:
        return trace | {"mode": "lines", "line": {"dash": "dash"}, "meta": {"colour": "rest"}}
    fill = "toself" if shape.series == 0 else "none"
    return trace | {"mode": "lines+markers", "fill": fill, "meta": {"colour": shape.series}}
