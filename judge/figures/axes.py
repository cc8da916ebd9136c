"""Axes of a drawing: from numbers to places, round ticks, and the lines and words that show them.

x = linear([0, 3.2], 60, 740)              # x(1.6) is the place; x.ticks are pairs of value and label
y = log([2e-6, 3e-2], 300, 20)             # upward: from the lower edge to the upper one
axes(x, y, "time / ps", "|E(t) − E(0)| / meV per atom")
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from judge.figures.drawing import group, line, mark, polyline, series_css, text
from judge.view.formatting import number

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SAME = 1e-9  # of a value: no axis tells less apart
_PAD = 0.03  # of an axis, beyond the outermost value


class Tick(NamedTuple):
    value: float
    label: str


@dataclass(frozen=True)
class Axis:
    """From values to places. What lies beyond `low` and `high` is placed at its end.

    Args:
        low, high: values at its ends.
        start, end: places of them; `end` is the lesser of an axis that points upward.
        is_log: by decades.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[Tick, ...]
    is_log: bool = False

    def __call__(self, value: float) -> float:
        if math.isnan(value):
            return math.nan
        inside = min(max(value, self.low), self.high)
        low, high = self.low, self.high
        if self.is_log:
            low, high, inside = math.log10(low), math.log10(high), math.log10(inside)
        return self.start + (inside - low) / (high - low) * (self.end - self.start)

    def places(self, values: Iterable[float]) -> list[float]:
        """Of each value its place, NaN where there is none: sooner than one by one."""
        low, high, start = self.low, self.high, self.start
        inside = [min(max(value, low), high) for value in values]
        if self.is_log:
            low, high, inside = math.log10(low), math.log10(high), [math.log10(value) for value in inside]
        scale = (self.end - start) / (high - low)
        return [start + (value - low) * scale for value in inside]


def linear(values: Iterable[float], start: float, end: float, n_ticks: int = 6) -> Axis:
    """An axis over all finite values, a little beyond them unless they begin or end at 0."""
    low, high = _ends(values, (0.0, 1.0))
    if high - low <= max(_SAME * max(abs(low), abs(high)), 1e-300):
        low, high = (low - 0.5, high + 0.5) if low else (0.0, 1.0)
    pad = _PAD * (high - low)
    low, high = low - pad if low else low, high + pad if high else high
    step = _round_step((high - low) / n_ticks)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    places = max(0, -math.floor(math.log10(step)))
    ticks = tuple(Tick(k * step, f"{k * step:.{places}f}".replace("-", "−")) for k in range(first, last + 1))
    return Axis(low, high, start, end, ticks)


def log(values: Iterable[float], start: float, end: float, n_ticks: int = 7) -> Axis:
    """An axis by decades over all finite values above 0; its ticks are powers of 10, and more where those are few."""
    low, high = _ends((v for v in values if v > 0), (1.0, 10.0))
    if high <= low * (1 + _SAME):
        low, high = low / 3, high * 3
    room = (high / low) ** _PAD
    low, high = low / room, high * room
    chosen = _decades(low, high, n_ticks)
    plain = all(1e-3 <= value < 1e4 for value in chosen)
    ticks = tuple(Tick(value, number(value, 1) if plain else power_label(value)) for value in chosen)
    return Axis(low, high, start, end, ticks, is_log=True)


def axes(x: Axis, y: Axis, x_name: str, y_name: str) -> Markup:
    """Both axes with their grid, ticks and names; 56 units are needed on the left, 44 below."""
    left, right, low, top = x.start, x.end, y.start, y.end
    parts = [line((left, y(t.value)), (right, y(t.value)), "grid") for t in y.ticks]
    parts += [line((x(t.value), low), (x(t.value), low + 4), "axis") for t in x.ticks]
    parts.append(line((left, low), (right, low), "axis"))
    parts += [text((x(t.value), low + 17), t.label, "tick", "middle") for t in x.ticks]
    parts += [text((left - 7, y(t.value) + 3.8), t.label, "tick", "end") for t in y.ticks]
    parts.append(text(((left + right) / 2, low + 37), x_name, "name", "middle"))
    parts.append(text((left - 44, (low + top) / 2), y_name, "name", "middle", -90))
    return group(*parts, css="axes")


def key_line(series: int | None, words: str, x: float, y: float, *, marks: bool = False) -> Markup:
    """An entry of a legend: a piece of the series' line (with `marks`: its point), and its name."""
    sample = mark((x + 9, y - 4), series, 4) if marks else polyline([(x, y - 4), (x + 20, y - 4)], series_css(series))
    return group(sample, text((x + 26, y), words, "small"))


def layout(x_name: str, y_name: str, *, x_log: bool = False, y_log: bool = False) -> dict[str, Any]:
    """Of plotly's layout, the two axes; `figures.js` gives it colours, type and margins."""
    return {"xaxis": plot_axis(x_name, is_log=x_log), "yaxis": plot_axis(y_name, is_log=y_log)}


def plot_axis(name: str, *, is_log: bool = False) -> dict[str, Any]:
    """An axis as plotly takes it."""
    own: dict[str, Any] = {"title": {"text": name}}
    return own | ({"type": "log", "exponentformat": "power", "dtick": 1} if is_log else {})


def finite(values: Iterable[float | None]) -> list[float | None]:
    """The values as plotly takes them: a gap where there is none that is finite."""
    return [value if value is not None and math.isfinite(value) else None for value in values]


def power_label(value: float) -> str:
    """A tick of an axis by decades: 10⁻⁵, 2 × 10⁻⁵."""
    power = math.floor(math.log10(value) + 1e-9)
    times, raised = round(value / 10.0**power), f"10{str(power).translate(_SUPERSCRIPT)}"
    return raised if times == 1 else f"{times}\u202f×\u202f{raised}"


def _decades(low: float, high: float, n_ticks: int) -> list[float]:
    """Powers of 10 within; multiples of them too where there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for multiples in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 6, 7, 8, 9)):
        found = [m * 10.0**p for p in range(first, last + 1) for m in multiples if low <= m * 10.0**p <= high]
        if len(found) >= 3:
            break
    return found[:: math.ceil(len(found) / n_ticks)] if found else [low]


def _ends(values: Iterable[float], default: tuple[float, float]) -> tuple[float, float]:
    there = [value for value in values if math.isfinite(value)]
    return (min(there), max(there)) if there else default


def _round_step(step: float) -> float:
    """The least of 1, 2 and 5 times a power of 10 that is not below `step`."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= step * (1 - 1e-9))
