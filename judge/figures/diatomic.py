"""Energies of pairs of atoms over their distance: a small drawing for each element, all to one scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from markupsafe import Markup

from judge.disclosure.public_curves import PUBLIC_DIGITS, Pair, public_pairs
from judge.figures.axes import Axis, linear
from judge.figures.drawing import WIDTH, Point, group, line, path, polyline, short, svg, text
from judge.figures.figure import Cell, Figure, Heading
from judge.ranking.leaderboard import Row
from judge.view.page_context import Frame

DEEPEST, SHALLOWEST = 15.0, 2.0
"""eV: the scale reaches down to the deepest well, but to no less than the one and no more than the other."""

_TITLE = "Diatomic curves"
_COLUMNS, _CELL_WIDTH, _CELL_HEIGHT, _LEFT, _BELOW = 5, 141.0, 94.0, 50.0, 42.0
_GAP = 12.0


def diatomics_of(frame: Frame, row: Row) -> Figure | None:
    """The curves of a model's pairs, of the first task of public structures that has any; None where none has."""
    items, public = frame.sources.items, frame.sources.public
    every = (public_pairs(own, items.get((row.submission.id, own.task.name)), public) for own in row.tasks)
    pairs = next((found for found in every if found), ())
    if not pairs:
        return None
    depth = _depth(pairs)
    about = (
        "Energy of two atoms of an element over their distance, less that at the largest distance. A sound model has "
        f"one well, or none, and no step. All are to one scale, from −{depth:g} to {depth / 2:g} eV, and cut off "
        "beyond it; the table goes further."
    )
    rows: list[Sequence[Cell]] = [
        (pair.symbol, r, energy) for pair in pairs for r, energy in zip(pair.distances, pair.energies, strict=True)
    ]
    # No unit of its own, since pages show eV in meV: a bond's energy is some eV.
    headings = (Heading("Pair"), Heading("Distance", "Å"), Heading("Energy in eV"))
    return Figure("diatomics", _TITLE, about, headings, rows, _drawing(pairs, depth, about), digits=PUBLIC_DIGITS)


def _depth(pairs: Sequence[Pair]) -> float:
    """How deep [eV] the scale reaches."""
    lowest = min((energy for pair in pairs for energy in pair.energies if energy is not None), default=0.0)
    return float(math.ceil(min(max(-lowest, SHALLOWEST), DEEPEST)))


def _drawing(pairs: Sequence[Pair], depth: float, about: str) -> Markup:
    n_rows = math.ceil(len(pairs) / _COLUMNS)
    x = linear([0.0, max(pair.distances[-1] for pair in pairs)], 0.0, _CELL_WIDTH - _GAP, n_ticks=4)
    y = linear([-depth, depth / 2], _CELL_HEIGHT - _GAP, 0.0, n_ticks=4)
    places = [(_LEFT + i % _COLUMNS * _CELL_WIDTH, 6 + i // _COLUMNS * _CELL_HEIGHT) for i in range(len(pairs))]
    parts = [*_ground(x, y, places)]
    for index, (pair, at) in enumerate(zip(pairs, places, strict=True)):
        labels = _labels(x, y, index % _COLUMNS == 0, index + _COLUMNS >= len(pairs))
        parts.append(group(*_curve(pair, x, y), *labels, at=at))
    height = n_rows * _CELL_HEIGHT + _BELOW
    n_columns = min(_COLUMNS, len(pairs))
    middle = (_LEFT + n_columns * _CELL_WIDTH / 2, 6 + n_rows * _CELL_HEIGHT / 2)
    names = (
        text((middle[0], height - 6), "distance / Å", "name", "middle"),
        text((12, middle[1]), "energy / eV", "name", "middle", -90),
    )
    return svg("diatomics", _TITLE, about, WIDTH, height, *parts, *names)


def _ground(x: Axis, y: Axis, places: Sequence[Point]) -> tuple[Markup, Markup]:
    """What all curves lie on: the grid, and the line of no energy."""
    grid = [_level(x, y(tick.value), at) for at in places for tick in y.ticks]
    return path("".join(grid), "grid"), path("".join(_level(x, y(0.0), at) for at in places), "axis")


def _level(x: Axis, y: float, at: Point) -> str:
    return f"M{short(at[0] + x.start)} {short(at[1] + y)}h{short(x.end - x.start)}"


def _curve(pair: Pair, x: Axis, y: Axis) -> Iterator[Markup]:
    if all(energy is None for energy in pair.energies):
        yield text(((x.start + x.end) / 2, y(0.0) - 8), "failed", "soft small", "middle")
    else:
        energies = [math.nan if energy is None else energy for energy in pair.energies]
        points = clipped(list(zip(pair.distances, energies, strict=True)), y.low, y.high)
        places = zip(x.places(r for r, _ in points), y.places(energy for _, energy in points), strict=True)
        yield polyline(places, "line c0", f"{pair.symbol}–{pair.symbol}")
    yield text((x.end - 4, 12), pair.symbol, "strong", "end")


def _labels(x: Axis, y: Axis, on_the_left: bool, below: bool) -> Iterator[Markup]:
    """The labels of the ticks, at the outer drawings alone."""
    if on_the_left:
        yield from (text((-6, y(tick.value) + 3.8), tick.label, "tick", "end") for tick in y.ticks)
    if below:
        yield from (line((x(tick.value), y.start), (x(tick.value), y.start + 3), "axis") for tick in x.ticks)
        yield from (text((x(tick.value), y.start + 15), tick.label, "tick", "middle") for tick in x.ticks)


def clipped(points: Sequence[Point], low: float, high: float) -> list[Point]:
    """The line through the points as far as it lies between `low` and `high`; NaN where it is broken."""
    found: list[Point] = []
    for before, after in pairwise(points):
        inside = low <= before[1] <= high and low <= after[1] <= high  # as most are
        piece = [before, after] if inside else _within(before, after, low, high)
        if piece and found and found[-1] == piece[0]:
            found.append(piece[1])
        elif piece:
            found += [(math.nan, math.nan), *piece] if found else piece
    return found


def _within(start: Point, end: Point, low: float, high: float) -> list[Point]:
    """The ends of that part of a line that lies between `low` and `high`; none where nothing does."""
    rise, run = end[1] - start[1], end[0] - start[0]
    if not math.isfinite(rise):
        return []
    if rise == 0.0:
        return [start, end] if low <= start[1] <= high else []
    first, last = sorted(((low - start[1]) / rise, (high - start[1]) / rise))
    if first > 1.0 or last < 0.0:
        return []
    inner = [(start[0] + share * run, start[1] + share * rise) for share in (first, last)]
    return [start if first <= 0.0 else inner[0], end if last >= 1.0 else inner[1]]
