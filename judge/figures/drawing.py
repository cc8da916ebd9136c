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
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from markupsafe import Markup, escape

from judge.view.formatting import plain

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


def group(*parts: Markup, css: str = "", at: Point = (0, 0), told: str = "", anchor: Anchor = "start") -> Markup:
    """The parts together, moved by `at`.

    Args:
        told: what is said of any of them where a pointer rests on it.
        anchor: of all texts in it.
    """
    move = f' transform="translate({short(at[0])} {short(at[1])})"' if at != (0, 0) else ""
    said = f"<title>{_said(told)}</title>" if told else ""
    return Markup(f"<g{_css(css)}{move}{_anchored(anchor)}>{said}{joined(parts)}</g>")


def line(start: Point, end: Point, css: str = "") -> Markup:
    """A straight line."""
    (x1, y1), (x2, y2) = start, end
    return Markup(f'<line{_css(css)} x1="{short(x1)}" y1="{short(y1)}" x2="{short(x2)}" y2="{short(y2)}"/>')


def polyline(points: Iterable[Point], css: str = "", told: str = "") -> Markup:
    """A line through the points; one that is not finite breaks it.

    Args:
        told: what is said of it where a pointer rests on it.
    """
    pieces: list[list[tuple[int, int]]] = [[]]
    for x, y in points:
        if math.isfinite(x) and math.isfinite(y):
            pieces[-1].append((round(10 * x), round(10 * y)))
        elif pieces[-1]:
            pieces.append([])
    return path("".join(map(_steps, pieces)), css, told)


def _steps(places: Sequence[tuple[int, int]]) -> str:
    """A line through places in tenths, each told from the one before: most of what a page of figures weighs."""
    if not places:
        return ""
    (x, y), rest = places[0], [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(places) if a != b]
    moves = " ".join(map(_tenths, chain.from_iterable(rest)))
    return f"M{_tenths(x)} {_tenths(y)}{'l' if rest else ''}{moves}".replace(" -", "-")


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
    turned = f' transform="rotate({short(turn)} {x} {y})"' if turn else ""
    return Markup(f'<text{_css(css)} x="{x}" y="{y}"{_anchored(anchor)}{turned}>{_said(words)}</text>')


def _anchored(anchor: Anchor) -> str:
    return "" if anchor == "start" else f' text-anchor="{anchor}"'


def mark(centre: Point, series: int | None, radius: float = 4, css: str = "", told: str = "") -> Markup:
    """A point of a series, in its colour and shape; of None: a small grey one."""
    if series is None:
        return circle(centre, radius, f"mark rest {css}", told)
    css, shape = f"mark c{series % N_COLOURS} {css}", _shape(series % len(_SHAPES), radius)
    if shape is None:
        return circle(centre, radius, css, told)
    x, y = (_tenths(round(10 * (centre[i] + shape.first[i]))) for i in (0, 1))
    return path(f"M{x} {y}{shape.steps}", css, told)


class _Shape(NamedTuple):
    """Where a shape begins, seen from its middle, and the steps around it."""

    first: Point
    steps: str


@cache
def _shape(number: int, radius: float) -> _Shape | None:
    """A shape of this size; None of the circle."""
    corners = [(radius * x, radius * y) for x, y in _SHAPES[number]]
    moves = [f"{short(b[0] - a[0])} {short(b[1] - a[1])}" for a, b in pairwise(corners)]
    return _Shape(corners[0], f"l{' '.join(moves)}z".replace(" -", "-")) if corners else None


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


@lru_cache(maxsize=1 << 14)
def _tenths(n: int) -> str:
    """So many tenths."""
    sign, (whole, rest) = "-" if n < 0 else "", divmod(abs(n), 10)
    return f"{sign}{whole or ''}.{rest}" if rest else f"{sign}{whole}"


def joined(parts: Iterable[Markup]) -> Markup:
    """The parts one after the other."""
    return Markup("".join([part if type(part) is Markup else escape(part) for part in parts]))


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
