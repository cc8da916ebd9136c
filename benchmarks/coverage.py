"""How often intervals hold the true value: simulated errors of models whose true metric is known.

Every simulated test set is a model of one task, so that one matrix product resamples them all. Methods were compared on
these distributions, on uniform errors and on squares of exponential ones; no number of the method is fitted to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.report import Figure
from scoring.bootstrap import ItemDraws, pools, resample, resample_relative
from scoring.clusters import ClusterSums
from scoring.intervals import LEVEL, middle, resampled_scores
from scoring.order import tie_groups
from scoring.set_spread import draw_sets
from scoring.shared_structures import Loss, SharedErrors
from scoring.tree import AsItIs, Float, How, Leaf, Node, RawMetric

N_RESAMPLES = 1000
SEED = 7
Sampler = Callable[[np.random.Generator, tuple[int, ...]], Float]


class Family(NamedTuple):
    """Errors with their true mean absolute value and mean square."""

    name: str
    sample: Sampler
    absolute: float
    square: float

    def truth(self, power: float) -> float:
        """The true MAE (power 1) or RMSE (power 0.5)."""
        return self.absolute if power == 1.0 else math.sqrt(self.square)


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Float:
    """Errors of standard deviation 1."""
    return rng.standard_normal(shape)


def outliers(share: float, times: float) -> Family:
    """Normal errors, a share of which is larger by a factor."""

    def sample(rng: np.random.Generator, shape: tuple[int, ...]) -> Float:
        return np.asarray(normal(rng, shape) * np.where(rng.random(shape) < share, times, 1.0))

    mean = math.sqrt(2 / math.pi) * (1 + share * (times - 1))
    return Family(f"{share:.0%} of errors {times:g} times as large", sample, mean, 1 + share * (times**2 - 1))


def log_normal(sigma: float, signed: bool = False) -> Family:
    """Log-normal sizes of errors; `signed`: normal errors times these sizes."""

    def sample(rng: np.random.Generator, shape: tuple[int, ...]) -> Float:
        sizes = np.exp(sigma * rng.standard_normal(shape))
        return np.asarray(sizes * normal(rng, shape) if signed else sizes)

    name = f"{'normal times ' if signed else ''}log-normal, σ = {sigma:g}"
    factor = math.sqrt(2 / math.pi) if signed else 1.0
    return Family(name, sample, factor * math.exp(sigma**2 / 2), math.exp(2 * sigma**2))


def failures(share: float) -> Family:
    """Normal errors, a share of which is a failed item's, at `FAILURE_COST`."""

    def sample(rng: np.random.Generator, shape: tuple[int, ...]) -> Float:
        return np.where(rng.random(shape) < share, FAILURE_COST, normal(rng, shape))

    sound = 1 - share
    mean, square = sound * math.sqrt(2 / math.pi) + share * FAILURE_COST, sound + share * FAILURE_COST**2
    return Family(f"{share:.1%} of items failed", sample, mean, square)


HALF_NORMAL = Family("half-normal", normal, math.sqrt(2 / math.pi), 1.0)
HEAVY = log_normal(1.1)
STUDENT = Family("Student t, 3 degrees", lambda rng, n: rng.standard_t(3, n), 2 * math.sqrt(3) / math.pi, 3.0)
OUTLIERS = outliers(0.02, 10.0)
MORE = (log_normal(0.9, signed=True), outliers(0.05, 5.0))
SIZES = (10, 50, 500)
FAILURE_COST = 200.0  # of errors of standard deviation 1: the model is 20 times as good as the trivial one


def coverage_of_metric(family: Family, n: int, power: float, repeats: int, plain: bool = False) -> float:
    """The share of simulated test sets of n items whose interval holds the true MAE (power 1) or RMSE (power 0.5)."""
    return _share(_draws_and_values(family, n, power, repeats, plain)[0], family.truth(power))


def coverage_of_failures(share: float, n: int, power: float, repeats: int) -> tuple[float, float]:
    """The same where a share of the items fails, and the median of upper end over value if any item failed."""
    family = failures(share)
    draws, values = _draws_and_values(family, n, power, repeats, limit=FAILURE_COST ** (1 / power))
    some = values > FAILURE_COST / n
    return _share(draws, family.truth(power)), float(np.median((middle(draws, LEVEL)[1] / values)[some]))


def _draws_and_values(
    family: Family, n: int, power: float, repeats: int, plain: bool = False, limit: float = np.inf
) -> tuple[Float, Float]:
    """(repeats, N_RESAMPLES) the draws of simulated test sets of n items, and (repeats,) their values."""
    rng = np.random.default_rng([SEED, n])
    names, ones = tuple(map(str, range(n))), np.ones(n)
    errors = np.abs(family.sample(rng, (repeats, n)))
    sums = errors if power == 1.0 else errors**2
    stats = {str(i): [ClusterSums("task", "error", names, row, ones, power, limit=limit)] for i, row in enumerate(sums)}
    draws = resample(stats, N_RESAMPLES, rng, plain=plain).with_unseen
    return np.array([draws[model]["task", "error"] for model in stats]), sums.mean(axis=1) ** power


def coverage_of_relative(n: int, power: float, repeats: int, common: bool, held: bool = False) -> float:
    """The share of simulated test sets of n items whose interval holds the true error relative to the baseline.

    The trivial model answers zero: its errors are the references, normal times log-normal sizes (σ = 0.9).

    Args:
        common: the model's errors have the sizes of the references; otherwise they have sizes of their own.
        held: the baseline is not redrawn.
    """
    rng = np.random.default_rng([SEED, n])
    names, ones = tuple(map(str, range(n))), np.ones(n)
    sizes = np.exp(0.9 * rng.standard_normal((2, repeats, n)))
    sizes[1] = sizes[0] if common else sizes[1]
    trivial, errors = np.abs(sizes * normal(rng, (2, repeats, n))) ** (1 / power)
    rows = enumerate(zip(errors, trivial, strict=True))
    stats = {str(i): [ClusterSums("task", "error", names, e, ones, power, baseline=b)] for i, (e, b) in rows}
    draws = (resample if held else resample_relative)(stats, N_RESAMPLES, rng).values
    ratios = [draws[str(i)]["task", "error"] / row.mean() ** power for i, row in enumerate(trivial)]
    return _share(np.array(ratios), 1.0)


def _share(draws: Float, truth: float) -> float:
    """The share of rows whose interval holds the truth."""
    low, high = middle(draws, LEVEL)
    return float(np.mean((low <= truth) & (truth <= high)))


def star(n: int) -> Float:
    """(n, n + 1) coefficients of n conformers that are all compared with one, as in BUT14DIOL (n = 64).

    Source: GMTKN55 (commit e2a9edf, BUT14DIOL/.res).
    """
    return np.concatenate([-np.ones((n, 1)), np.eye(n)], axis=1)


def water27() -> Float:
    """(27, 30) coefficients of WATER27: clusters of water, of its ions with water, and one ionisation.

    Source: Bryantsev, Diallo, van Duin and Goddard, J. Chem. Theory Comput. 5, 1016 (2009); in the order of GMTKN55
    (commit e2a9edf, WATER27/.res).
    """
    water, hydronium, hydroxide = 0, 1, 2
    neutral = [2, 3, 4, 5, 6, 6, 6, 6, 8, 8, 20, 20, 20, 20]
    ions = [(hydronium, n) for n in (1, 2, 3, 6, 6)] + [(hydroxide, n) for n in (1, 2, 3, 4, 4, 5, 6)]
    rows = np.zeros((27, 30))
    rows[:26, 3:29] = -np.eye(26)
    rows[: len(neutral), water] = neutral
    for row, (ion, n) in enumerate(ions, len(neutral)):
        rows[row, [water, ion]] = n, 1
    rows[26, 3 + neutral.index(8) + 1], rows[26, 29] = -1, 1  # the S4 cube of eight waters becomes two ions in six
    return rows


def coverage_of_shared(
    matrix: Float, sample: Sampler, loss: Loss, repeats: int, plain: bool = False, failing: float = 0.0
) -> float:
    """The share of simulated errors of structures for which the interval holds the metric's expected mean loss.

    Args:
        failing: the probability that an item fails.
    """
    rng = np.random.default_rng(SEED)
    names, ones, power = (
        tuple(map(str, range(len(matrix)))),
        np.ones(len(matrix)),
        1.0 if loss is Loss.ABSOLUTE else 0.5,
    )
    limit = FAILURE_COST ** (1 / power) if failing else np.inf

    def losses(errors: Float) -> Float:
        return np.where(np.isnan(errors), limit, np.abs(errors) ** (1 / power))

    truth = (1 - failing) * losses(sample(rng, (20_000, matrix.shape[1])) @ matrix.T).mean()
    truth = (truth + (failing * limit if failing else 0.0)) ** power
    stats = {}
    for i, errors in enumerate(sample(rng, (repeats, matrix.shape[1])) @ matrix.T):
        if failing:
            errors[rng.random(len(errors)) < failing] = np.nan
        shared = SharedErrors(matrix, errors, loss, limit)
        sums = losses(errors)
        stats[str(i)] = [ClusterSums("task", "error", names, sums, ones, power, limit=limit, shared=shared)]
    draws = resample(stats, N_RESAMPLES, rng, plain=plain).with_unseen
    return _share(np.array([draws[model]["task", "error"] for model in stats]), truth)


def told_apart(family: Family, n: int, power: float, repeats: int, correlation: float = 0.0) -> float:
    """The share of pairs of models, alike but for chance, that are not tied.

    Args:
        correlation: of their errors in one item.
    """
    rng = np.random.default_rng([SEED, n])
    names, ones = tuple(map(str, range(n))), np.ones(n)
    common, *own = (family.sample(rng, (repeats, n)) for _ in range(3))
    together = rng.random((repeats, n)) < correlation
    apart = 0
    sums = [np.abs(np.where(together, common, each)) ** (1 / power) for each in own]
    stats = {
        f"{model} {i}": [ClusterSums("task", "error", names, sums[model][i], ones, power)]
        for i in range(repeats)
        for model in (0, 1)
    }
    drawn = resample(stats, N_RESAMPLES, rng).for_order
    draws = {model: metrics["task", "error"] for model, metrics in drawn.items()}
    for i in range(repeats):
        pair = (f"0 {i}", f"1 {i}")
        values = {model: stats[model][0].value for model in pair}
        apart += len(tie_groups(values, {model: draws[model] for model in pair}, lower_is_better=True)) > 1
    return apart / repeats


def coverage_of_domain(n_tasks: int, n_items: int, repeats: int, plain: bool = False) -> float:
    """The share of simulated domains whose interval on sets like these holds the value of all such sets.

    The true errors of test sets are log-normal (σ = 0.5); the domain has their logarithmic mean.
    """
    rng = np.random.default_rng([SEED, n_tasks])
    names, ones = tuple(map(str, range(n_items))), np.ones(n_items)
    trees, stats = {}, {}
    for i in range(repeats):
        of_model = []
        for task in range(n_tasks):
            errors = np.exp(0.5 * rng.standard_normal()) * np.abs(normal(rng, (n_items,))) * math.sqrt(math.pi / 2)
            of_model.append(ClusterSums(str(task), "error", names, errors, ones))
        leaves = tuple(
            Node(each.task, "", unit=each.task, leaf=Leaf(RawMetric(each.task, "error", each.value), AsItIs()))
            for each in of_model
        )
        stats[str(i)] = of_model
        trees[str(i)] = Node("domain", "", parts=leaves, how=How.LOGARITHMIC_MEAN, pool=True)
    draws = resample(stats, N_RESAMPLES, rng, plain=plain).with_unseen
    sets = draw_sets(pools(trees.values()), N_RESAMPLES, rng)
    ends = [each.uncertainty.like_these for each in resampled_scores(trees, ItemDraws.same(draws), sets).values()]
    return float(np.mean([interval.low <= 1.0 <= interval.high for interval in ends]))


def measure_coverage(repeats: int = 1000) -> Iterator[Figure]:
    """The coverage of intervals at nominal 95 %, in per cent, and the share of equal models that are told apart."""
    for n in SIZES:
        yield _figure(f"MAE, half-normal, n = {n}", coverage_of_metric(HALF_NORMAL, n, 1.0, repeats), 90)
        yield _figure(f"RMSE, half-normal, n = {n}", coverage_of_metric(HALF_NORMAL, n, 0.5, repeats), 90)
    for n, bound in zip(SIZES, (None, 80, 87), strict=True):
        yield _figure(f"RMSE, {HEAVY.name}, n = {n}", coverage_of_metric(HEAVY, n, 0.5, repeats), bound)
    for family in (STUDENT, OUTLIERS, *MORE):
        for n in SIZES:
            yield _figure(f"MAE, {family.name}, n = {n}", coverage_of_metric(family, n, 1.0, repeats))
            yield _figure(f"RMSE, {family.name}, n = {n}", coverage_of_metric(family, n, 0.5, repeats))
    for n in (60, 300, 1000):
        for failed in (0.005, 0.01, 0.02):
            for power, metric in ((1.0, "MAE"), (0.5, "RMSE")):
                share, upper = coverage_of_failures(failed, n, power, repeats)
                name = f"{metric}, {failed:.1%} of items failed, n = {n}"
                yield _figure(name, share, 90)
                yield Figure(f"upper end over value, {name}", upper, "", 6.0)
    for common, sizes in ((True, "as the references"), (False, "of their own")):
        for n in SIZES:
            for power, metric in ((1.0, "MAE"), (0.5, "RMSE")):
                share = coverage_of_relative(n, power, repeats, common)
                bound = None if power == 0.5 and n == 10 else 90
                yield _figure(f"{metric} / baseline, errors of sizes {sizes}, n = {n}", share, bound)
    for name, matrix in (("WATER27", water27()), ("BUT14DIOL", star(64))):
        for loss, metric in ((Loss.ABSOLUTE, "MAE"), (Loss.SQUARE, "RMSE")):
            for family in (HALF_NORMAL, STUDENT):
                share = coverage_of_shared(matrix, family.sample, loss, repeats // 2)
                yield _figure(f"{metric} of {name}, {family.name}", share, 90 if family is HALF_NORMAL else None)
            for failing in (0.02, 0.05, 0.1):
                share = coverage_of_shared(matrix, normal, loss, repeats // 2, failing=failing)
                yield _figure(f"{metric} of {name}, {failing:.0%} of items failed", share)
    for n_items in (50, 500):
        for n_tasks in (2, 3, 4, 5, 10):
            share = coverage_of_domain(n_tasks, n_items, repeats)
            yield _figure(f"domain of {n_tasks} test sets, n = {n_items}", share)
    for n in (30, 50, 500):
        for family, power, metric in ((HALF_NORMAL, 1.0, "MAE"), (HALF_NORMAL, 0.5, "RMSE"), (HEAVY, 0.5, "RMSE")):
            for share in (0.0, 0.5):
                apart = told_apart(family, n, power, repeats, share)
                name = f"equal models told apart: {metric}, {family.name}, n = {n}, {share:.0%} equal items"
                yield Figure(name, 100 * apart, "%", 7.0)


def _figure(name: str, share: float, bound: float | None = None) -> Figure:
    return Figure(f"coverage of {name}", 100 * share, "%", bound, at_least=True)
