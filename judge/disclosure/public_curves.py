"""What anybody may read of curves: of dynamics, and of pairs. Pure functions from items tables to what is drawn.

A submission answers after it saw the structures. So of a hidden data set nothing is shown that has room for them: of
dynamics the mean over at least `LEAST_ITEMS` runs, to two digits, and of pairs nothing. Which pairs are asked is in the
suite, and their distances are the element's: neither tells of a data set. But a hundred energies a pair are room enough
to write down structures that the same container was shown just before.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from judge.disclosure.redaction import LEAST_ITEMS, cut, rounded
from judge.ranking.leaderboard import TaskLine
from tasks.kinds.nve import DriftCurves, NveParameters, drift_curves
from tasks.metrics.measurement import Items
from tasks.physicality.kind import PhysicalityParameters, diatomic_curves
from tasks.structures.frames import Float

PUBLIC_DIGITS = 4
"""Of a value of a public data set: a line is drawn no finer."""

HIDDEN_DIGITS = 2
"""Of a mean over a hidden data set: ten means a task are room for more than the scores have."""

PAIR_POINTS = 34
"""About so many of a pair's distances are drawn."""


class Drift(NamedTuple):
    """How far the total energy is from where it started, over the runs of one task of one submission.

    Args:
        times_ps: of each point [ps], the first at 0.
        mean: of |E(t) − E(0)| [eV/atom] over the runs that got as far; None where too few did, or none.
        n_runs: how many did; None where `mean` is.
        runs: of a public data set E(t) − E(0) [eV/atom] of each run, by structure; empty of a hidden one.
        hidden: whether the data set is.
    """

    times_ps: tuple[float, ...]
    mean: tuple[float | None, ...]
    n_runs: tuple[int | None, ...]
    runs: tuple[tuple[str, tuple[float | None, ...]], ...]
    hidden: bool


class Pair(NamedTuple):
    """The energy of two atoms of an element over their distance.

    Args:
        distances: increasing [Å].
        energies: less that at the largest distance [eV]; None where the model failed.
    """

    symbol: str
    distances: tuple[float, ...]
    energies: tuple[float | None, ...]


def is_hidden(line: TaskLine, public: Collection[str]) -> bool:
    """Whether the task is of a hidden data set, or its result of another one that is.

    Args:
        public: names of the data sets that are public.
    """
    judged = line.task.dataset if line.result is None else line.result.provenance.dataset
    return not {line.task.dataset, judged} <= set(public)


def public_drift(line: TaskLine, items: Items | None, public: Collection[str]) -> Drift | None:
    """The drift of a task of dynamics as anybody may read it; None where the items tell of none."""
    if items is None or line.result is None or not isinstance(line.task.parameters, NveParameters):
        return None
    curves = drift_curves(items, line.task.parameters)
    if curves is None:
        return None
    hidden = is_hidden(line, public)
    mean, n_runs = _mean(curves.deviation, LEAST_ITEMS if hidden else 1, HIDDEN_DIGITS if hidden else PUBLIC_DIGITS)
    runs = () if hidden else _runs(curves)
    return Drift(tuple(curves.times_ps.tolist()), mean, n_runs, runs, hidden)


def public_pairs(line: TaskLine, items: Items | None, public: Collection[str]) -> tuple[Pair, ...]:
    """The curves of the pairs of a task of physicality; none of a hidden data set."""
    parameters = line.task.parameters
    if items is None or line.result is None or not isinstance(parameters, PhysicalityParameters):
        return ()
    if is_hidden(line, public):
        return ()
    found = []
    for curve in diatomic_curves(items, parameters):
        chosen = _drawn_points(curve.energies)
        distances = tuple(rounded(float(r), PUBLIC_DIGITS) for r in curve.distances[chosen])
        found.append(Pair(curve.symbol, distances, _shown(curve.energies[chosen], PUBLIC_DIGITS)))
    return tuple(found)


def _mean(deviation: Float, least: int, digits: int) -> tuple[tuple[float | None, ...], tuple[int | None, ...]]:
    """The mean size of each column of (k, 11) over the runs that have it, and their number, if they are not fewer than
    `least`."""
    there = np.isfinite(deviation)
    counts = there.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # absurd energies become inf, and are not shown
        sums = np.where(there, np.abs(deviation), 0.0).sum(axis=0)
    means = np.where(counts >= max(least, 1), sums / np.maximum(counts, 1), np.nan)
    shown = _shown(means, digits)
    return shown, tuple(None if m is None else int(n) for m, n in zip(shown, counts, strict=True))


def _runs(curves: DriftCurves) -> tuple[tuple[str, tuple[float | None, ...]], ...]:
    return tuple((name, _shown(row, PUBLIC_DIGITS)) for name, row in zip(curves.ids, curves.deviation, strict=True))


def _drawn_points(energies: Float) -> list[int]:
    """Indices of every so many of the points, with the last of them and the lowest."""
    n = len(energies)
    chosen = set(range(0, n, max(1, math.ceil(n / PAIR_POINTS)))) | {n - 1}
    if np.isfinite(energies).any():
        chosen.add(int(np.nanargmin(energies)))
    return sorted(chosen)


def _shown(values: Float, digits: int) -> tuple[float | None, ...]:
    return tuple(cut(float(value), digits) if math.isfinite(value) else None for value in values)
