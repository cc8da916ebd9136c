"""From results to what scoring is given: what the suite asks of a model, and what the model answered."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judge.records import MetricRecord, Result
from sandbox.verdict import Verdict
from scoring import Answers, Asked, Error, Fate, Release, Run
from tasks.measurement import Items
from tasks.predictions import Cause
from tasks.suite import Suite, Task

FORCE_FIELD, DYNAMICS, TIMING = "labelled_frames", "nve", "efficiency"

Results = Mapping[tuple[str, str], Result]
"""By submission and task."""


def is_usable(baseline: float | None) -> bool:
    """True for a baseline that errors can be divided by."""
    return baseline is not None and 0 < baseline < math.inf


@dataclass(frozen=True)
class Judged:
    """The results of a suite's tasks. What a task asks for is read off the results of all that have its label set.

    Args:
        load_items: the items table of a result, None where it is lost: its runs then count as not measured.
        problems: what could not be added up, a line each; more are appended.
    """

    suite: Suite
    results: Results
    load_items: Callable[[Result], Items | None]
    problems: list[str]

    def of_kind(self, kind: str) -> list[Task]:
        """The tasks of that kind."""
        return [task for task in self.suite.tasks if task.kind == kind]

    def ok(self, key: str, task: str) -> Result | None:
        """The result of submission `key`, if its verdict is OK."""
        result = self.results.get((key, task))
        return result if result is not None and result.verdict is Verdict.OK else None

    def metrics(self, key: str, task: str) -> dict[str, bool]:
        """Metrics of a task, and whether any result has a baseline for them: then there are such labels.

        Results that were measured with the label set of submission `key` tell: another may have labels that this one
        was never held against. All tell where those have no metrics: to be refused must not mean to be asked less.
        """
        own = self.results.get((key, task))
        measured = [result for (_, name), result in self.results.items() if name == task and result.metrics]
        alike = [result for result in measured if own is not None and result.label_set == own.label_set]
        found: dict[str, bool] = {}
        for result in alike or measured:
            for metric, record in result.metrics.items():
                found[metric] = found.get(metric, False) or is_usable(record.baseline)
        return found

    def asked_force_field(self, key: str, release: Release) -> list[Asked]:
        """The labelled-frames tasks, with the label types that there are labels of."""
        columns = release.force_field.columns
        asked = []
        for task in self.of_kind(FORCE_FIELD):
            known = self.metrics(key, task.name)
            present = tuple(label for label, metric in columns.items() if known.get(metric))
            # Before anyone was judged nothing is known of the labels, and nothing depends on them.
            asked.append(Asked(task.name, task.domain, present or ("energy", "force")))
        return asked

    def asked_property(self, key: str, release: Release) -> list[Asked]:
        """The property tasks, with the metrics that count."""
        rule = release.property_error
        asked = []
        for task in self.suite.tasks:
            if task.kind not in rule.columns:
                continue
            known = self.metrics(key, task.name)
            there = rule.scored(task.kind, known)
            present = tuple(metric for metric in there if known[metric])
            patterns = rule.columns[task.kind]
            # Where nobody has a metric yet, what is asked has no answer under any name, and each name has its weight.
            named = tuple(name for name in patterns if "*" not in name) or patterns
            asked.append(Asked(task.name, task.domain, present or there or named))
            if not there and self.ok(key, task.name):
                said = f"metrics: none is scored: none is called {' or '.join(patterns)}"
                self.problems.append(f"results/{key}/{task.name}: {said}")
        return asked

    def answers(self, key: str, asked: Sequence[Asked], metric_of: Mapping[str, str]) -> Answers:
        """Errors by task and column, failures charged; only a task that came to OK has any."""
        answers: dict[str, dict[str, Error]] = {}
        for task in asked:
            result = self.ok(key, task.name)
            metrics = {} if result is None else result.metrics
            for column in task.columns:
                name = metric_of.get(column, column)
                metric = metrics.get(name)
                if metric is None:
                    continue
                if metric.baseline is None or not is_usable(metric.baseline):
                    self.problems.append(f"results/{key}/{task.name}: metrics.{column}: no baseline to compare with")
                    continue
                answers.setdefault(task.name, {})[column] = _error(name, metric, metric.baseline)
        return answers

    def time(self, key: str, task: Task) -> float | None:
        """Mean time [µs/atom] as charged: failed frames at W, smaller ones as if they were as large as planned."""
        result = self.ok(key, task.name)
        metric = None if result is None else result.metrics.get("time_mean")
        if metric is None:
            return None
        return metric.charged if metric.charged is not None or metric.n_failed else metric.value

    def runs(self, key: str) -> list[Run]:
        """Every run of every dynamics task. What became of each is in the items, whatever the verdict over them."""
        runs: list[Run] = []
        for task in self.of_kind(DYNAMICS):
            result = self.results.get((key, task.name))
            items = None if result is None else self.load_items(result)
            if items is not None:
                runs += _runs_of(task.name, items)
                continue
            fate = Fate.MISSING
            if result is not None and result.provenance.observation is not None:
                lost = "the items table cannot be read: no instability from it"
                self.problems.append(f"results/{key}/{task.name}: {lost}")
                fate = Fate.UNMEASURED
            elif result is not None and result.verdict is Verdict.TIME_LIMIT:
                fate = Fate.UNMEASURED
            runs += [Run(f"{task.name}: run {i}", fate) for i in range(1, self._n_runs(task.name) + 1)]
        return runs

    def _n_runs(self, task: str) -> int:
        """How many runs a task has, from all its results: one that ended before there were items may not know."""
        return max([result.n_items for (_, name), result in self.results.items() if name == task] + [1])


def _error(name: str, metric: MetricRecord, baseline: float) -> Error:
    return Error(
        metric.charged,
        baseline,
        metric=name,
        unit=metric.unit,
        n_items=metric.n_items,
        n_failed=metric.n_failed,
        uncharged=metric.value,
    )


def _runs_of(task: str, items: Items) -> list[Run]:
    """The trajectories of one dynamics task; of several with one name, all but the first are numbered."""
    seen: Counter[str] = Counter()
    names = []
    for name in items.id:
        seen[name] += 1
        names.append(f"{task}: {name}" if seen[name] == 1 else f"{task}: {name} ({seen[name]})")
    slopes = items.columns.get("slope", np.full(len(items), np.nan))
    return [
        Run(name, _fate(Cause(int(cause))), float(slope))
        for name, cause, slope in zip(names, items.cause, slopes, strict=True)
    ]


def _fate(cause: Cause) -> Fate:
    match cause:
        case Cause.NONE:
            return Fate.COMPLETED
        case Cause.OVER_TIME:
            return Fate.UNMEASURED
        case Cause.MISSING | Cause.UNSUPPORTED:
            return Fate.MISSING
        case _:
            return Fate.FAILED
