"""MLIPAudit's scores from results: a task of a suite states its MLIPAudit benchmark."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from judge.ranking.mlipaudit_values import VALUES, AuditItems, as_lists, from_lists
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
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite, Task

# What is counted of a benchmark in suites that state no release, whose reactions may have no reaction energies.
_WITHOUT_RELEASE: Mapping[str, Set[str]] = {"reactivity": {"activation_energy_abs_error"}}


def audit_facts(suite: Suite) -> MlipAuditFacts | None:
    """MLIPAudit's facts of what the suite measures; None if it measures no benchmark.

    A suite that states its release counts all benchmarks of that, another one those of 0.1.0 to 0.1.4 that it measures.

    Raises:
        ScoringError: a task names a benchmark that the release does not have, or that its kind does not measure.
    """
    named = {name for task in suite.tasks for name in task.mlipaudit}
    if not named:
        return None
    facts = load_mlipaudit(suite.mlipaudit_release or MLIPAUDIT)
    for task in suite.tasks:
        for name in task.mlipaudit:
            _check_measured(suite, task, name, facts)
    counted: dict[str, Set[str]] = {name: benchmark.metrics.keys() for name, benchmark in facts.benchmarks.items()}
    if not suite.mlipaudit_release:
        counted = {name: _WITHOUT_RELEASE.get(name, metrics) for name, metrics in counted.items() if name in named}
    kept = {
        name: benchmark.model_copy(update={"metrics": _measured_in(suite, name, benchmark.metrics, counted[name])})
        for name, benchmark in facts.benchmarks.items()
        if name in counted
    }
    slips = tuple(
        slip.model_copy(update={"metrics": metrics})
        for slip in facts.slips
        if slip.benchmark in counted and (metrics := tuple(m for m in slip.metrics if m in counted[slip.benchmark]))
    )
    return facts.model_copy(update={"benchmarks": kept, "slips": slips})


def _check_measured(suite: Suite, task: Task, benchmark: str, facts: MlipAuditFacts) -> None:
    where = f"suite {suite.name}: task {task.name}: mlipaudit"
    if benchmark not in facts.benchmarks:
        raise ScoringError(f"{where}: {facts.title} has no {benchmark}: take one of {', '.join(facts.benchmarks)}")
    kinds = {kind for readers in VALUES.get(benchmark, {}).values() for kind in readers}
    if task.kind not in kinds:
        fitting = [name for name in facts.benchmarks if any(task.kind in r for r in VALUES.get(name, {}).values())]
        one_of = f"one of {', '.join(fitting)}" if fitting else "none"
        raise ScoringError(f"{where}: {task.kind} does not measure {benchmark}: take {one_of}")


def _measured_in(
    suite: Suite, benchmark: str, metrics: Mapping[str, AuditMetric], counted: Collection[str]
) -> dict[str, AuditMetric]:
    """A benchmark's metrics that are counted, each with a source that names the tasks."""
    tasks = ", ".join(task.name for task in suite.tasks if benchmark in task.mlipaudit)
    measured = f"measured in {tasks}; " if tasks else ""
    return {
        name: metric.model_copy(update={"source": f"{measured}threshold: {metric.source}"})
        for name, metric in metrics.items()
        if name in counted
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
            if part.clusters is not None and part.measured.groups is None
        ),
    )


def _by_cluster(
    benchmark: str, metric: str, measured: Measured, clusters: Sequence[str], facts: MlipAuditFacts
) -> ClusterSums:
    """The scores of a metric's items by cluster; items with unsupported elements have no value and score 0."""
    values = np.asarray(measured.values, np.float64)
    scores = np.zeros(len(clusters))
    scores[: len(values)] = scores_of_items(values, facts.metric(benchmark, metric, Variant.CORRECTED), facts.alpha)
    names, ones = Clusters.of(clusters), np.ones(len(scores))
    return cluster_sums(benchmark, metric, names, scores, ones, limit=1.0, worst=0.0)


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
    metrics = facts.benchmarks[benchmark].metrics
    if ok is None:
        unsupported = result is not None and result.verdict is Verdict.UNSUPPORTED
        n = judged.n_items(task.name)
        n_failed, n_unsupported = (0, n) if unsupported else (n, 0)
        return {name: _MetricErrors(_lost(metric, n_failed, n_unsupported), None) for name, metric in metrics.items()}
    readers = {name: VALUES[benchmark][name][ok.kind] for name in metrics}

    def chosen(items: Items) -> dict[str, object]:
        return {name: as_lists(readers[name](items, ok, metric)) for name, metric in metrics.items()}

    stated = benchmark, ok.kind, *(metric.model_dump_json() for metric in metrics.values())
    lists = judged.derived(ok, "no MLIPAudit score", "mlipaudit", chosen, *stated)
    if lists is None:
        return None
    return {name: _errors(from_lists(lists[name]), metric, ok) for name, metric in metrics.items()}


def _lost(metric: AuditMetric, n_failed: int, n_unsupported: int) -> Measured:
    """Items without values; a metric by groups has one group of them."""
    if metric.by_group is None:
        return Measured(np.empty(0), metric.unit, n_failed, n_unsupported)
    return Measured([None], metric.unit, groups=["all"])


def _errors(chosen: AuditItems, metric: AuditMetric, result: Result) -> _MetricErrors:
    """The values of the items that count: NaN for a failed one; those with unsupported elements are only counted."""
    unsupported = np.asarray(chosen.cause == Cause.UNSUPPORTED)
    if metric.by_group is not None:
        unsupported = np.zeros_like(unsupported)  # they belong to their groups, and have failed
    kept, left = np.flatnonzero(~unsupported).tolist(), np.flatnonzero(unsupported).tolist()
    names = [f"{result.task}: {chosen.clusters[i]}" for i in (*kept, *left)]
    measured = Measured(
        chosen.values[kept],
        metric.unit,
        n_unsupported=len(left),
        groups=None if chosen.groups is None else [chosen.groups[i] for i in kept],
        any_nan=bool((chosen.cause == Cause.NON_FINITE).any()) or chosen.any_constant,
        any_error=bool((chosen.cause == Cause.ERROR).any()),
        sets=None if chosen.sets is None else [chosen.sets[i] for i in kept],
        seen=None if chosen.seen is None else chosen.seen[kept],
    )
    return _MetricErrors(measured, tuple(names))


def _merged(tables: Sequence[Mapping[str, _MetricErrors]], elements_per_item: bool) -> dict[str, _MetricErrors]:
    """The items of all tasks of a benchmark.

    Args:
        elements_per_item: False: an item with unsupported elements counts as failed.
    """
    merged = {}
    for metric in tables[0]:
        parts = [table[metric].measured for table in tables]
        n_failed, n_unsupported = sum(part.n_failed for part in parts), sum(part.n_unsupported for part in parts)
        counts = (n_failed, n_unsupported) if elements_per_item else (n_failed + n_unsupported, 0)
        whole = parts[0] if len(parts) == 1 else _joined(parts)
        measured = replace(whole, n_failed=counts[0], n_unsupported=counts[1])
        merged[metric] = _MetricErrors(measured, _clusters([table[metric] for table in tables]))
    return merged


def _joined(parts: Sequence[Measured]) -> Measured:
    """The values of several tasks; as the program sees them, where it differs in one of the tasks."""
    seen = None
    if any(part.seen is not None for part in parts):
        seen = np.concatenate([np.asarray(part.values if part.seen is None else part.seen, float) for part in parts])
    return Measured(
        np.concatenate([np.asarray(part.values, np.float64) for part in parts]),
        parts[0].unit,
        groups=_all_of([part.groups for part in parts]),
        any_nan=any(part.any_nan for part in parts),
        any_error=any(part.any_error for part in parts),
        sets=_all_of([part.sets for part in parts]),
        seen=seen,
    )


def _all_of(names: Sequence[Sequence[str] | None]) -> list[str] | None:
    return None if any(each is None for each in names) else [name for each in names for name in each or ()]


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
