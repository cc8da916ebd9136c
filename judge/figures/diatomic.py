"""Energies of pairs of atoms over their distance: a small plot for each element, all to one scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from judge.disclosure.public_curves import PUBLIC_DIGITS, Pair, public_pairs
from judge.figures.figure import Cell, Figure, Heading, Trace
from judge.ranking.leaderboard import Row
from judge.view.page_context import Frame

DEEPEST, SHALLOWEST = 15.0, 2.0
"""eV: the scale reaches down to the deepest well, but at least to −2 eV and at most to −15 eV."""

_COLUMNS, _ROW_HEIGHT = 5, 105


def diatomics_of(frame: Frame, row: Row) -> Figure | None:
    """The curves of a model's pairs, from the first task of public structures that has any; None if there is none."""
    items, public = frame.sources.items, frame.sources.public
    by_task = (public_pairs(line, items.get((row.submission.id, line.task.name)), public) for line in row.tasks)
    pairs = next((pairs for pairs in by_task if pairs), ())
    if not pairs:
        return None
    lowest = min((energy for pair in pairs for energy in pair.energies if energy is not None), default=0.0)
    depth = math.ceil(min(max(-lowest, SHALLOWEST), DEEPEST))
    about = (
        "Energy of two atoms of an element over their distance, relative to that at the largest distance. A physical "
        f"curve is smooth and has at most one well. All plots have one scale, from −{depth} to {depth / 2:g} eV; the "
        "table has all energies."
    )
    rows: list[Sequence[Cell]] = [
        (pair.symbol, r, energy) for pair in pairs for r, energy in zip(pair.distances, pair.energies, strict=True)
    ]
    # The unit is part of the name, since the pages show a heading's eV in meV.
    headings = (Heading("Pair"), Heading("Distance", "Å"), Heading("Energy in eV"))
    n_rows = math.ceil(len(pairs) / _COLUMNS)
    return Figure(
        "diatomics",
        "Diatomic curves",
        about,
        headings,
        rows,
        [_curve(pair, *_axes_of(index)) for index, pair in enumerate(pairs)],
        _layout(pairs, n_rows, depth),
        height=80 + _ROW_HEIGHT * n_rows,
        digits=PUBLIC_DIGITS,
    )


def _axes_of(index: int) -> tuple[str, str]:
    """The axes of a pair's plot as traces name them: plots of a column share x, plots of a row share y."""
    return _numbered("x", index % _COLUMNS), _numbered("y", index // _COLUMNS)


def _numbered(name: str, index: int) -> str:
    """x, x2, x3 …, as plotly counts axes."""
    return f"{name}{index + 1}" if index else name


def _curve(pair: Pair, x: str, y: str) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{pair.symbol}–{pair.symbol}",
        "x": pair.distances,
        "y": pair.energies,
        "xaxis": x,
        "yaxis": y,
        "hovertemplate": "%{x:.2f} Å: %{y:.3f} eV",
        "showlegend": False,
        "meta": {"colour": 0},
    }


def _layout(pairs: Sequence[Pair], n_rows: int, depth: float) -> dict[str, Any]:
    farthest = max(pair.distances[-1] for pair in pairs)
    n_columns = min(_COLUMNS, len(pairs))
    layout: dict[str, Any] = {"grid": {"rows": n_rows, "columns": n_columns, "pattern": "coupled"}}
    x, y = {"range": [0, farthest], "matches": "x"}, {"range": [-depth, depth / 2], "matches": "y"}
    layout |= {_numbered("xaxis", n): x for n in range(n_columns)} | {_numbered("yaxis", n): y for n in range(n_rows)}
    layout["annotations"] = [_label(pair, *_axes_of(index)) for index, pair in enumerate(pairs)]
    layout["annotations"] += [
        {"text": "distance / Å", "x": 0.5, "y": 0, "xref": "paper", "yref": "paper", "yshift": -36},
        {"text": "energy / eV", "x": 0, "y": 0.5, "xref": "paper", "yref": "paper", "xshift": -40, "textangle": -90},
    ]
    return layout


def _label(pair: Pair, x: str, y: str) -> dict[str, Any]:
    failed = all(energy is None for energy in pair.energies)
    text = f"{pair.symbol}: failed" if failed else pair.symbol
    return {"text": text, "x": 1, "y": 1, "xref": f"{x} domain", "yref": f"{y} domain", "xanchor": "right"}
