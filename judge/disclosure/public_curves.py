"""Public curves of dynamics and of pairs of atoms: pure functions from items tables to the points of a plot.

A submission answers after it saw the structures, so it could encode hidden structures in its answers. For a hidden data
set of dynamics only the mean over at least `LEAST_ITEMS` runs is public, to two digits. For pairs nothing is public:
the suite states the pairs, and their distances depend on the element alone, so they reveal no data set. But a hundred
energies for each pair are enough to encode structures that the same container received just before.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from judge.disclosure.redaction import cut, rounded
from judge.ranking.leaderboard import TaskLine
from judge.records.few_items import LEAST_ITEMS
from tasks.kinds.nve import NveParameters, drift_curves
from tasks.metrics.measurement import Items
from tasks.metrics.profiles import Profile, ProfileCurve
from tasks.physicality.kind import PhysicalityParameters, diatomic_curves
from tasks.structures.frames import Float

PUBLIC_DIGITS = 4
"""Digits of a value of a public data set; a plot shows no more."""

HIDDEN_DIGITS = 2
"""Digits of a mean over a hidden data set: ten means for each task could carry more data than the scores."""

HIDDEN_POINTS = 11
"""The mean of a profile over a hidden data set has at most so many points."""

PAIR_POINTS = 34
"""A plot has about so many distances of a pair."""


Points = tuple[float | None, ...]
"""The values of a curve; None where there is none."""


class Drift(NamedTuple):
    """The change of the total energy in the runs of one task of one submission.

    Args:
        times_ps: (k,) the time of each point [ps]; the first is 0.
        mean: (k,) the mean of |E(t) − E(0)| [eV/atom] over the runs that reached that time; None if too few did.
        n_runs: (k,) the number of those runs; None if `mean` is.
        runs: the structure, and (k,) E(t) − E(0) [eV/atom], of each run; empty for a hidden data set.
        hidden: True if the data set is hidden.
    """

    times_ps: tuple[float, ...]
    mean: Points
    n_runs: tuple[int | None, ...]
    runs: tuple[tuple[str, Points], ...]
    hidden: bool


class Pair(NamedTuple):
    """The energy of two atoms of an element over their distance.

    Args:
        distances: (n,) increasing [Å].
        energies: (n,) relative to that at the largest distance [eV]; None if the model failed.
    """

    symbol: str
    distances: tuple[float, ...]
    energies: Points


class PublicCurve(NamedTuple):
    """A curve of a profile.

    Args:
        name: of the item; of a hidden data set: empty, for the mean over its items.
        x, y: (k,) the points.
        reference: (k,) of the reference; empty if there is none, or if it is hidden.
        also: further curves for comparison by name, (k,) each; empty if they are hidden.
    """

    name: str
    x: tuple[float, ...]
    y: Points
    reference: Points
    also: tuple[tuple[str, Points], ...] = ()


def is_hidden(line: TaskLine, public: Collection[str]) -> bool:
    """True if the data set of the task is hidden, or that of its result.

    Args:
        public: names of the public data sets.
    """
    judged = line.task.dataset if line.result is None else line.result.provenance.dataset
    return not {line.task.dataset, judged} <= set(public)


def public_drift(line: TaskLine, items: Items | None, public: Collection[str]) -> Drift | None:
    """The public drift of a task of dynamics; None if the items have no drift."""
    if items is None or line.result is None or not isinstance(line.task.parameters, NveParameters):
        return None
    curves = drift_curves(items, line.task.parameters)
    if curves is None:
        return None
    hidden = is_hidden(line, public)
    mean, n_runs = _mean(curves.deviation, LEAST_ITEMS if hidden else 1, HIDDEN_DIGITS if hidden else PUBLIC_DIGITS)
    deviations = () if hidden else zip(curves.ids, curves.deviation, strict=True)
    runs = tuple((name, _shown(deviation, PUBLIC_DIGITS)) for name, deviation in deviations)
    return Drift(tuple(curves.times_ps.tolist()), mean, n_runs, runs, hidden)


def public_profile(
    line: TaskLine, items: Items | None, profile: Profile, public: Collection[str]
) -> tuple[PublicCurve, ...]:
    """The public curves of a profile: each item's, or for a hidden data set some points of their mean.

    The mean is that of at least `LEAST_ITEMS` items, all with the same x. References of a hidden data set are never
    public.
    """
    if items is None or line.result is None:
        return ()
    curves = profile.curves(items, line.task.parameters)
    if not is_hidden(line, public):
        return tuple(_public(curve) for curve in curves)
    if len(curves) < LEAST_ITEMS or any(not np.array_equal(curve.x, curves[0].x) for curve in curves):
        return ()
    chosen = np.unique(np.linspace(0, len(curves[0].x) - 1, HIDDEN_POINTS).round().astype(int))
    together = np.array([curve.y for curve in curves])[:, chosen]
    counts = np.isfinite(together).sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # huge values overflow to inf, which is not shown
        means = np.where(counts >= LEAST_ITEMS, np.nansum(together, axis=0) / np.maximum(counts, 1), np.nan)
    return (PublicCurve("", _places(curves[0].x[chosen]), _shown(means, HIDDEN_DIGITS), ()),)


def _public(curve: ProfileCurve) -> PublicCurve:
    """The curve of a public data set."""
    also = tuple((name, _shown(y, PUBLIC_DIGITS)) for name, y in curve.also if np.isfinite(y).any())
    return PublicCurve(curve.item, _places(curve.x), _shown(curve.y, PUBLIC_DIGITS), _reference(curve.reference), also)


def _places(x: Float) -> tuple[float, ...]:
    return tuple(rounded(float(value), PUBLIC_DIGITS) for value in x)


def _reference(values: Float | None) -> Points:
    return () if values is None or not np.isfinite(values).any() else _shown(values, PUBLIC_DIGITS)


def public_pairs(line: TaskLine, items: Items | None, public: Collection[str]) -> tuple[Pair, ...]:
    """The public curves of a task of physicality; empty for a hidden data set."""
    parameters = line.task.parameters
    if items is None or line.result is None or not isinstance(parameters, PhysicalityParameters):
        return ()
    if is_hidden(line, public):
        return ()
    pairs = []
    for curve in diatomic_curves(items, parameters):
        chosen = _drawn_points(curve.energies)
        distances = tuple(rounded(float(r), PUBLIC_DIGITS) for r in curve.distances[chosen])
        pairs.append(Pair(curve.symbol, distances, _shown(curve.energies[chosen], PUBLIC_DIGITS)))
    return tuple(pairs)


def _mean(deviation: Float, least: int, digits: int) -> tuple[Points, tuple[int | None, ...]]:
    """(k,) the mean size of each column of `deviation` over its finite values, and (k,) their number.

    Both are None for a column with fewer than `least` finite values.

    Args:
        deviation: (n, k) of each run [eV/atom].
    """
    finite = np.isfinite(deviation)
    counts = finite.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # huge energies overflow to inf, which is not shown
        sums = np.where(finite, np.abs(deviation), 0.0).sum(axis=0)
    means = np.where(counts >= max(least, 1), sums / np.maximum(counts, 1), np.nan)
    shown = _shown(means, digits)
    return shown, tuple(None if m is None else int(n) for m, n in zip(shown, counts, strict=True))


def _drawn_points(energies: Float) -> list[int]:
    """Indices of evenly chosen points of (n,) energies, with the last point and the one of lowest energy."""
    n = len(energies)
    chosen = set(range(0, n, max(1, math.ceil(n / PAIR_POINTS)))) | {n - 1}
    if np.isfinite(energies).any():
        chosen.add(int(np.nanargmin(energies)))
    return sorted(chosen)


def _shown(values: Float, digits: int) -> Points:
    return tuple(cut(float(value), digits) if math.isfinite(value) else None for value in values)
