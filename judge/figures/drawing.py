"""Elements of SVG as markup: pure functions. Text in them is escaped, and colours are classes of css/figures.css.

Lengths are in units of the drawing, whose text is 11 of them high; `WIDTH` of them fill the width of a page.

Classes:
    c0 … c7 with `line`, `mark` or `area`: the colours of series. `dash0` … `dash7` are their lines' patterns, and
        `mark()` gives each a shape of its own, so that none is told by its colour alone. `rest` for a colour: grey.
    h0 … h8 with `cell`: the ramp from little to much, see `ramp`; `on-h0` … `on-h8`: of text on it.
    absent, fault: with `cell`: nothing there, and a failure; give both a mark as well.
    axis, grid, tick: as `judge.figures.axes` has them. name, number, soft, small, strong: of text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

from markupsafe import Markup, escape

from judge.present import plain

WIDTH = 760
N_COLOURS = 8
N_RAMP = 9
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "6px 2px 2px 2px 2px 2px", "12px 3px")
"""As plotly calls the lines of `dash0` … `dash7`."""
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "pentagon", "x")
"""As plotly calls the shapes of `mark`."""

Point = tuple[float, float]

_NO_XML = {ord("\t"): " ", ord("\n"): " ", 0xFFFE: None, 0xFFFF: None}
Anchor = Literal["start", "middle", "end"]

# Corners about the origin, of about one area with a circle of radius 1; the first shape is that circle.
_SHAPES: tuple[Sequence[Point], ...] = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.25), (1.15, 0.8), (-1.15, 0.8)),
    ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    ((0, 1.25), (1.15, -0.8), (-1.15, -0.8)),
    tuple(
        (x, y)
        for x, y in (
            *((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4)),
            *((0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)),
        )
    ),
    tuple((1.15 * math.sin(k * math.tau / 5), -1.15 * math.cos(k * math.tau / 5)) for k in range(5)),
    tuple(
        (x, y)
        for x, y in (
            *((-1.2, -0.7), (-0.7, -1.2), (0, -0.5), (0.7, -1.2), (1.2, -0.7), (0.5, 0)),
            *((1.2, 0.7), (0.7, 1.2), (0, 0.5), (-0.7, 1.2), (-1.2, 0.7), (-0.5, 0)),
        )
    ),
)

# Steps across a tile of 6 by 6, by series; the first is plain.
_HATCHES = (
    "",
    "M0 6L6 0M-1 1L1 -1M5 7L7 5",
    "M0 0L6 6M5 -1L7 1M-1 5L1 7",
    "M0 3H6",
    "M3 0V6",
    "M0 3H6M3 0V6",
    "M0 6L6 0M0 0L6 6",
    "M2 3H4",
)
PATTERNS = ("", "/", "\\", "-", "|", "+", "x", ".")
"""As plotly calls what `hatched` fills with."""


def svg(key: str, title: str, about: str, width: float, height: float, *parts: Markup) -> Markup:
    """A whole drawing, as `Figure.drawing` has it: it says its title and what it shows to a screen reader.

    Args:
        key: of the figure; its title and description are called after it.
    """
    key = escape(key)
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" role="img" viewBox="0 0 {short(width)} '
        f'{short(height)}" aria-labelledby="{key}-title {key}-desc"><title id="{key}-title">{_said(title)}</title>'
        f'<desc id="{key}-desc">{_said(about)}</desc>{joined(parts)}</svg>'
    )


def group(*parts: Markup, css: str = "", at: Point = (0, 0)) -> Markup:
    """The parts together, moved by `at`."""
    move = f' transform="translate({short(at[0])} {short(at[1])})"' if at != (0, 0) else ""
    return Markup(f"<g{_css(css)}{move}>{joined(parts)}</g>")


def line(start: Point, end: Point, css: str = "") -> Markup:
    """A straight line."""
    (x1, y1), (x2, y2) = start, end
    return Markup(f'<line{_css(css)} x1="{short(x1)}" y1="{short(y1)}" x2="{short(x2)}" y2="{short(y2)}"/>')


def polyline(points: Iterable[Point], css: str = "", told: str = "") -> Markup:
    """A line through the points; one that is not finite breaks it.

    Args:
        told: what is said of it where a pointer rests on it.
    """
    steps, lift = [], True
    for x, y in points:
        if math.isfinite(x) and math.isfinite(y):
            steps.append(f"{'M' if lift else 'L'}{_tenth(x)} {_tenth(y)}")
            lift = False
        else:
            lift = True
    return path("".join(steps), css, told)


def polygon(points: Iterable[Point], css: str = "", told: str = "") -> Markup:
    """A closed line through the points."""
    corners = " ".join(f"{short(x)},{short(y)}" for x, y in points)
    return Markup(f'<polygon{_css(css)} points="{corners}"{_closed("polygon", told)}')


def path(steps: str, css: str = "", told: str = "") -> Markup:
    """A path of steps as SVG has them."""
    return Markup(f'<path{_css(css)} d="{escape(steps)}"{_closed("path", told)}')


def circle(centre: Point, radius: float, css: str = "", told: str = "") -> Markup:
    """A circle."""
    x, y = centre
    where = f'cx="{short(x)}" cy="{short(y)}" r="{short(radius)}"'
    return Markup(f"<circle{_css(css)} {where}{_closed('circle', told)}")


def rect(corner: Point, width: float, height: float, css: str = "", told: str = "") -> Markup:
    """A rectangle from its upper left corner."""
    x, y = corner
    where = f'x="{short(x)}" y="{short(y)}" width="{short(width)}" height="{short(height)}"'
    return Markup(f"<rect{_css(css)} {where}{_closed('rect', told)}")


def hatches(key: str) -> Markup:
    """What `hatched` fills with; once in a drawing that has any."""
    found = [
        Markup('<pattern id="{}-hatch{}" width="6" height="6" patternUnits="userSpaceOnUse">{}</pattern>').format(
            key, number, path(steps, "hatch")
        )
        for number, steps in enumerate(_HATCHES)
        if steps
    ]
    return Markup("<defs>{}</defs>").format(joined(found))


def hatched(key: str, corner: Point, width: float, height: float, series: int, told: str = "") -> Markup:
    """A bar of a series, in its colour and pattern.

    Args:
        key: of the figure, as `hatches` was given it.
    """
    plain_bar = rect(corner, width, height, series_css(series, "mark"), told)
    if not _HATCHES[series % N_COLOURS]:
        return plain_bar
    x, y, wide, high = map(short, (*corner, width, height))
    over = Markup('<rect x="{}" y="{}" width="{}" height="{}" fill="url(#{}-hatch{})" pointer-events="none"/>')
    return plain_bar + over.format(x, y, wide, high, key, series % N_COLOURS)


def text(at: Point, words: str, css: str = "", anchor: Anchor = "start", turn: float = 0) -> Markup:
    """A line of text on its baseline at `at`, turned clockwise by `turn` degrees about it."""
    x, y = short(at[0]), short(at[1])
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    turned = f' transform="rotate({short(turn)} {x} {y})"' if turn else ""
    return Markup(f'<text{_css(css)} x="{x}" y="{y}"{where}{turned}>{_said(words)}</text>')


def mark(centre: Point, series: int | None, radius: float = 4, css: str = "", told: str = "") -> Markup:
    """A point of a series, in its colour and shape; of None: a small grey one."""
    if series is None:
        return circle(centre, radius, f"mark rest {css}", told)
    corners = _SHAPES[series % len(_SHAPES)]
    css = f"mark c{series % N_COLOURS} {css}"
    if not corners:
        return circle(centre, radius, css, told)
    return polygon([(centre[0] + radius * x, centre[1] + radius * y) for x, y in corners], css, told)


def series_css(series: int | None, kind: str = "line") -> str:
    """The classes of a series: its colour and, of a line, its pattern. None: one of the rest."""
    if series is None:
        return f"{kind} rest"
    dash = f" dash{series % N_COLOURS}" if kind == "line" and series % N_COLOURS else ""
    return f"{kind} c{series % N_COLOURS}{dash}"


def ramp(value: float, low: float, high: float) -> int:
    """The step of the ramp that the value falls into, 0 to `N_RAMP` - 1."""
    share = (value - low) / (high - low) if high > low else 0.0
    return min(N_RAMP - 1, max(0, math.floor(share * N_RAMP)))


def shortened(words: str, length: int) -> str:
    """The words, cut so that they are no longer."""
    return words if len(words) <= length else f"{words[: length - 1].rstrip()}…"


def clean(words: str) -> str:
    """The words without what turns a text around, and without what XML cannot hold."""
    return plain(words).translate(_NO_XML)


def short(value: float) -> str:
    """A coordinate to a hundredth."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _tenth(value: float) -> str:
    """A coordinate to a tenth: of lines of many points, which are most of what a page of figures weighs."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def joined(parts: Iterable[Markup]) -> Markup:
    """The parts one after the other."""
    return Markup("".join(map(escape, parts)))


@cache
def _css(names: str) -> str:
    """The attribute with these classes; asked for the same few again and again."""
    return f' class="{escape(" ".join(names.split()))}"' if names.strip() else ""


def _closed(tag: str, told: str) -> str:
    """The end of an element, with what is said of it."""
    return f"><title>{_said(told)}</title></{tag}>" if told else "/>"


def _said(words: str) -> Markup:
    """The words as text of an element."""
    return escape(clean(words))
