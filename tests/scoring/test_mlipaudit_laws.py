"""Laws of MLIPAudit's score: its range, no gain by failing, and independence of the order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.mlipaudit import Direction, Measured, item_scores, load_mlipaudit, mlipaudit_tree
from scoring.mlipaudit.measured import Item
from scoring.names import Variant
from tests.world.one_tree import score

RELEASE = load_mlipaudit()
# One benchmark of each sort represents the fourteen, and takes less time.
KINDS = ("stability", "noncovalent_interactions", "nudged_elastic_band", "sampling", "folding_stability")
FACTS = RELEASE.model_copy(update={"benchmarks": {name: RELEASE.benchmarks[name] for name in KINDS}})
METRICS = [(name, metric) for name, benchmark in FACTS.benchmarks.items() for metric in benchmark.metrics]
ROUNDING = 1e-12
RESIDUES = ("ALA", "GLY")
few = settings(max_examples=12)

Table = dict[str, dict[str, Measured]]


@st.composite
def items(draw: st.DrawFn, benchmark: str, name: str) -> Item:
    """A value of a metric, sometimes a failed one."""
    metric = FACTS.metric(benchmark, name, Variant.CORRECTED)
    most = metric.at_most or 5 * (metric.threshold or 1)
    number = st.floats(0, most)
    if metric.over_frames is not None:
        return draw(st.none() | st.lists(number, max_size=3) | st.just((nan, 0.1)))
    return draw(st.none() | number | st.sampled_from([0.0, nan, inf]))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """The values of one model: some metrics, one to three items each."""
    table: Table = {}
    for benchmark, name in draw(st.lists(st.sampled_from(METRICS), min_size=1, max_size=4, unique=True)):
        values = draw(st.lists(items(benchmark, name), min_size=1, max_size=3))
        metric = FACTS.metric(benchmark, name, Variant.CORRECTED)
        groups = draw(st.lists(st.sampled_from(RESIDUES), min_size=len(values), max_size=len(values)))
        measured = Measured(values, metric.unit, groups=groups if metric.by_group else None)
        table.setdefault(benchmark, {})[name] = measured
    return table


def both(table: Table, variant: Variant = Variant.CORRECTED) -> tuple[float, float]:
    """The score over all benchmarks, and over compatible ones."""
    overall, compatible = (mlipaudit_tree(table, FACTS, variant, compatible_only=only) for only in (False, True))
    return float(score(overall)), float(score(compatible))


def with_item(table: Table, benchmark: str, name: str, index: int, item: Item) -> Table:
    measured = table[benchmark][name]
    values: list[Item] = [*measured.values[:index], item, *measured.values[index + 1 :]]
    return {**table, benchmark: {**table[benchmark], name: replace(measured, values=values)}}


@st.composite
def places(draw: st.DrawFn, table: Table) -> tuple[str, str, int]:
    """One item of a table."""
    benchmark = draw(st.sampled_from(sorted(table)))
    name = draw(st.sampled_from(sorted(table[benchmark])))
    return benchmark, name, draw(st.integers(0, len(table[benchmark][name].values) - 1))


def better(item: Item, gain: float, *, larger_is_better: bool) -> Item:
    """The item improved by the share `gain` of the largest possible improvement."""
    if item is None:
        return None
    if isinstance(item, Sequence):
        moved = [better(frame, gain, larger_is_better=larger_is_better) for frame in item]
        return [frame for frame in moved if isinstance(frame, float)]
    return item + (1 - item) * gain if larger_is_better else item * (1 - gain)


@few
@given(tables(), st.sampled_from(Variant))
def test_scores_stay_in_their_range(table: Table, variant: Variant) -> None:
    assert all(0 <= value <= 1 for value in both(table, variant))


@few
@given(st.data(), tables(), st.floats(0, 1))
def test_improving_an_item_never_worsens_the_corrected_score(data: st.DataObject, table: Table, gain: float) -> None:
    benchmark, name, index = data.draw(places(table))
    metric = FACTS.metric(benchmark, name, Variant.CORRECTED)
    upward = metric.larger_is_better or metric.rule == "score"
    item = better(table[benchmark][name].values[index], gain, larger_is_better=upward)
    improved = both(with_item(table, benchmark, name, index, item))
    assert all(new >= old - ROUNDING for new, old in zip(improved, both(table), strict=True))


@few
@given(st.data(), tables(), st.sampled_from([None, nan, inf]))
def test_failing_never_improves_the_corrected_score(data: st.DataObject, table: Table, failure: float | None) -> None:
    benchmark, name, index = data.draw(places(table))
    frames = FACTS.metric(benchmark, name, Variant.CORRECTED).over_frames is not None
    item: Item = failure if failure is None or not frames else [0.0, failure, 1.0]
    failed = both(with_item(table, benchmark, name, index, item))
    assert all(new <= old + ROUNDING for new, old in zip(failed, both(table), strict=True))


@few
@given(st.data(), tables())
def test_leaving_out_a_metric_or_benchmark_never_improves(data: st.DataObject, table: Table) -> None:
    benchmark, name, _ = data.draw(places(table))
    other = {"stability": {"stability": Measured([0.5], "1")}, **table}
    without = {**other, benchmark: {key: measured for key, measured in other[benchmark].items() if key != name}}
    if not any(without.values()):
        return
    assert all(new <= old + ROUNDING for new, old in zip(both(without), both(other), strict=True))


@few
@given(tables(), st.integers(1, 3), st.sampled_from(Variant))
def test_failures_beside_the_values_never_improve(table: Table, more: int, variant: Variant) -> None:
    worse = {
        benchmark: {name: m if m.groups else replace(m, n_failed=more) for name, m in metrics.items()}
        for benchmark, metrics in table.items()
    }
    assert all(new <= old + ROUNDING for new, old in zip(both(worse, variant), both(table, variant), strict=True))


@few
@given(tables(), st.randoms(), st.sampled_from(Variant))
def test_order_does_not_matter(table: Table, random: Random, variant: Variant) -> None:
    def shuffled(measured: Measured) -> Measured:
        order = list(range(len(measured.values)))
        random.shuffle(order)
        groups = None if measured.groups is None else [measured.groups[i] for i in order]
        return replace(measured, values=[measured.values[i] for i in order], groups=groups)

    moved = {name: {key: shuffled(m) for key, m in reversed(table[name].items())} for name in reversed(table)}
    assert np.allclose(both(moved, variant), both(table, variant), rtol=0, atol=ROUNDING)


@settings(max_examples=20)
@given(
    st.lists(st.floats(0, 1e300), min_size=2, max_size=8),
    st.floats(1e-300, 1e300),
    st.floats(1e-3, 1e3),
    st.sampled_from(Direction),
)
def test_item_scores_are_monotonic(values: list[float], threshold: float, alpha: float, direction: Direction) -> None:
    scores = item_scores(sorted(values), threshold, alpha, direction)
    assert ((scores >= 0) & (scores <= 1)).all()
    steps = np.diff(scores)
    assert (steps <= 0).all() if direction is Direction.SMALLER_IS_BETTER else (steps >= 0).all()
