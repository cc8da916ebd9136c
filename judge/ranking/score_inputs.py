"""The input of the scores: the metrics that a suite asks for, and a model's results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from judge.ranking.derived_values import DerivedValues
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import Answers, AskedTask, MeasuredError, RawMetric, Release, Run, RunOutcome
from tasks.kind import ScoreFamily
from tasks.kinds.registry import KINDS
from tasks.metrics.contributions import Contributing
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite, Task

# The fact of a metric that counts as the uncertainty of its references.
REFERENCE_UNCERTAINTY = "uncertainty of the references"
DEFAULT_LABELS = ("energy", "force")  # label types of a force-field task that has no results yet

Results = Mapping[tuple[str, str], Result]
"""By submission and task."""


def is_usable(baseline: float | None) -> bool:
    """True for a baseline that errors can be divided by."""
    return baseline is not None and 0 < baseline < math.inf


def default_metrics(release: Release, task: Task) -> tuple[str, ...]:
    """The metrics that a task counts while no model has any metric of it.

    Each of them then counts as missing, with its weight.
    """
    if task.traits.score is ScoreFamily.FORCE_FIELD:
        return tuple(release.force_field.columns[label] for label in DEFAULT_LABELS)
    patterns = task.traits.scored_names
    return tuple(name for name in patterns if "*" not in name) or patterns


@dataclass(frozen=True)
class Judged:
    """The results of a suite's tasks. The metrics of a task come from all results with the same label set.

    Args:
        load_items: the items table of a result; None if it cannot be read.
        problems: one line for each result or metric that cannot be scored; the methods append to it.
        kept: values of these results and items; None: they are computed.
    """

    suite: Suite
    results: Results
    load_items: Callable[[Result], Items | None]
    problems: list[str]
    kept: DerivedValues | None = None

    def counted_in(self, score: ScoreFamily) -> list[Task]:
        """The tasks that a score counts."""
        return [task for task in self.suite.tasks if task.traits.score is score and task.parameters.scored]

    def ok(self, key: str, task: str) -> Result | None:
        """The result of submission `key`, if its verdict is OK."""
        result = self.results.get((key, task))
        return result if result is not None and result.verdict is Verdict.OK else None

    def items(self, result: Result, without: str) -> Items | None:
        """The items of a result; None if it has none, or if they cannot be read. The latter is added to `problems`.

        Args:
            without: what the result lacks without its items, for that line: "no interval".
        """
        if result.provenance.observation is None:
            return None
        items = self.load_items(result)
        if items is None:
            self.problems.append(_unreadable(result, without))
        return items

    def derived(
        self, result: Result, without: str, name: str, derive: Callable[[Items], object], *parameters: object
    ) -> Any:
        """A value of the items of a result: see `DerivedValues.of`. None where `items` is None."""
        if result.provenance.observation is None:
            return None
        value = self._derived.of(result, name, derive, *parameters)
        if value is None:
            self.problems.append(_unreadable(result, without))
        return value

    def comparable(self, key: str, task: str) -> Iterator[Result]:
        """The results with metrics of a task that compare with submission `key`: its own first, then by submission.

        They have the label set of its own result, since another label set may have other labels. If no such result has
        metrics, all results of the task compare: a model that fails must not be asked for fewer metrics.
        """
        result = self.results.get((key, task))
        group = task, None if result is None else result.label_set
        if group not in self._comparable:
            measured = [other for other in self._by_task.get(task, ()) if other.metrics]
            alike = [other for other in measured if result is not None and other.label_set == result.label_set]
            self._comparable[group] = sorted(alike or measured, key=lambda other: other.submission)
        others = self._comparable[group]
        if result is None or not result.metrics:
            return iter(others)
        return chain([result], (other for other in others if other is not result))

    def metrics(self, key: str, task: str) -> Mapping[str, bool]:
        """By metric of a task, whether any comparable result has a baseline for it. Then there are such labels.

        Submissions with the same label set share one answer.
        """
        result = self.results.get((key, task))
        group = task, None if result is None else result.label_set
        if group not in self._metrics:
            has_baseline: dict[str, bool] = {}
            for other in self.comparable(key, task):
                for name, metric in other.metrics.items():
                    has_baseline[name] = has_baseline.get(name, False) or is_usable(metric.baseline)
            self._metrics[group] = dict(sorted(has_baseline.items()))
        return self._metrics[group]

    def asked_force_field(self, key: str, release: Release) -> list[AskedTask]:
        """The force-field tasks, each with the label types that its labels have."""
        columns = release.force_field.columns
        tasks = []
        for task in self.counted_in(ScoreFamily.FORCE_FIELD):
            has_baseline = self.metrics(key, task.name)
            labels = tuple(label for label, metric in columns.items() if has_baseline.get(metric))
            tasks.append(AskedTask(task.name, task.domain, labels or DEFAULT_LABELS))
        return tasks

    def asked_property(self, key: str, release: Release) -> list[AskedTask]:
        """The property tasks, each with the metrics that count."""
        tasks = []
        for task in self.counted_in(ScoreFamily.PROPERTY):
            has_baseline = self.metrics(key, task.name)
            scored = task.traits.scored(has_baseline)
            metrics = tuple(metric for metric in scored if has_baseline[metric])
            tasks.append(AskedTask(task.name, task.domain, metrics or scored or default_metrics(release, task)))
            if not scored and self.ok(key, task.name):
                fault = f"metrics: none is scored: none is called {' or '.join(task.traits.scored_names)}"
                self.problems.append(f"results/{key}/{task.name}: {fault}")
        return tasks

    def answers(self, key: str, tasks: Sequence[AskedTask], metric_of: Mapping[str, str]) -> Answers:
        """Errors by task and column, failures penalised; only tasks with verdict OK have any.

        Args:
            metric_of: by column, the metric that holds it; the column itself if it is absent.
        """
        answers: dict[str, dict[str, MeasuredError]] = {}
        for task in tasks:
            result = self.ok(key, task.name)
            metrics = {} if result is None else result.metrics
            for column in task.columns:
                name = metric_of.get(column, column)
                metric = metrics.get(name)
                if metric is None:
                    continue
                if metric.baseline is None or not is_usable(metric.baseline):
                    self.problems.append(f"results/{key}/{task.name}: metrics.{name}: no baseline to compare with")
                    continue
                raw = raw_metric(task.name, name, metric, penalised=True)
                answers.setdefault(task.name, {})[column] = MeasuredError(raw, metric.baseline)
        return answers

    def time(self, key: str, task: Task) -> float | None:
        """Mean time [µs/atom] with failure costs: W for a failed frame, the planned size for a smaller one."""
        result = self.ok(key, task.name)
        metric = None if result is None else result.metrics.get("time_mean")
        if metric is None:
            return None
        return metric.charged if metric.charged is not None or metric.n_failed else metric.value

    def runs(self, key: str, uncompleted: RunOutcome | None = None) -> list[Run]:
        """Every run of every dynamics task. The items state the outcome of each run, for any verdict of the task.

        Args:
            uncompleted: the outcome of every run that was started and not completed; None: the outcome follows from
                the cause. It does not apply to tasks without a result, nor to results whose items cannot be read.
        """
        tasks = self.counted_in(ScoreFamily.INSTABILITY)
        return [run for task in tasks for run in self._runs_of_task(key, task.name, uncompleted)]

    def n_items(self, task: str) -> int:
        """How many items a task has: the most of all its results, since a result that ended early may have none."""
        return max([result.n_items for result in self._by_task.get(task, ())] + [1])

    def _runs_of_task(self, key: str, task: str, uncompleted: RunOutcome | None) -> list[Run]:
        result = self.results.get((key, task))
        runs = None if result is None else self.derived(result, "no instability from it", "runs", _columns_of_runs)
        if runs is not None:
            ids, causes, slopes = runs
            return _runs_of(task, ids, causes, slopes, uncompleted)
        if result is None:
            outcome = RunOutcome.MISSING
        elif result.provenance.observation is not None:
            outcome = RunOutcome.UNMEASURED
        else:
            outcome = uncompleted or (
                RunOutcome.UNMEASURED if result.verdict is Verdict.TIME_LIMIT else RunOutcome.MISSING
            )
        return [Run(f"{task}: run {i}", outcome) for i in range(1, self.n_items(task) + 1)]

    @cached_property
    def contributing(self) -> list[Task]:
        """The tasks of kinds whose metrics are means over items."""
        return [task for task in self.suite.tasks if isinstance(KINDS[task.kind], Contributing)]

    @cached_property
    def _by_task(self) -> Mapping[str, Sequence[Result]]:
        by_task: dict[str, list[Result]] = {}
        for (_, task), result in self.results.items():
            by_task.setdefault(task, []).append(result)
        return by_task

    @cached_property
    def _comparable(self) -> dict[tuple[str, str | None], list[Result]]:
        return {}

    @cached_property
    def _derived(self) -> DerivedValues:
        return self.kept or DerivedValues(self.load_items)

    @cached_property
    def _metrics(self) -> dict[tuple[str, str | None], Mapping[str, bool]]:
        return {}


def raw_metric(task: str, name: str, metric: Metric, *, penalised: bool) -> RawMetric:
    """A stored metric as input of a score: over the items that succeeded, or penalised.

    A penalised error within the uncertainty of the references counts as that uncertainty, so that models which the
    references cannot tell apart have the same score.
    """
    value = metric.counted if penalised else metric.value
    facts = ((REFERENCE_UNCERTAINTY, value),) if penalised and value is not None and value != metric.charged else ()
    return RawMetric(task, name, value, metric.unit, facts, metric.n_items, metric.n_failed, metric.value)


def _unreadable(result: Result, without: str) -> str:
    return f"results/{result.submission}/{result.task}: the items table cannot be read: {without}"


def _columns_of_runs(items: Items) -> tuple[list[str], list[int], list[float]]:
    """The names, causes and slopes of the runs of a dynamics task."""
    slopes = items.columns.get("slope", np.full(len(items), np.nan))
    return list(items.id), items.cause.tolist(), slopes.tolist()


def _runs_of(
    task: str, ids: Sequence[str], causes: Sequence[int], slopes: Sequence[float], uncompleted: RunOutcome | None
) -> list[Run]:
    """The runs of one dynamics task; if several have one name, all but the first are numbered."""
    seen: Counter[str] = Counter()
    names = []
    for name in ids:
        seen[name] += 1
        names.append(f"{task}: {name}" if seen[name] == 1 else f"{task}: {name} ({seen[name]})")
    return [
        Run(name, _outcome(Cause(cause), uncompleted), slope)
        for name, cause, slope in zip(names, causes, slopes, strict=True)
    ]


def _outcome(cause: Cause, uncompleted: RunOutcome | None) -> RunOutcome:
    match cause:
        case Cause.NONE:
            return RunOutcome.COMPLETED
        case Cause.NO_FORCES if uncompleted:
            return RunOutcome.COMPLETED  # as published, its slope of zero counts
        case Cause.OVER_TIME:
            return uncompleted or RunOutcome.UNMEASURED
        case Cause.MISSING | Cause.UNSUPPORTED:
            return uncompleted or RunOutcome.MISSING
        case _:
            return uncompleted or RunOutcome.FAILED
