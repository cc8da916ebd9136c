"""MLIPAudit's scores from results: a task of a suite states its MLIPAudit benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from judge.ranking.score_inputs import Judged
from judge.ranking.score_trees import ScoreTrees
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import ScoringError
from scoring.clusters import Clusters, ClusterSums, cluster_sums
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
    """MLIPAudit's facts of the benchmarks and metrics that the suite measures; None if it measures none.

    Raises:
        ScoringError: a task names a benchmark that MLIPAudit does not have, or that this judge does not measure.
    """
    facts = load_mlipaudit(suite.mlipaudit_release)
    named = {name for task in suite.tasks for name in task.mlipaudit}
    if unknown := sorted(named - set(_ERRORS)):
        known = ", ".join(_ERRORS)
        raise ScoringError(f"suite {suite.name}: mlipaudit: {', '.join(unknown)} is not measured: take one of {known}")
    if not named:
        return None
    kept = {
        name: benchmark.model_copy(update={"metrics": _measured_in(suite, name, benchmark.metrics)})
        for name, benchmark in facts.benchmarks.items()
        if name in named
    }
    slips = tuple(
        slip.model_copy(update={"metrics": metrics})
        for slip in facts.slips
        if slip.benchmark in named and (metrics := tuple(m for m in slip.metrics if m in _ERRORS[slip.benchmark]))
    )
    return facts.model_copy(update={"benchmarks": kept, "slips": slips})


def _measured_in(suite: Suite, benchmark: str, metrics: Mapping[str, AuditMetric]) -> dict[str, AuditMetric]:
    """A benchmark's metrics that the suite measures, each with a source that names the tasks."""
    tasks = ", ".join(task.name for task in suite.tasks if benchmark in task.mlipaudit)
    return {
        name: metric.model_copy(update={"source": f"measured in {tasks}; threshold: {metric.source}"})
        for name, metric in metrics.items()
        if name in _ERRORS[benchmark]
    }


def audit_trees(judged: Judged, facts: MlipAuditFacts | None, submission: Submission) -> ScoreTrees:
    """The trees of a submission over all and over compatible benchmarks.

    No trees if no benchmark was run, or if the items of one cannot be read, which is not the model's fault.

    Raises:
        ScoringError: errors that cannot be scored.
    """
    if facts is None:
        return ScoreTrees()
    errors: dict[str, Mapping[str, _MetricErrors]] = {}
    incompatible: set[str] = set()
    for name, benchmark in facts.benchmarks.items():
        tasks = [task for task in judged.suite.tasks if name in task.mlipaudit]
        results = [judged.results.get((submission.id, task.name)) for task in tasks]
        verdicts = {None if result is None else result.verdict for result in results}
        if verdicts == {Verdict.UNSUPPORTED} and not benchmark.elements_per_item:
            incompatible.add(name)
        elif verdicts & {Verdict.OK, Verdict.UNSUPPORTED}:
            tables = [_task_errors(judged, submission.id, task, name, facts) for task in tasks]
            readable = [table for table in tables if table is not None]
            if len(readable) < len(tables):
                return ScoreTrees()
            errors[name] = _merged(readable, benchmark.elements_per_item)
    if not errors:
        return ScoreTrees()
    measured = {name: {metric: part.measured for metric, part in table.items()} for name, table in errors.items()}
    trees = mlipaudit_trees(measured, facts, incompatible)
    corrected, as_published = (
        {MLIPAUDIT: trees[variant, False], COMPATIBLE: trees[variant, True]}
        for variant in (Variant.CORRECTED, Variant.AS_PUBLISHED)
    )
    return ScoreTrees(
        corrected,
        as_published,
        tuple(
            _by_cluster(name, metric, part.measured, part.clusters, facts)
            for name, table in errors.items()
            for metric, part in table.items()
            if part.clusters is not None
        ),
    )


def _by_cluster(
    benchmark: str, metric: str, measured: Measured, clusters: Sequence[str], facts: MlipAuditFacts
) -> ClusterSums:
    """The scores of a metric's items by cluster; items with unsupported elements have no value and score 0."""
    values = np.asarray(measured.values, np.float64)
    scores = np.zeros(len(clusters))
    scores[: len(values)] = scores_of_items(values, facts.metric(benchmark, metric, Variant.CORRECTED), facts.alpha)
    return cluster_sums(benchmark, metric, Clusters.of(clusters), scores, np.ones(len(scores)), limit=1.0)


class _MetricErrors(NamedTuple):
    """A model's errors in one metric of a benchmark.

    Args:
        clusters: the cluster of each item: first the items among the values, then the items with unsupported elements;
            None if a task has no items.
    """

    measured: Measured
    clusters: tuple[str, ...] | None


def _task_errors(
    judged: Judged, key: str, task: Task, benchmark: str, facts: MlipAuditFacts
) -> dict[str, _MetricErrors] | None:
    """By metric, a model's errors in one task of a benchmark; None if its items cannot be read.

    If the verdict is not OK, every item has failed; if it is UNSUPPORTED, every item has unsupported elements.
    """
    result, ok = judged.results.get((key, task.name)), judged.ok(key, task.name)
    units = {name: metric.unit for name, metric in facts.benchmarks[benchmark].metrics.items()}
    if ok is None:
        unsupported = result is not None and result.verdict is Verdict.UNSUPPORTED
        n = judged.n_items(task.name)
        n_failed, n_unsupported = (0, n) if unsupported else (n, 0)
        return {
            metric: _MetricErrors(Measured(np.empty(0), unit, n_failed, n_unsupported), None)
            for metric, unit in units.items()
        }
    items = judged.items(ok, "no MLIPAudit score")
    if items is None:
        return None
    columns = _ERRORS[benchmark]
    return {metric: _errors(items, columns[metric], ok, unit) for metric, unit in units.items()}


def _errors(items: Items, column: str, result: Result, unit: str) -> _MetricErrors:
    """The absolute errors in `unit`: NaN for a failed item; items with unsupported elements are only counted.

    Raises:
        ScoringError: the items have no such errors, or their unit cannot be converted.
    """
    where = f"task {result.task}: items: {column}"
    if column not in items.columns:
        raise ScoringError(f"{where}: is missing: measure it again, or take mlipaudit from the task")
    items_unit = result.notes.get("items in", "") if result.kind == "energy_differences" else _PROFILE_UNIT
    if items_unit not in ENERGY_UNITS or unit not in ENERGY_UNITS:
        raise ScoringError(f"{where}: cannot be converted from {items_unit or 'a unit that is not noted'} to {unit}")
    scored = _scored_items(items, where)
    unsupported = scored & (items.cause == Cause.UNSUPPORTED)
    supported = scored & ~unsupported
    errors = np.abs(items.columns[column][supported]) * (ENERGY_UNITS[items_unit] / ENERGY_UNITS[unit])
    values = np.where(np.isfinite(errors), errors, np.nan)
    order = (*np.flatnonzero(supported), *np.flatnonzero(unsupported))
    clusters = tuple(f"{result.task}: {items.cluster[i]}" for i in order)
    any_nan = bool((scored & (items.cause == Cause.NON_FINITE)).any())
    return _MetricErrors(Measured(values, unit, n_unsupported=int(unsupported.sum()), any_nan=any_nan), clusters)


def _scored_items(items: Items, where: str) -> Bool:
    """(k,) True for the items that are scored: all, or the barriers if the task has several quantities.

    Raises:
        ScoringError: there are several quantities, and none or more than one of them is a barrier.
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


def _merged(tables: Sequence[Mapping[str, _MetricErrors]], elements_per_item: bool) -> dict[str, _MetricErrors]:
    """The items of all tasks of a benchmark.

    Args:
        elements_per_item: False: an item with unsupported elements counts as failed.
    """
    merged = {}
    for metric in tables[0]:
        parts = [table[metric].measured for table in tables]
        values = np.concatenate([part.values for part in parts])
        n_failed, n_unsupported = sum(part.n_failed for part in parts), sum(part.n_unsupported for part in parts)
        counts = (n_failed, n_unsupported) if elements_per_item else (n_failed + n_unsupported, 0)
        measured = Measured(values, parts[0].unit, *counts, any_nan=any(part.any_nan for part in parts))
        merged[metric] = _MetricErrors(measured, _clusters([table[metric] for table in tables]))
    return merged


def _clusters(parts: Sequence[_MetricErrors]) -> tuple[str, ...] | None:
    """The clusters of the items of all parts: first the items with a value, then the others; see `_MetricErrors`."""
    with_value: list[str] = []
    without: list[str] = []
    for part in parts:
        if part.clusters is None:
            return None
        n = len(part.measured.values)
        with_value += part.clusters[:n]
        without += part.clusters[n:]
    return (*with_value, *without)
