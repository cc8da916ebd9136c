"""Accuracy against efficiency: which models no other one beats in both, within one class of hardware."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from judge.figures.axes import Axis, axes, key_line, layout, linear, log
from judge.figures.drawing import DASHES, SYMBOLS, WIDTH, clean, line, mark, polyline, series_css, shortened, svg, text
from judge.figures.figure import Figure, Heading
from judge.figures.names import model_names, short_names
from judge.view.leaderboard_export import hardware_of
from judge.view.page_context import Frame
from judge.view.score_display import LABELS, RANKED_BY, score_interval, score_of

_HEIGHT, _TOP, _LEFT, _RIGHT = 430.0, 26.0, 62.0, WIDTH - 12.0
_LABEL = 15.0  # from one name to the next below
_N_NAMES = 14  # of a front, that are written
_N_PLOTTED = 8  # in the plot, which may be narrow


class Point(NamedTuple):
    """A ranked model: its error, the interval of that, its efficiency, and the class of hardware it was timed on."""

    name: str
    rank: int
    error: float
    low: float | None
    high: float | None
    efficiency: float
    hardware: str


def pareto(frame: Frame) -> Figure | None:
    """All ranked models; None where none has both scores."""
    key = next((key for key in RANKED_BY if key in frame.keys), None)
    points = _points(frame, key) if key and "efficiency" in frame.keys else []
    if not key or not points:
        return None
    classes = sorted({point.hardware for point in points})
    fronts = {hardware: front(point for point in points if point.hardware == hardware) for hardware in classes}
    on_front = {id(point) for found in fronts.values() for point in found}
    title, about = "Accuracy against efficiency", _about(LABELS[key], classes)
    rows = [(*point, "yes" if id(point) in on_front else "no") for point in points]
    headings = ("Model", "Rank", LABELS[key], "from, 95 %", "to, 95 %", "Efficiency", "Hardware", "On the front")
    return Figure(
        "pareto",
        title,
        about,
        tuple(Heading(name) for name in headings),
        rows,
        _drawing(title, about, LABELS[key], points, fronts),
        {"data": _traces(points, fronts), "layout": _layout(LABELS[key])},
    )


def front(points: Iterable[Point]) -> list[Point]:
    """Those that no other beats: no other has as little an error and as high an efficiency, and more of one of both.

    From the fastest to the most accurate.
    """
    found: list[Point] = []
    for point in sorted(points, key=lambda p: (-p.efficiency, p.error)):
        last = found[-1] if found else None
        equal = last is not None and (point.error, point.efficiency) == (last.error, last.efficiency)
        if last is None or point.error < last.error or equal:
            found.append(point)
    return found


def _points(frame: Frame, key: str) -> list[Point]:
    found = []
    names = model_names(frame.board.rows)
    for row in frame.board.ranked:
        error, efficiency = score_of(row.scores, key).value, row.scores.efficiency.value
        if error is None or not efficiency or row.rank is None:
            continue
        ends = score_interval(frame.board, key, row)
        low, high = (ends.low, ends.high) if ends else (None, None)
        found.append(Point(names[row.submission.id], row.rank, error, low, high, efficiency, hardware_of(row)))
    return found


def _about(error: str, classes: Sequence[str]) -> str:
    words = (
        f"{error} of every ranked model, and its efficiency on a logarithmic axis: best is down on the right. The line "
        "joins the models that no other beats in both, and the bar through each is the middle 95 % of its error."
    )
    if len(classes) > 1:
        return f"{words} Times of different hardware do not compare: each has marks and a front of its own."
    return f"{words} Timed on {clean(classes[0])}." if classes[0] else words


def _drawing(title: str, about: str, error: str, points: Sequence[Point], fronts: dict[str, list[Point]]) -> Markup:
    x = log([point.efficiency for point in points], _LEFT, _RIGHT)
    y = linear([0.0, *(end for p in points for end in (p.error, p.high or 0.0))], _HEIGHT - 48, _TOP)
    series = {hardware: number for number, hardware in enumerate(fronts)}
    on_front = {id(point) for found in fronts.values() for point in found}
    others = [_mark(point, x, y, series[point.hardware], "faint") for point in points if id(point) not in on_front]
    lines = [_front_line(found, x, y, series[hardware]) for hardware, found in fronts.items()]
    best = [point for found in fronts.values() for point in found]
    bars = [
        line((x(p.efficiency), y(p.low)), (x(p.efficiency), y(p.high)), f"line c{series[p.hardware] % 8} thin")
        for p in best
        if p.low is not None and p.high is not None
    ]
    marks = [_mark(point, x, y, series[point.hardware]) for point in best]
    entries = [
        key_line(number, shortened(clean(hardware) or "unknown hardware", 44), _LEFT + 8, 14 + 15 * number, marks=True)
        for hardware, number in series.items()
        if len(series) > 1
    ]
    parts = (axes(x, y, "efficiency →", f"← {error.lower()}"), *others, *lines, *bars, *marks)
    return svg("pareto", title, about, WIDTH, _HEIGHT, *parts, *_names(best, x, y), *entries)


def _mark(point: Point, x: Axis, y: Axis, series: int, css: str = "") -> Markup:
    told = f"{point.name}: error {point.error:.3f}, efficiency {point.efficiency:.2g}"
    return mark((x(point.efficiency), y(point.error)), series, 3.4 if css else 4.6, css, told)


def _front_line(found: Sequence[Point], x: Axis, y: Axis, series: int) -> Markup:
    """Steps: what is up on the left of them is beaten."""
    corners = []
    for point, following in zip(found, [*found[1:], None], strict=True):
        corners.append((x(point.efficiency), y(point.error)))
        if following is not None:
            corners.append((x(following.efficiency), y(point.error)))
    return polyline(corners, f"{series_css(series)} thin")


def _names(best: Sequence[Point], x: Axis, y: Axis) -> list[Markup]:
    """Names of the most accurate on a front, each below the last one where they would lie on one another."""
    placed: list[tuple[float, float]] = []
    found = []
    names = _short_names(best, _N_NAMES)
    for point in sorted(best, key=lambda p: p.error)[:_N_NAMES]:
        at = (x(point.efficiency), y(point.error))
        left = at[0] > (_LEFT + _RIGHT) / 2
        height = at[1] - 7
        while any(abs(height - other) < _LABEL and abs(at[0] - beside) < 150 for beside, other in placed):
            height -= _LABEL
        if height < _TOP:
            continue
        placed.append((at[0], height))
        place = (at[0] + (-8 if left else 8), height)
        found.append(text(place, names[id(point)], "small halo", "end" if left else "start"))
    return found


def _traces(points: Sequence[Point], fronts: dict[str, list[Point]]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    named = _short_names((point for best in fronts.values() for point in best), _N_PLOTTED)
    middle = math.sqrt(min(point.efficiency for point in points) * max(point.efficiency for point in points))
    for number, (hardware, best) in enumerate(fronts.items()):
        on_front = {id(point) for point in best}
        others = [point for point in points if point.hardware == hardware and id(point) not in on_front]
        name = clean(hardware) or "unknown hardware"
        written = {
            "mode": "lines+markers+text",
            "text": [named.get(id(point), "") for point in best],
            "textposition": [f"top {'left' if point.efficiency > middle else 'right'}" for point in best],
            "cliponaxis": False,
        }
        found += [_trace(others, name, number, is_front=False), _trace(best, name, number, is_front=True) | written]
    return found


def _short_names(best: Iterable[Point], n: int) -> dict[int, str]:
    """Names of the `n` most accurate, by the identity of the point."""
    first = sorted(best, key=lambda point: point.error)[:n]
    return dict(zip(map(id, first), short_names((point.name for point in first), 22), strict=True))


def _trace(points: Sequence[Point], hardware: str, series: int, *, is_front: bool) -> dict[str, object]:
    own: dict[str, object] = {
        "type": "scatter",
        "name": f"{hardware}: not beaten" if is_front else hardware,
        "mode": "markers",
        "x": [point.efficiency for point in points],
        "y": [point.error for point in points],
        "customdata": [point.name for point in points],
        "marker": {"symbol": SYMBOLS[series % len(SYMBOLS)], "size": 10 if is_front else 7},
        "hovertemplate": "%{customdata}<br>error %{y:.3f}<br>efficiency %{x:.2g}<extra></extra>",
        "meta": {"colour": series, "faint": not is_front},
    }
    if is_front:
        own |= {"line": {"shape": "hv", "dash": DASHES[series % len(DASHES)], "width": 1.2}, "error_y": _bars(points)}
    return own


def _bars(points: Sequence[Point]) -> dict[str, object]:
    above = [0.0 if point.high is None else max(0.0, point.high - point.error) for point in points]
    below = [0.0 if point.low is None else max(0.0, point.error - point.low) for point in points]
    return {"array": above, "arrayminus": below, "width": 0, "thickness": 1}


def _layout(error: str) -> dict[str, object]:
    own = layout("efficiency →", f"← {error.lower()}", x_log=True)
    return own | {"yaxis": own["yaxis"] | {"rangemode": "tozero"}, "legend": {"orientation": "h"}}
