"""How often both intervals of a domain or a score hold the true value, and how often the order of two models is wrong.

A domain of T test sets is the score. Two other domains of three sets each tell of their spread, and do not count. Two
questions are asked (`scoring.intervals`): on these test sets the truth is that of the sets drawn, and on test sets like
these it is that of all such sets. Models that are equal are equal on the same sets, or over all such sets: then each
one's sets deviate by themselves, and on any few sets they do differ. How often the better of two models is found is
stated for errors that differ by a fifth, also if each one's sets deviate by themselves.

Cells of one T have the same deviations of sets for all numbers and kinds of items, so their figures err together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from scipy.special import stdtrit

from benchmarks.coverage import HALF_NORMAL, SEED, outliers, star, water27
from benchmarks.report import Figure
from benchmarks.simulated_sets import (
    BATCH,
    MIXED,
    Items,
    Simulated,
    Suite,
    clustered,
    domain,
    failing,
    independent,
    sharing,
    water_sizes,
)
from scoring.intervals import ResampledScore
from scoring.order import with_ranks
from scoring.shared_structures import Loss
from scoring.tree import Float

SPREADS = (0.2, 0.5, 1.0, MIXED)
DEGREES = 4  # of Student's t that the deviations of sets have, scaled to the standard deviation of the spread
SIZES = (10, 50, 500)
N_SETS = range(1, 9)
FEW_SETS = (1, 2, 4, 8)
BETTER_BY = 1.2
LOWEST, HIGHEST, MOST_WRONG = 90.0, 99.0, 6.0


def covered(intervals: Sequence[tuple[float, float]], truth: Float) -> float:
    """The share of intervals that hold the truth; NaN if one is not known."""
    low, high = np.array(intervals).T
    return float(np.mean((low <= truth) & (truth <= high))) if np.isfinite(low).all() else math.nan


def on_these(scores: Sequence[ResampledScore], truth: Float) -> float:
    """The coverage of the intervals on these test sets."""
    return covered([(each.uncertainty.with_unseen.low, each.uncertainty.with_unseen.high) for each in scores], truth)


def on_sets_like_these(scores: Sequence[ResampledScore]) -> float:
    """The coverage of the intervals on test sets like these; the true value is 1."""
    return covered([(each.uncertainty.like_these.low, each.uncertainty.like_these.high) for each in scores], np.ones(1))


def widths(scores: Sequence[ResampledScore], values: Float) -> tuple[float, float]:
    """The median of upper over lower end on test sets like these, and of the t-interval of the logarithms of (R, T)."""
    ours = [each.uncertainty.like_these.high / each.uncertainty.like_these.low for each in scores]
    n_sets = values.shape[1]
    if n_sets == 1:
        return float(np.median(ours)), math.inf
    half = stdtrit(n_sets - 1, 0.975) * np.log(values).std(axis=1, ddof=1) / math.sqrt(n_sets)
    return float(np.median(ours)), float(np.exp(2 * np.median(half)))


def ordered(scores: Sequence[ResampledScore], better_by: float = 1.0) -> tuple[float, float]:
    """The share of neighbours in the list that are told apart, and that are told apart with an order that carries over.

    A model is in two pairs, so the standard error is a little larger than that of independent pairs, which is stated.

    Args:
        better_by: the true error of each second model over that of the first; if not 1, only the right order counts.
    """
    apart, carried, n_pairs = 0, 0, 0
    for begin in range(0, len(scores), BATCH):
        for first, second in pairwise(scores[begin : begin + BATCH]):
            ranked = with_ranks({"a": first, "b": times(second, better_by)}, lower_is_better=True)
            n_pairs += 1
            groups = ranked["a"].group, ranked["b"].group
            if groups == (1, 2) or (groups == (2, 1) and better_by == 1.0):
                apart += 1
                carried += bool(ranked["b"].carries_over)
    return apart / n_pairs, carried / n_pairs


def times(score: ResampledScore, factor: float) -> ResampledScore:
    """The score of a model whose errors are larger by a factor."""
    drawn, wide = score.drawn, score.drawn_like_these
    return score._replace(
        value=factor * score.value,
        drawn=None if drawn is None else factor * drawn,
        drawn_like_these=None if wide is None else factor * wide,
    )


def other_items() -> Iterator[Items]:
    """Rare failures, shared structures of unequal sizes, clusters, and rare large errors."""
    for share in (0.005, 1 / 60, 1 / 30):
        for n in (10, 60, 500):
            for power in (1.0, 0.5):
                yield failing(share, n, power)
    conformers = np.exp(0.5 * np.random.default_rng(SEED).standard_normal(65))
    for loss in Loss:
        yield sharing("WATER27, errors grow with the molecules", water27(), water_sizes(), loss)
        yield sharing("BUT14DIOL, log-normal sizes of errors", star(64), conformers, loss)
    for n in (10, 50):
        yield clustered(n)
        yield independent(outliers(0.1, 8.0), n, 0.5)._replace(goal=n == 10)


def measure_set_coverage(repeats: int = 500) -> Iterator[Figure]:
    """Coverage at nominal 95 %, widths, and wrong and right orders of two models; each with its standard error."""
    yield from _independent_items(repeats)
    yield from _other_items(repeats // 2)
    for n_sets in FEW_SETS:
        simulated = Simulated.of(independent(HALF_NORMAL, 50), Suite((n_sets,) * 3, 3), repeats // 2)
        for spread in SPREADS:
            yield from _like_these(simulated, spread, None, f"3 domains, T = {n_sets}, n = 50", in_full=True)


def _independent_items(repeats: int) -> Iterator[Figure]:
    """MAE of independent normal errors, by number of sets, number of items, spread and tails of the sets."""
    for n in SIZES:
        for n_sets in N_SETS:
            simulated = Simulated.of(independent(HALF_NORMAL, n), domain(n_sets), repeats)
            name = f"T = {n_sets}, n = {n}"
            yield from _on_these(simulated, name)
            if n == 50:
                yield _power(simulated, np.zeros_like(simulated.values), f"{name}: on these sets")
            for spread in SPREADS:
                for degrees in (None, DEGREES):
                    yield from _like_these(simulated, spread, degrees, name, in_full=n == 50 and degrees is None)


def _other_items(repeats: int) -> Iterator[Figure]:
    for items in other_items():
        for n_sets in FEW_SETS:
            simulated = Simulated.of(items, domain(n_sets), repeats)
            name = f"T = {n_sets}, {items.name}"
            yield from _on_these(simulated, name)
            for spread, degrees in ((0.5, None), (MIXED, DEGREES)):
                yield from _like_these(simulated, spread, degrees, name)


def _on_these(simulated: Simulated, name: str) -> Iterator[Figure]:
    """Other items of the same sets. How much the sets differ makes no difference: each only has another unit."""
    none = np.zeros_like(simulated.values)
    scores = simulated.scores(np.random.default_rng(SEED), none, with_sets=False)
    yield _coverage(
        f"{name}: on these sets", on_these(scores, simulated.suite.truth(none)), len(scores), simulated.goal
    )
    yield _wrong(f"{name}: equal on these sets, told apart", ordered(scores)[0], len(scores), simulated.goal)


def _like_these(
    simulated: Simulated, spread: float | None, degrees: int | None, name: str, in_full: bool = False
) -> Iterator[Figure]:
    """Other sets. `in_full`: also widths, power, and how often equal models are told apart on the sets themselves."""
    rng, repeats = np.random.default_rng(SEED), len(simulated.values)
    deviations = simulated.suite.deviations(rng, repeats, spread, degrees)
    scores = simulated.scores(rng, deviations)
    name += f", {'mixed spreads' if spread is None else f'spread {spread:g}'}{', t' if degrees else ''}"
    if math.isnan(on_sets_like_these(scores)):  # no pool has two sets
        yield Figure(f"{name}: intervals on sets like these", 0.0, "", 0.0)
    else:
        yield _coverage(f"{name}: on sets like these", on_sets_like_these(scores), repeats, simulated.goal)
    apart, carried = ordered(scores)
    yield _wrong(f"{name}: equal over such sets, said to carry over", carried, repeats, simulated.goal)
    if in_full:
        yield Figure(f"{name}: equal over such sets, apart on these", 100 * apart, "%", error=_error(apart, repeats))
        yield _power(simulated, deviations, f"{name}: carried over")
    if in_full and simulated.suite.n_scored == 1:
        ours, of_t = widths(scores, (np.exp(deviations) * simulated.values)[:, : simulated.suite.n_drawn])
        yield Figure(f"{name}: upper over lower end", ours, "")
        if math.isfinite(of_t):
            yield Figure(f"{name}: upper over lower end of the t-interval", of_t, "")


def _coverage(name: str, share: float, n: int, goal: bool) -> Figure:
    return Figure(name, 100 * share, "%", LOWEST, at_least=True, at_most=HIGHEST, error=_error(share, n), goal=goal)


def _wrong(name: str, share: float, n: int, goal: bool) -> Figure:
    return Figure(name, 100 * share, "%", MOST_WRONG, error=_error(share, n), goal=goal)


def _power(simulated: Simulated, deviations: Float, name: str) -> Figure:
    """The right order of two models whose errors differ by `BETTER_BY`; if sets deviate, only if it carries over."""
    scores = simulated.scores(np.random.default_rng(SEED), deviations)
    share = ordered(scores, BETTER_BY)[1 if deviations.any() else 0]
    return Figure(f"{name}, the better by 20 % is found", 100 * share, "%", error=_error(share, len(scores)))


def _error(share: float, n: int) -> float:
    """The standard error of a share of n in per cent; as if one more had been on each side, so that it is never 0."""
    share = (share * n + 1) / (n + 2)
    return 100 * math.sqrt(share * (1 - share) / n)
