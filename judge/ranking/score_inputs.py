"""From results to what scoring is given: what the suite asks of a model, and what the model answered."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import Answers, AskedTask, MeasuredError, RawMetric, Release, Run, RunOutcome
from tasks.kind import ScoreFamily
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite, Task

LEAST_LABELLED = ("energy", "force")  # of labelled frames, before anything is known of their labels

Results = Mapping[tuple[str, str], Result]
"""By submission and task."""


def is_usable(baseline: float | None) -> bool:
    """True for a baseline that errors can be divided by."""
    return baseline is not None and 0 < baseline < math.inf


def least_asked(release: Release, task: Task) -> tuple[str, ...]:
    """The metrics that a task is asked for at least, before anyone has any of it.

    What is asked has no answer then under any name, and each name has its weight.
    """
    if task.traits.score is ScoreFamily.FORCE_FIELD:
        return tuple(release.force_field.columns[label] for label in LEAST_LABELLED)
    patterns = task.traits.scored_names
    return tuple(name for name in patterns if "*" not in name) or patterns


@dataclass(frozen=True)
class Judged:
    """The results of a suite's tasks. What a task asks for is read off the results of all that have its label set.

    Args:
        load_items: the items table of a result; None where it cannot be read.
        problems: what could not be added up, a line each; more are appended.
    """

    suite: Suite
    results: Results
    load_items: Callable[[Result], Items | None]
    problems: list[str]

    def counted_in(self, score: ScoreFamily) -> list[Task]:
        """The tasks that a score counts."""
        return [task for task in self.suite.tasks if task.traits.score is score]

    def ok(self, key: str, task: str) -> Result | None:
        """The result of submission `key`, if its verdict is OK."""
        result = self.results.get((key, task))
        return result if result is not None and result.verdict is Verdict.OK else None

    def items(self, result: Result, without: str) -> Items | None:
        """The items of a result; None where it never had any, and where they cannot be read, which is a problem.

        Args:
            without: what there will not be without them, in words.
        """
        if result.provenance.observation is None:
            return None
        place = result.submission, result.task
        items = self._runs_read[place] if place in self._runs_read else self.load_items(result)
        if items is not None and KINDS.traits(result.kind).score is ScoreFamily.INSTABILITY:
            self._runs_read[place] = items
        if items is None:
            self.problems.append(
                f"results/{result.submission}/{result.task}: the items table cannot be read: {without}"
            )
        return items

    def telling(self, key: str, task: str) -> Iterator[Result]:
        """The results that tell what a task asks of submission `key`: its own first, then by submission.

        Those that were measured with its label set: another may have labels that this one was never held against. All
        where those have no metrics: to be refused must not mean to be asked less.
        """
        own = self.results.get((key, task))
        place = task, None if own is None else own.label_set
        if place not in self._telling:
            measured = [result for result in self._of_task.get(task, ()) if result.metrics]
            alike = [result for result in measured if own is not None and result.label_set == own.label_set]
            self._telling[place] = sorted(alike or measured, key=lambda result: result.submission)
        others = self._telling[place]
        if own is None or not own.metrics:
            return iter(others)
        return chain([own], (each for each in others if each is not own))

    def metrics(self, key: str, task: str) -> Mapping[str, bool]:
        """Metrics of a task, and whether any result has a baseline for them: then there are such labels.

        What `telling` gives hangs on the label set alone, and is read once for all that share it.
        """
        own = self.results.get((key, task))
        place = task, None if own is None else own.label_set
        if place not in self._asked:
            found: dict[str, bool] = {}
            for result in self.telling(key, task):
                for metric, record in result.metrics.items():
                    found[metric] = found.get(metric, False) or is_usable(record.baseline)
            self._asked[place] = dict(sorted(found.items()))
        return self._asked[place]

    def asked_force_field(self, key: str, release: Release) -> list[AskedTask]:
        """The labelled-frames tasks, with the label types that there are labels of."""
        columns = release.force_field.columns
        asked = []
        for task in self.counted_in(ScoreFamily.FORCE_FIELD):
            known = self.metrics(key, task.name)
            present = tuple(label for label, metric in columns.items() if known.get(metric))
            asked.append(AskedTask(task.name, task.domain, present or LEAST_LABELLED))
        return asked

    def asked_property(self, key: str, release: Release) -> list[AskedTask]:
        """The property tasks, with the metrics that count."""
        asked = []
        for task in self.counted_in(ScoreFamily.PROPERTY):
            known = self.metrics(key, task.name)
            there = task.traits.scored(known)
            present = tuple(metric for metric in there if known[metric])
            asked.append(AskedTask(task.name, task.domain, present or there or least_asked(release, task)))
            if not there and self.ok(key, task.name):
                said = f"metrics: none is scored: none is called {' or '.join(task.traits.scored_names)}"
                self.problems.append(f"results/{key}/{task.name}: {said}")
        return asked

    def answers(self, key: str, asked: Sequence[AskedTask], metric_of: Mapping[str, str]) -> Answers:
        """Errors by task and column, failures charged; only a task that came to OK has any."""
        answers: dict[str, dict[str, MeasuredError]] = {}
        for task in asked:
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
        """Mean time [µs/atom] as charged: failed frames at W, smaller ones as if they were as large as planned."""
        result = self.ok(key, task.name)
        metric = None if result is None else result.metrics.get("time_mean")
        if metric is None:
            return None
        return metric.charged if metric.charged is not None or metric.n_failed else metric.value

    def runs(self, key: str, uncompleted: RunOutcome | None = None) -> list[Run]:
        """Every run of every dynamics task. What became of each is in the items, whatever the verdict over them.

        Args:
            uncompleted: what every run counts as that was asked for and not completed, whatever the cause; None: as the
                cause says. What was never judged, or of which the items are lost, stays so.
        """
        tasks = self.counted_in(ScoreFamily.INSTABILITY)
        return [run for task in tasks for run in self._runs_of_task(key, task.name, uncompleted)]

    def n_items(self, task: str) -> int:
        """How many items a task has, from all its results: one that ended before there were items may not know."""
        return max([result.n_items for result in self._of_task.get(task, ())] + [1])

    def _runs_of_task(self, key: str, task: str, uncompleted: RunOutcome | None) -> list[Run]:
        result = self.results.get((key, task))
        items = None if result is None else self.items(result, "no instability from it")
        if items is not None:
            return _runs_of(task, items, uncompleted)
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
    def _of_task(self) -> Mapping[str, Sequence[Result]]:
        found: dict[str, list[Result]] = {}
        for (_, task), result in self.results.items():
            found.setdefault(task, []).append(result)
        return found

    @cached_property
    def _telling(self) -> dict[tuple[str, str | None], list[Result]]:
        return {}

    @cached_property
    def _runs_read(self) -> dict[tuple[str, str], Items]:
        """By submission and task. Both variants count the runs, in tables of a few rows."""
        return {}

    @cached_property
    def _asked(self) -> dict[tuple[str, str | None], Mapping[str, bool]]:
        return {}


def raw_metric(task: str, name: str, metric: Metric, *, penalised: bool) -> RawMetric:
    """A stored metric as scores take it: with failures penalised, or over the items that succeeded."""
    value = metric.charged if penalised else metric.value
    return RawMetric(task, name, value, metric.unit, (), metric.n_items, metric.n_failed, metric.value)


def _runs_of(task: str, items: Items, uncompleted: RunOutcome | None) -> list[Run]:
    """The trajectories of one dynamics task; of several with one name, all but the first are numbered."""
    seen: Counter[str] = Counter()
    names = []
    for name in items.id:
        seen[name] += 1
        names.append(f"{task}: {name}" if seen[name] == 1 else f"{task}: {name} ({seen[name]})")
    slopes = items.columns.get("slope", np.full(len(items), np.nan))
    return [
        Run(name, _outcome(Cause(int(cause)), uncompleted), float(slope))
        for name, cause, slope in zip(names, items.cause, slopes, strict=True)
    ]


def _outcome(cause: Cause, uncompleted: RunOutcome | None) -> RunOutcome:
    match cause:
        case Cause.NONE:
            return RunOutcome.COMPLETED
        case Cause.OVER_TIME:
            return uncompleted or RunOutcome.UNMEASURED
        case Cause.MISSING | Cause.UNSUPPORTED:
            return uncompleted or RunOutcome.MISSING
        case _:
            return uncompleted or RunOutcome.FAILED
