"""Results added up as MLIPAudit does it: a task of a suite says which of its benchmarks it belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from judge.ranking.score_inputs import Judged
from judge.ranking.score_trees import ScoreTrees
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import ScoringError
from scoring.clusters import ClusterSums, cluster_sums
from scoring.mlipaudit import (
    AuditMetric,
    Measured,
    MlipAuditFacts,
    load_mlipaudit,
    mlipaudit_trees,
    scores_of_items,
)
from scoring.names import COMPATIBLE, MLIPAUDIT, Variant
from submissions.records import Submission
from tasks.metrics.measurement import Items
from tasks.structures.frames import Bool
from tasks.structures.predictions import Cause
from tasks.structures.units import ENERGY_UNITS
from tasks.suites.suite import Suite, Task

# By benchmark of MLIPAudit and its metric, the column of a task's items that holds the errors.
_ERRORS: Mapping[str, Mapping[str, str]] = {
    "noncovalent_interactions": {"interaction_energy_abs_error": "error"},
    "dihedral_scan": {"barrier_height_abs_error": "barrier_error"},
    "tautomers": {"abs_deviation": "error"},
    "reactivity": {"activation_energy_abs_error": "error"},
}
_PROFILE_UNIT = "kcal/mol"  # of the barrier errors of scans


def audit_facts(suite: Suite) -> MlipAuditFacts | None:
    """MLIPAudit's facts of the benchmarks, and of their metrics, that the suite measures; None where it has none.

    Raises:
        ScoringError: a task names a benchmark that MLIPAudit does not have, or that this judge has no errors for.
    """
    facts = load_mlipaudit()
    named = {task.mlipaudit for task in suite.tasks if task.mlipaudit}
    if unknown := sorted(named - set(_ERRORS)):
        known = ", ".join(_ERRORS)
        raise ScoringError(f"suite {suite.name}: mlipaudit: {', '.join(unknown)} is not measured: take one of {known}")
    if not named:
        return None
    kept = {
        name: of.model_copy(update={"metrics": _measured_in(suite, name, of.metrics)})
        for name, of in facts.benchmarks.items()
        if name in named
    }
    slips = tuple(s for s in facts.slips if s.benchmark in named and set(s.metrics) <= set(_ERRORS[s.benchmark]))
    return facts.model_copy(update={"benchmarks": kept, "slips": slips})


def _measured_in(suite: Suite, benchmark: str, metrics: Mapping[str, AuditMetric]) -> dict[str, AuditMetric]:
    """Those of a benchmark's metrics that are measured, with the tasks that they are measured in."""
    tasks = ", ".join(task.name for task in suite.tasks if task.mlipaudit == benchmark)
    return {
        name: of.model_copy(update={"source": f"measured in {tasks}; threshold: {of.source}"})
        for name, of in metrics.items()
        if name in _ERRORS[benchmark]
    }


def audit_trees(judged: Judged, facts: MlipAuditFacts | None, submission: Submission) -> ScoreTrees:
    """The trees of a submission over all and over compatible benchmarks.

    None where the model has nothing to show in any benchmark; nor where items are lost: no fault of its own.

    Raises:
        ScoringError: errors that cannot be scored.
    """
    if facts is None:
        return ScoreTrees()
    shown: dict[str, Mapping[str, _Shown]] = {}
    incompatible: set[str] = set()
    for name, benchmark in facts.benchmarks.items():
        tasks = [task for task in judged.suite.tasks if task.mlipaudit == name]
        results = [judged.results.get((submission.id, task.name)) for task in tasks]
        verdicts = {None if result is None else result.verdict for result in results}
        if verdicts == {Verdict.UNSUPPORTED} and not benchmark.elements_per_item:
            incompatible.add(name)
        elif verdicts & {Verdict.OK, Verdict.UNSUPPORTED}:
            tables = [_shown(judged, submission.id, task, facts) for task in tasks]
            there = [table for table in tables if table is not None]
            if len(there) < len(tables):
                return ScoreTrees()
            shown[name] = _merged(there, benchmark.elements_per_item)
    if not shown:
        return ScoreTrees()
    measured = {name: {metric: of.measured for metric, of in table.items()} for name, table in shown.items()}

    trees = mlipaudit_trees(measured, facts, incompatible)
    corrected, as_published = (
        {MLIPAUDIT: trees[variant, False], COMPATIBLE: trees[variant, True]}
        for variant in (Variant.CORRECTED, Variant.AS_PUBLISHED)
    )
    return ScoreTrees(
        corrected,
        as_published,
        tuple(
            _by_cluster(name, metric, of, of.clusters, facts)
            for name, table in shown.items()
            for metric, of in table.items()
            if of.clusters is not None
        ),
    )


def _by_cluster(
    benchmark: str, metric: str, shown: _Shown, clusters: Sequence[str], facts: MlipAuditFacts
) -> ClusterSums:
    """The scores of a metric's items by cluster; those of unknown elements, which have no value, score 0."""
    found = facts.metric(benchmark, metric, Variant.CORRECTED)
    values = np.asarray(shown.measured.values, np.float64)
    scores = np.zeros(len(clusters))
    scores[: len(values)] = scores_of_items(values, found, facts.alpha)
    return cluster_sums(benchmark, metric, clusters, scores)


class _Shown(NamedTuple):
    """What a model has to show in one metric of a benchmark.

    Args:
        clusters: of the items that have a place among the values, then of those of unknown elements; None where a task
            did not come to items.
    """

    measured: Measured
    clusters: tuple[str, ...] | None


def _shown(judged: Judged, key: str, task: Task, facts: MlipAuditFacts) -> dict[str, _Shown] | None:
    """What a model has to show in one task of a benchmark, by metric; None where its items are lost.

    Where the task did not come to OK, every item has failed, or none of its elements is known.
    """
    result, ok = judged.results.get((key, task.name)), judged.ok(key, task.name)
    units = {metric: of.unit for metric, of in facts.benchmarks[task.mlipaudit].metrics.items()}
    if ok is None:
        unknown = result is not None and result.verdict is Verdict.UNSUPPORTED
        n = judged.n_items(task.name)
        n_failed, n_unsupported = (0, n) if unknown else (n, 0)
        return {
            metric: _Shown(Measured(np.empty(0), unit, n_failed, n_unsupported), None) for metric, unit in units.items()
        }
    items = judged.items(ok, "no MLIPAudit score")
    if items is None:
        return None
    columns = _ERRORS[task.mlipaudit]
    return {metric: _errors(items, columns[metric], ok, unit) for metric, unit in units.items()}


def _errors(items: Items, column: str, result: Result, unit: str) -> _Shown:
    """The absolute errors in `unit`; NaN for an item that failed, and those of unknown elements counted beside.

    Raises:
        ScoringError: the items have no such errors, or in no unit that can be converted.
    """
    where = f"task {result.task}: items: {column}"
    if column not in items.columns:
        raise ScoringError(f"{where}: is missing: measure it again, or take mlipaudit from the task")
    own = result.notes.get("items in", "") if result.kind == "energy_differences" else _PROFILE_UNIT
    if own not in ENERGY_UNITS or unit not in ENERGY_UNITS:
        raise ScoringError(f"{where}: cannot be converted from {own or 'a unit that is not noted'} to {unit}")
    own_items = _of_one_quantity(items, where)
    unknown = own_items & (items.cause == Cause.UNSUPPORTED)
    known = own_items & ~unknown
    errors = np.abs(items.columns[column][known]) * (ENERGY_UNITS[own] / ENERGY_UNITS[unit])
    values = np.where(np.isfinite(errors), errors, np.nan)
    clusters = tuple(f"{result.task}: {items.cluster[i]}" for i in (*np.flatnonzero(known), *np.flatnonzero(unknown)))
    return _Shown(Measured(values, unit, n_unsupported=int(unknown.sum())), clusters)


def _of_one_quantity(items: Items, where: str) -> Bool:
    """(k,) which items are of the quantity that is scored: all, or the barriers where there are several quantities.

    Raises:
        ScoringError: there are several, and not one of them is the barrier.
    """
    quantities = [name for name in items.columns if name.endswith("_count")]
    if len(quantities) < 2:
        return np.ones(len(items), np.bool_)
    barriers = [name for name in quantities if name.startswith("barrier")]
    if len(barriers) != 1:
        raise ScoringError(
            f"{where}: of {len(quantities)} quantities, {len(barriers)} are barriers: name one of them so"
        )
    return items.columns[barriers[0]] > 0


def _merged(tables: Sequence[Mapping[str, _Shown]], elements_per_item: bool) -> dict[str, _Shown]:
    """The items of all tasks of a benchmark; an item of unknown elements has failed unless they may be left out."""
    merged = {}
    for metric in tables[0]:
        parts = [table[metric].measured for table in tables]
        values = np.concatenate([part.values for part in parts])
        n_failed, n_unsupported = sum(part.n_failed for part in parts), sum(part.n_unsupported for part in parts)
        beside = (n_failed, n_unsupported) if elements_per_item else (n_failed + n_unsupported, 0)
        measured = Measured(values, parts[0].unit, *beside)
        merged[metric] = _Shown(measured, _clusters([table[metric] for table in tables]))
    return merged


def _clusters(parts: Sequence[_Shown]) -> tuple[str, ...] | None:
    """The clusters of all parts in the order of their items together: first those with a value."""
    with_value: list[str] = []
    without: list[str] = []
    for part in parts:
        if part.clusters is None:
            return None
        n = len(part.measured.values)
        with_value += part.clusters[:n]
        without += part.clusters[n:]
    return (*with_value, *without)
