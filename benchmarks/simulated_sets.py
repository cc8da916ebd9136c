"""Simulated models on simulated test sets whose true errors are known: of items, of sets, and of suites of domains.

The true error of a set is exp(δ) times that of all such sets; δ has the spread of its domain. Sets of one true error
are simulated and resampled once, then multiplied by exp(δ) for each spread. Models of one batch share their draws as
the models of a board do; each batch has draws of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.coverage import FAILURE_COST, HALF_NORMAL, SEED, Family, failures, water27
from scoring.bootstrap import ItemDraws, pools, resample
from scoring.clusters import ClusterSums
from scoring.intervals import ResampledScore, resampled_scores
from scoring.set_spread import NO_SETS, draw_sets
from scoring.shared_structures import Loss, SharedErrors
from scoring.tree import AsItIs, Float, How, Leaf, Node, RawMetric

N_RESAMPLES = 500
BATCH = 50  # models that share their draws
MIXED = None  # spreads of domains are log-normal about 0.5 …
MIXED_SPREAD = 0.5  # … with this standard deviation of their logarithms
CORRELATION = 0.5  # of the errors in one cluster


class Items(NamedTuple):
    """The items of a test set, and what is measured on them.

    Args:
        make: a metric of the task of this name, with new items; its true value is 1.
        goal: see `Figure.goal`.
    """

    name: str
    make: Callable[[np.random.Generator, str], ClusterSums]
    goal: bool = False


def independent(family: Family, n: int, power: float = 1.0, limit: float = np.inf) -> Items:
    """MAE (power 1) or RMSE (power 0.5) of n independent items."""
    names, ones, scale = tuple(map(str, range(n))), np.ones(n), 1.0 / family.truth(power)

    def make(rng: np.random.Generator, task: str) -> ClusterSums:
        losses = np.abs(family.sample(rng, (n,))) ** (1 / power)
        return ClusterSums(task, "error", names, losses, ones, power, scale, limit ** (1 / power))

    return Items(f"{'MAE' if power == 1.0 else 'RMSE'}, {family.name}, n = {n}", make)


def failing(share: float, n: int, power: float = 1.0) -> Items:
    """The same, where a share of the items fails. With few failures expected in a set, many sets have none."""
    return independent(failures(share), n, power, FAILURE_COST)


def clustered(n: int) -> Items:
    """MAE of n clusters of 5 to 50 items with correlated errors."""
    names, own, common = tuple(map(str, range(n))), math.sqrt(1 - CORRELATION), math.sqrt(CORRELATION)

    def make(rng: np.random.Generator, task: str) -> ClusterSums:
        sizes = rng.integers(5, 51, n)
        cluster = np.repeat(np.arange(n), sizes)
        errors = common * rng.standard_normal(n)[cluster] + own * rng.standard_normal(len(cluster))
        counts, scale = sizes.astype(np.float64), 1.0 / HALF_NORMAL.absolute
        return ClusterSums(task, "error", names, np.bincount(cluster, np.abs(errors)), counts, 1.0, scale)

    return Items(f"MAE, clusters of 5 to 50 items, n = {n}", make)


def sharing(name: str, matrix: Float, sizes: Float, loss: Loss) -> Items:
    """MAE or RMSE of items (k, S) that share structures, whose errors are normal with standard deviations (S,)."""
    names, ones, power = tuple(map(str, range(len(matrix)))), np.ones(len(matrix)), 1.0
    deviations = np.sqrt(((matrix * sizes) ** 2).sum(axis=1))
    truth = HALF_NORMAL.absolute * deviations.mean()
    if loss is Loss.SQUARE:
        power, truth = 0.5, math.sqrt((deviations**2).mean())

    def make(rng: np.random.Generator, task: str) -> ClusterSums:
        errors = matrix @ (sizes * rng.standard_normal(len(sizes)))
        losses, shared = np.abs(errors) ** (1 / power), SharedErrors(matrix, errors, loss, np.inf)
        return ClusterSums(task, "error", names, losses, ones, power, 1.0 / truth, shared=shared)

    return Items(f"{'MAE' if power == 1.0 else 'RMSE'}, {name}", make)


def water_sizes() -> Float:
    """(30,) molecules in each structure of `water27`: errors of structures grow with them."""
    matrix = water27()
    molecules = np.ones(matrix.shape[1])
    molecules[3:29] = matrix[:26, :3].sum(axis=1)
    return molecules


class Suite(NamedTuple):
    """Domains of test sets.

    Args:
        sizes: the number of sets in each domain.
        n_scored: so many of the first domains make the score; the others only tell of the spread of their sets.
    """

    sizes: tuple[int, ...]
    n_scored: int

    @property
    def domains(self) -> list[slice]:
        """The places of each domain's sets among all."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]

    @property
    def n_drawn(self) -> int:
        """The number of sets in the score; only these have items drawn."""
        return sum(self.sizes[: self.n_scored])

    def deviations(self, rng: np.random.Generator, repeats: int, spread: float | None, degrees: int | None) -> Float:
        """(repeats, sets) δ. `spread` MIXED: each domain has one of its own. `degrees` None: normal."""
        spreads = np.full((repeats, len(self.sizes)), 0.5 if spread is None else spread)
        if spread is None:
            spreads *= np.exp(MIXED_SPREAD * rng.standard_normal(spreads.shape))
        shape = repeats, sum(self.sizes)
        units = rng.standard_normal(shape)
        if degrees is not None:
            units = rng.standard_t(degrees, shape) * math.sqrt(1 - 2 / degrees)
        return np.asarray(np.repeat(spreads, self.sizes, axis=1) * units)

    def tree(self, values: Float) -> Node:
        """The score of a model with these values of the sets."""
        domains = [
            Node(
                f"domain {number}",
                "",
                parts=tuple(
                    Node(str(t), "", unit=str(t), leaf=Leaf(RawMetric(str(t), "error", float(values[t])), AsItIs()))
                    for t in range(place.start, place.stop)
                ),
                how=How.LOGARITHMIC_MEAN,
                pool=True,
            )
            for number, place in enumerate(self.domains)
        ]
        scored, others = domains[: self.n_scored], domains[self.n_scored :]
        rest = [Node("others", "", weight=0.0, parts=tuple(others))] if others else []
        return Node("score", "", parts=(*scored, *rest))

    def truth(self, deviations: Float) -> Float:
        """(repeats,) the score on these sets with infinitely many items."""
        scored = self.domains[: self.n_scored]
        return np.asarray(np.mean([np.exp(deviations[:, place].mean(axis=1)) for place in scored], axis=0))


def domain(n_sets: int) -> Suite:
    """One domain in the score, and two of three sets beside it."""
    return Suite((n_sets, 3, 3), 1)


class Simulated(NamedTuple):
    """Models on the sets of a suite, all of true value 1.

    Args:
        goal: see `Figure.goal`.
        values: (R, U) of each model and set.
        draws: (3, R, D, B) the same on resampled items, for the sets in the score, as `ItemDraws` has them.
        n_independent: (R, D) of these.
    """

    goal: bool
    suite: Suite
    values: Float
    draws: Float
    n_independent: Float

    @classmethod
    def of(cls, items: Items, suite: Suite, repeats: int) -> Simulated:
        rng = np.random.default_rng([SEED, *items.name.encode(), *suite.sizes])
        n_sets, n_drawn = sum(suite.sizes), suite.n_drawn
        values, counts = np.zeros((repeats, n_sets)), np.zeros((repeats, n_drawn))
        draws = np.zeros((3, repeats, n_drawn, N_RESAMPLES))
        for begin in range(0, repeats, BATCH):
            models = range(begin, min(begin + BATCH, repeats))
            metrics = {i: [items.make(rng, str(t)) for t in range(n_sets)] for i in models}
            for i, of_model in metrics.items():
                values[i] = [metric.value for metric in of_model]
                counts[i] = [metric.n_independent for metric in of_model[:n_drawn]]
            drawn = resample({str(i): metrics[i][:n_drawn] for i in models}, N_RESAMPLES, rng)
            for i in models:
                draws[:, i] = [[of_models[str(i)][str(t), "error"] for t in range(n_drawn)] for of_models in drawn]
        return cls(items.goal, suite, values, draws, counts)

    def scores(self, rng: np.random.Generator, deviations: Float, with_sets: bool = True) -> list[ResampledScore]:
        """(R,) the score of each model, whose sets deviate by (R, U)."""
        factors, n_drawn = np.exp(deviations), self.suite.n_drawn
        keys = [(str(t), "error") for t in range(n_drawn)]
        scores: list[ResampledScore] = []
        for begin in range(0, len(self.values), BATCH):
            models = range(begin, min(begin + BATCH, len(self.values)))
            trees = {str(i): self.suite.tree(factors[i] * self.values[i]) for i in models}
            drawn = ItemDraws(
                *(
                    {str(i): dict(zip(keys, factors[i, :n_drawn, np.newaxis] * draws[i], strict=True)) for i in models}
                    for draws in self.draws
                )
            )
            counts = {str(i): dict(zip(keys, self.n_independent[i].tolist(), strict=True)) for i in models}
            sets = draw_sets(pools(trees.values()), N_RESAMPLES, rng) if with_sets else NO_SETS
            results = resampled_scores(trees, drawn, sets, independent=counts)
            scores += [results[str(i)] for i in models]
        return scores
