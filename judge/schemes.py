"""One store of results, added up: the trees of scores of each submission, corrected and as LAMBench publishes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judge.answers import FORCE_FIELD, TIMING, Judged, is_usable
from judge.board import Scores
from judge.published_names import metric_of
from judge.records import MetricRecord, Result
from scoring import (
    Answers,
    Asked,
    Error,
    Fate,
    Node,
    Release,
    dropped_domains,
    efficiency_tree,
    explained,
    force_field_tree,
    instability_tree,
    load_release,
    property_tree,
)
from tasks.suite import Suite, Task

DEFAULT_PUBLISHED = "lambench-0.3.1"
# Where a release says nothing of a task: the kinds whose errors LAMBench divides by the success rate.
_DIVIDED = frozenset({"phonons", "elasticity"})


@dataclass(frozen=True)
class Trees:
    """The scores of one submission, as trees.

    Args:
        instability: by tolerance, the default first.
    """

    force_field: Node
    property_error: Node
    efficiency: Node
    instability: Mapping[float, Node]

    def scores(self) -> Scores:
        """Their values, explained."""
        return Scores(
            explained(self.force_field),
            explained(self.property_error),
            explained(self.efficiency),
            {tolerance: explained(tree) for tolerance, tree in self.instability.items()},
        )

    def by_name(self, name: str) -> Node:
        """The tree of that name, as `judge.board.Scores` has it; of the instability, that at the default tolerance."""
        if name == "instability":
            return next(iter(self.instability.values()))
        tree: Node = getattr(self, name)
        return tree


def corrected_trees(judged: Judged, key: str, release: Release) -> Trees:
    """The scores of submission `key` by this judge's rules.

    Raises:
        ScoringError: a metric that cannot be added up, naming task and field.
    """
    asked_ff, asked_pc = judged.asked_force_field(key, release), judged.asked_property(key, release)
    runs = judged.runs(key)
    times = {task.name: judged.time(key, task) for task in judged.of_kind(TIMING)}
    return Trees(
        force_field_tree(asked_ff, judged.answers(key, asked_ff, release.force_field.columns), release.force_field),
        property_tree(asked_pc, judged.answers(key, asked_pc, {}), release.property_error),
        efficiency_tree(times, release.efficiency, "time_mean"),
        {t: instability_tree(runs, release.instability, t) for t in release.instability.tolerances},
    )


def published_release(suite: Suite) -> Release:
    """The release whose rules the suite's tasks were published under; LAMBench's latest full one where it names none.

    Raises:
        ScoringError: the suite names a release that is not known.
    """
    return load_release(suite.release or DEFAULT_PUBLISHED)


def published_trees(judged: Judged, keys: Sequence[str], release: Release, corrected: Release) -> dict[str, Trees]:
    """The scores of each submission as LAMBench would publish them: of what succeeded alone, failures not charged.

    A task that the release has facts of (`Task.release_name`) is held against its published baselines and columns;
    any other against its own baselines, in the metrics that `corrected` scores.

    Raises:
        ScoringError: a metric that cannot be added up, naming task and field.
    """
    reader = _Published(judged, release, corrected)
    asked_pc = {key: reader.asked_property(key) for key in keys}
    answers_pc = {key: reader.answers(key, asked_pc[key]) for key in keys}
    dropped: Mapping[str, str] = {}
    if release.property_error.missing_domain == "drop_domain_for_all_models":
        dropped = dropped_domains(asked_pc, answers_pc)
    found = {}
    for key in keys:
        asked_ff = reader.asked_force_field(key)
        runs = [r._replace(fate=r.fate if r.fate is Fate.COMPLETED else Fate.FAILED) for r in judged.runs(key)]
        found[key] = Trees(
            force_field_tree(asked_ff, reader.answers(key, asked_ff), release.force_field),
            property_tree(asked_pc[key], answers_pc[key], release.property_error, dropped),
            efficiency_tree(
                {t.name: reader.time(key, t) for t in judged.of_kind(TIMING)}, release.efficiency, "time_mean"
            ),
            {t: instability_tree(runs, release.instability, t) for t in release.instability.tolerances},
        )
    return found


@dataclass(frozen=True)
class _Published:
    """Reads results as a release does."""

    judged: Judged
    release: Release
    corrected: Release

    def asked_force_field(self, key: str) -> list[Asked]:
        asked = []
        for task in self.judged.asked_force_field(key, self.corrected):
            facts = self.release.force_field_tasks.get(self._task(task.name).release_name)
            labels = facts and tuple(label for label in self.release.force_field.columns if getattr(facts, label))
            asked.append(Asked(task.name, task.domain, labels or task.columns))
        return asked

    def asked_property(self, key: str) -> list[Asked]:
        asked = []
        for task in self.judged.asked_property(key, self.corrected):
            own = self._task(task.name)
            facts = self.release.property_tasks.get(own.release_name)
            columns = facts and tuple(metric_of(own.kind, column) for column in facts.baselines)
            asked.append(Asked(task.name, task.domain, columns or task.columns))
        return asked

    def answers(self, key: str, asked: Sequence[Asked]) -> Answers:
        """Errors over what succeeded, by task and column."""
        answers: dict[str, dict[str, Error]] = {}
        for task in asked:
            own, result = self._task(task.name), self.judged.ok(key, task.name)
            if result is None:
                continue
            for column in task.columns:
                name = self.corrected.force_field.columns[column] if own.kind == FORCE_FIELD else column
                metric = result.metrics.get(name)
                baseline = self._baseline(own, column, metric, result) if metric else None
                if metric is None or baseline is None or not is_usable(baseline):
                    continue
                answers.setdefault(task.name, {})[column] = Error(
                    metric.value,
                    baseline,
                    self._success_rate(own, result),
                    name,
                    metric.unit,
                    metric.n_items,
                    metric.n_failed,
                    metric.value,
                )
        return answers

    def time(self, key: str, task: Task) -> float | None:
        """Mean time [µs/atom] of the frames that succeeded."""
        result = self.judged.ok(key, task.name)
        metric = result.metrics.get("time_mean") if result else None
        return metric.value if metric else None

    def _task(self, name: str) -> Task:
        return next(task for task in self.judged.suite.tasks if task.name == name)

    def _baseline(self, task: Task, column: str, metric: MetricRecord, result: Result) -> float | None:
        if task.kind == FORCE_FIELD:
            labelled = self.release.force_field_tasks.get(task.release_name)
            omol, other = self.release.published.label_sets
            is_omol = result.label_set.replace("ω", "w").startswith(omol)
            return labelled.baseline(column, omol if is_omol else other) if labelled else metric.baseline
        facts = self.release.property_tasks.get(task.release_name)
        if facts is None:
            return metric.baseline
        return next((b for name, b in facts.baselines.items() if metric_of(task.kind, name) == column), None)

    def _success_rate(self, task: Task, result: Result) -> float:
        facts = self.release.property_tasks.get(task.release_name)
        divides = bool(facts.success_rate) if facts else task.kind in _DIVIDED
        if not (divides and self.release.property_error.divided_by_success_rate and result.n_items):
            return 1.0
        return 1.0 - sum(result.failures.values()) / result.n_items
