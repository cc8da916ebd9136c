"""Accuracy against efficiency: the Pareto front of the ranked models, for each class of hardware."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from judge.figures.figure import Figure, Heading, Trace, axis, log_axis
from judge.figures.names import clean, model_names, short_names
from judge.view.leaderboard_export import hardware_of
from judge.view.page_context import Frame
from judge.view.score_display import score_interval
from scoring.names import EFFICIENCY, ERRORS, SCORES

N_NAMES = 8
"""The plot has the names of so many models; if there are more, of those on a front with the smallest errors."""


class ParetoPoint(NamedTuple):
    """A ranked model: its error with the 95 % interval, its efficiency, and the hardware class of the timing."""

    name: str
    rank: int
    error: float
    low: float | None
    high: float | None
    efficiency: float
    hardware: str


def pareto(frame: Frame) -> Figure | None:
    """The figure of all ranked models; None if no model has both scores."""
    key = next((key for key in ERRORS if key in frame.keys), None)
    points = _points(frame, key) if key and EFFICIENCY in frame.keys else []
    if not key or not points:
        return None
    classes = sorted({point.hardware for point in points})
    fronts = {hardware: front(point for point in points if point.hardware == hardware) for hardware in classes}
    on_front = {id(point) for best in fronts.values() for point in best}
    rows = [(*point, "yes" if id(point) in on_front else "no") for point in points]
    headings = ("Model", "Rank", SCORES[key].label, "from, 95 %", "to, 95 %", "Efficiency", "Hardware", "On the front")
    return Figure(
        "pareto",
        "Accuracy against efficiency",
        _about(SCORES[key].label, classes),
        tuple(map(Heading, headings)),
        rows,
        _traces(points, fronts),
        {
            "xaxis": log_axis("efficiency →"),
            "yaxis": axis(f"← {SCORES[key].label.lower()}", rangemode="tozero"),
            "legend": {"orientation": "h"},
        },
        height=520,
    )


def front(points: Iterable[ParetoPoint]) -> list[ParetoPoint]:
    """The Pareto front, from the fastest to the most accurate model.

    A model is on the front unless another has at most its error and at least its efficiency, and is better in one.
    """
    best: list[ParetoPoint] = []
    for point in sorted(points, key=lambda p: (-p.efficiency, p.error)):
        last = best[-1] if best else None
        equal = last is not None and (point.error, point.efficiency) == (last.error, last.efficiency)
        if last is None or point.error < last.error or equal:
            best.append(point)
    return best


def _points(frame: Frame, key: str) -> list[ParetoPoint]:
    points = []
    names = model_names(frame.board.rows)
    for row in frame.board.ranked:
        error, efficiency = row.scores[key].value, row.scores[EFFICIENCY].value
        if error is None or not efficiency or row.rank is None:
            continue
        interval = score_interval(frame.board, key, row)
        low, high = (interval.low, interval.high) if interval else (None, None)
        points.append(ParetoPoint(names[row.submission.id], row.rank, error, low, high, efficiency, hardware_of(row)))
    return points


def _about(error: str, classes: Sequence[str]) -> str:
    about = (
        f"{error} and efficiency of every ranked model; the best models are at the lower right. The line joins the "
        "Pareto front: no other model is both more accurate and more efficient. Vertical bars are 95 % intervals of "
        "the error, for models whose names are shown."
    )
    if len(classes) > 1:
        return f"{about} Times on different hardware do not compare: each hardware class has its own front."
    return f"{about} Timed on {clean(classes[0])}." if classes[0] else about


def _traces(points: Sequence[ParetoPoint], fronts: dict[str, list[ParetoPoint]]) -> list[Trace]:
    traces: list[Trace] = []
    labels = _labels(points if len(points) <= N_NAMES else chain.from_iterable(fronts.values()))
    middle = math.sqrt(min(point.efficiency for point in points) * max(point.efficiency for point in points))
    for series, (hardware, best) in enumerate(fronts.items()):
        on_front = {id(point) for point in best}
        others = [point for point in points if point.hardware == hardware and id(point) not in on_front]
        name = clean(hardware) or "unknown hardware"
        for shown, title, mode, marker in (
            (others, name, "markers+text", {"size": 7, "opacity": 0.55}),
            (best, f"{name}: Pareto front", "lines+markers+text", {"size": 10}),
        ):
            names = {
                "text": [labels.get(id(point), "") for point in shown],
                "textposition": [_side(point, n % 2 == 0, middle) for n, point in enumerate(reversed(shown))][::-1],
                "error_y": _error_bars(shown, labels),
            }
            traces.append(_trace(shown, title, series) | names | {"mode": mode, "marker": marker})
    return traces


def _side(point: ParetoPoint, is_below: bool, middle: float) -> str:
    """The place of a name beside its point: neighbours by turns below and above, so that their names have room."""
    return f"{'bottom' if is_below else 'top'} {'left' if point.efficiency > middle else 'right'}"


def _labels(points: Iterable[ParetoPoint]) -> dict[int, str]:
    """Short names of the most accurate of these models, by the identity of the point."""
    first = sorted(points, key=lambda point: point.error)[:N_NAMES]
    return dict(zip(map(id, first), short_names((point.name for point in first), 22), strict=True))


def _trace(points: Sequence[ParetoPoint], name: str, series: int) -> Trace:
    return {
        "type": "scatter",
        "name": name,
        "x": [point.efficiency for point in points],
        "y": [point.error for point in points],
        "customdata": [point.name for point in points],
        "cliponaxis": False,
        "line": {"shape": "hv", "width": 1.2},
        "hovertemplate": "%{customdata}<br>error %{y:.3f}<br>efficiency %{x:.2g}<extra></extra>",
        "meta": {"colour": series},
    }


def _error_bars(points: Sequence[ParetoPoint], labels: Container[int]) -> Trace:
    """The intervals of the points with a name."""
    above = [_length(point.error, point.high) if id(point) in labels else 0.0 for point in points]
    below = [_length(point.low, point.error) if id(point) in labels else 0.0 for point in points]
    return {"array": above, "arrayminus": below, "width": 0, "thickness": 1}


def _length(low: float | None, high: float | None) -> float:
    return 0.0 if low is None or high is None else max(0.0, high - low)
