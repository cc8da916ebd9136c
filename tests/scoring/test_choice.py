"""The ranking of a choice, against direct computations over items and clusters."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from judge.ranking.error_sums import error_sums
from scoring.choice import Choice, Z, covers, independent_items, ranking_of_choice
from scoring.choice_sums import ErrorColumn, ModelSums, ReferenceSums, SimulatedRuns, SumGroup, TaskSums
from tasks.metrics.averages import Average
from tasks.metrics.measurement import Items, ItemTerms

SETS = (("Cu",), ("Cu", "O"), ("O",))


def items_and_average(rng: np.random.Generator, n: int = 60, root: bool = False) -> tuple[Items, Average]:
    """Items in clusters of three, one of them failed if the metric is no root."""
    error, reference = rng.normal(0, 0.1, n), rng.normal(0, 1.0, n)
    cause = ((np.arange(n) == 5) & (not root)).astype(np.int8)
    error[cause > 0] = np.nan
    power = 2 if root else 1
    average = Average("mae", "eV", np.abs(error) ** power, np.ones(n), root=root, baseline=np.abs(reference) ** power)
    names = [f"item {k}" for k in range(n)]
    return Items(names, names, [f"cluster {k // 3}" for k in range(n)], cause, {}), average


def column_of(items: Items, averages: dict[str, Average], labels: np.ndarray) -> ErrorColumn:
    """The column of models that answered the same items."""
    references, models = set(), {}
    for model, average in averages.items():
        assert average.baseline is not None
        metric = average.metric(float(average.baseline.mean()) ** (0.5 if average.root else 1.0))
        sums = error_sums(average.contribution(metric.failure_cost or np.nan), metric, items, labels, len(SETS))
        assert sums is not None
        groups = tuple(
            SumGroup(elements, ("crystal",), int((labels == g).sum()), int(sums.n_clusters[g]), trivial, squares)
            for g, (elements, trivial, squares) in enumerate(
                zip(SETS, sums.trivial.tolist(), sums.trivial_squares.tolist(), strict=True)
            )
        )
        blocks = tuple(sums.block_groups.tolist()), tuple(sums.block_trivial.tolist())
        references.add(ReferenceSums(groups, 1.0, 0.0, *blocks, sums.dependence))
        of_model = (sums.errors, sums.spreads, sums.slopes, sums.failed, sums.block_errors)
        models[model] = ModelSums(0, *(tuple(each.tolist()) for each in of_model))
    (reference,) = references
    return ErrorColumn("mae", ("energies",), averages["m"].root, (reference,), models)


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("elements", [{"Cu"}, {"Cu", "O"}, set()])
def test_score_and_interval_are_those_of_the_chosen_items(root: bool, elements: set[str]) -> None:
    items, average = items_and_average(np.random.default_rng(1), root=root)
    labels = np.arange(60) // 3 % 3  # whole clusters
    column = column_of(items, {"m": average}, labels)
    assert average.baseline is not None
    s, d = (
        average.contribution(
            average.metric(float(average.baseline.mean()) ** (0.5 if root else 1.0)).failure_cost or np.nan
        ).sums,
        average.baseline,
    )
    choice = Choice(frozenset(elements))
    chosen = np.isin(labels, [g for g, each in enumerate(SETS) if not elements or elements.issuperset(each)])
    (ranked,) = ranking_of_choice([TaskSums("t", (column,))], ["m"], choice)
    ratio = s[chosen].sum() / d[chosen].sum()
    assert ranked.score == pytest.approx(math.sqrt(ratio) if root else ratio, rel=1e-12)
    residuals = np.bincount(np.arange(60) // 3, np.where(chosen, s - ratio * d, 0.0))
    n = chosen.sum() // 3
    spread = math.sqrt((residuals**2).sum() * n / (n - 1)) / d[chosen].sum()
    assert ranked.deviation == pytest.approx(spread * (0.5 / math.sqrt(ratio) if root else 1.0), rel=1e-9)
    assert (ranked.n_items, ranked.n_failed) == (chosen.sum(), int(items.cause[chosen].sum()))
    assert independent_items([TaskSums("t", (column,))], choice) == n


def test_the_interval_covers_as_it_states() -> None:
    """Over 300 sets of 90 items, 95 % of the intervals contain the ratio of the expected errors."""
    hits = 0
    for seed in range(300):
        items, average = items_and_average(np.random.default_rng(seed), 90)
        items = replace(items, cause=np.zeros(90, np.int8))
        error = np.random.default_rng(seed + 1000).normal(0, 0.3, 90)
        average = average._replace(sums=np.abs(error))
        column = column_of(items, {"m": average}, np.arange(90) // 3 % 3)
        (ranked,) = ranking_of_choice([TaskSums("t", (column,))], ["m"], Choice())
        assert ranked.low is not None
        assert ranked.high is not None
        hits += ranked.low <= 0.3 <= ranked.high  # both are half-normal, so their means have the ratio of their widths
    assert 0.92 <= hits / 300 <= 0.98


def task_of(name: str, errors: dict[str, float], spread: float = 0.01) -> TaskSums:
    """A task of one group of 40 items in 40 clusters."""
    group = SumGroup(("Cu",), ("crystal",), 40, 40, 40.0, 40.0)
    models = {id: ModelSums(0, (40 * error,), (spread,), (0.0,), (0,)) for id, error in errors.items()}
    return TaskSums(name, (ErrorColumn("mae", ("energies",), False, (ReferenceSums((group,)),), models),))


def test_a_failed_task_counts_as_worst_and_no_error_more_than_one() -> None:
    tasks = [task_of("one", {"a": 0.1, "b": 0.2, "c": 5.0}), task_of("two", {"b": 0.2, "c": 0.2})]
    ranked = ranking_of_choice(tasks, ["a", "b", "c", "never judged"], Choice())
    assert [(model.model, pytest.approx(model.score)) for model in ranked] == [("b", 0.2), ("a", 0.55), ("c", 0.6)]
    assert [model.n_tasks for model in ranked] == [2, 1, 2]


def test_without_blocks_ties_follow_the_interval_of_independent_models() -> None:
    deviation = math.sqrt(0.01 * 40 / 39) / 40
    near, far = 0.2 + Z * math.sqrt(2) * deviation * 0.99, 0.2 + Z * math.sqrt(2) * deviation * 1.01
    ranked = ranking_of_choice([task_of("one", {"a": 0.2, "b": near, "c": far})], "abc", Choice())
    assert [model.tied for model in ranked] == [True, True, False]


def compared(rng: np.random.Generator, n: int, shift: float, shared: float) -> tuple[ErrorColumn, np.ndarray]:
    """Two models with errors of mean 0.3 and 0.3 + shift, partly the same for both; their difference by item."""
    items, average = items_and_average(rng, n)
    items = replace(items, cause=np.zeros(n, np.int8), cluster=items.id)
    average = average._replace(baseline=np.ones(n))
    common = rng.uniform(-0.1, 0.1, n) * shared
    errors = [0.3 + common + rng.uniform(-0.1, 0.1, n) * (1 - shared) for _ in range(2)]
    averages = {"m": average._replace(sums=errors[0]), "other": average._replace(sums=errors[1] + shift)}
    return column_of(items, averages, np.arange(n) % 3), errors[1] + shift - errors[0]


def test_ties_follow_the_paired_difference_over_the_same_items() -> None:
    """Ten standard errors of the difference apart, though the interval of each model contains the other's score."""
    column, difference = compared(np.random.default_rng(2), 90, 0.01, 0.9)
    first, second = ranking_of_choice([TaskSums("t", (column,))], ["m", "other"], Choice())
    error = difference.std(ddof=1) / math.sqrt(90)
    assert difference.mean() > Z * error
    assert first.high is not None
    assert first.high > second.score
    assert (first.tied, second.tied) == (True, False)
    halved = column_of_half(column, difference.mean() - Z * error)
    assert ranking_of_choice([TaskSums("t", (halved,))], ["m", "other"], Choice())[1].tied is True


def column_of_half(column: ErrorColumn, less: float) -> ErrorColumn:
    """The same, with the errors of the other model smaller by a little more than `less` for each item."""
    other, reference = column.models["other"], column.references[0]
    by = float(less) * 1.0001
    errors = tuple(s - by * group.trivial for s, group in zip(other.errors, reference.groups, strict=True))
    blocks = tuple(s - by * d for s, d in zip(other.block_errors, reference.block_trivial, strict=True))
    return replace(column, models={**column.models, "other": replace(other, errors=errors, block_errors=blocks)})


@pytest.mark.parametrize("n", [60, 400])
def test_equal_models_are_tied_as_often_as_stated(n: int) -> None:
    """Of 300 pairs of models with the same expected error, 95 % are tied; 400 items are 100 blocks of four."""
    tied = 0
    for seed in range(300):
        column, _ = compared(np.random.default_rng(seed), n, 0.0, 0.8)
        assert len(column.references[0].block_groups) == min(n, 100 + (n > 100) * 2)
        tied += ranking_of_choice([TaskSums("t", (column,))], ["m", "other"], Choice())[1].tied is True
    assert 0.92 <= tied / 300 <= 0.98


def conformers(rng: np.random.Generator, n: int) -> ErrorColumn:
    """The errors of n conformer energies, each against one conformer, whose error is in all of them."""
    structures = rng.normal(0, 0.1, n + 1)
    errors, names = structures[1:] - structures[0], [f"conformer {k}" for k in range(n)]
    average = Average("mae", "eV", np.abs(errors), np.ones(n), errors=errors, baseline=np.full(n, 1.0))
    item, structure = np.repeat(np.arange(n), 2), np.stack([np.arange(1, n + 1), np.zeros(n, np.int64)], axis=1).ravel()
    terms = ItemTerms(item, structure, np.tile([1.0, -1.0], n))
    items = Items(names, names, names, np.zeros(n, np.int8), {}, terms)
    return column_of(items, {"m": average}, np.zeros(n, np.int64))


def test_intervals_hold_if_all_items_share_a_structure() -> None:
    """Of 400 sets; as if the 64 items were independent, 40 % would hold."""
    truth, held, without = 0.1 * 2 / math.sqrt(math.pi), 0, 0
    for seed in range(400):
        column = conformers(np.random.default_rng(seed), 64)
        (ranked,) = ranking_of_choice([TaskSums("t", (column,))], ["m"], Choice())
        assert ranked.low is not None
        assert ranked.high is not None
        held += ranked.low <= truth <= ranked.high
        assert ranked.deviation is not None
        alone = ranked.deviation / math.sqrt(column.references[0].dependence)
        without += abs(ranked.score - truth) <= Z * alone
    assert held / 400 > 0.9
    assert without / 400 < 0.5
    assert independent_items([TaskSums("t", (column,))], Choice()) == 3


@pytest.mark.parametrize(
    ("runs", "temperature_k", "length_ns", "covered"),
    [
        (None, None, None, True),
        (None, 300.0, None, False),
        (SimulatedRuns((300.0, 300.0), 0.01), 310.0, None, True),
        (SimulatedRuns((300.0, 300.0), 0.01), 800.0, None, False),
        (SimulatedRuns((300.0, 3000.0), 0.01), 800.0, 0.01, True),
        (SimulatedRuns((300.0, 3000.0), 0.01), 800.0, 1.0, False),
        (SimulatedRuns(None, 1.0), None, 1.0, True),
        (SimulatedRuns(None, 1.0), 300.0, 1.0, False),
    ],
)
def test_runs_cover_a_temperature_and_a_length(
    runs: SimulatedRuns | None, temperature_k: float | None, length_ns: float | None, covered: bool
) -> None:
    task, choice = (
        replace(task_of("one", {"a": 0.2}), runs=runs),
        Choice(temperature_k=temperature_k, length_ns=length_ns),
    )
    assert covers(task, choice) is covered
    assert bool(ranking_of_choice([task], "a", choice)) is covered


def test_one_cluster_has_no_interval_and_an_unknown_choice_no_model() -> None:
    tasks = [task_of("one", {"a": 0.2})]
    lone = replace(tasks[0].columns[0].references[0].groups[0], n_clusters=1)
    column = replace(tasks[0].columns[0], references=(ReferenceSums((lone,)),))
    (ranked,) = ranking_of_choice([TaskSums("one", (column,))], "a", Choice())
    assert (ranked.score, ranked.low, ranked.tied) == (pytest.approx(0.2), None, None)
    for choice in (Choice(frozenset({"Ag"})), Choice(classes=frozenset({"liquid"})), Choice(needs=frozenset({"md"}))):
        assert ranking_of_choice(tasks, "a", choice) == []


def test_the_score_of_a_task_is_the_mean_over_its_metrics() -> None:
    """(0.1 + 0.5) / 2 in the first task and 0.5 in the second."""
    columns = *task_of("one", {"a": 0.1}).columns, *task_of("one", {"a": 0.5}).columns
    (ranked,) = ranking_of_choice([TaskSums("one", columns), task_of("two", {"a": 0.5})], ["a"], Choice())
    assert ranked.score == pytest.approx(0.4)
