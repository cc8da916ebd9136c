"""Records to leaderboard: which metrics feed which score, and who is complete enough to be ranked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge.board import Leaderboard, MetricLine, Row, Scores, TaskLine
from judge.records import MetricRecord, Result
from sandbox.verdict import Verdict
from scoring import (
    Answers,
    Asked,
    Entry,
    Error,
    Fate,
    Release,
    Run,
    efficiency,
    force_field_error,
    instability,
    load_release,
    property_error,
    ranking,
)
from submissions.records import Submission
from tasks.measurement import Items
from tasks.predictions import Cause
from tasks.suite import Suite, Task

FORCE_FIELD, DYNAMICS, TIMING = "labelled_frames", "nve", "efficiency"

Results = Mapping[tuple[str, str], Result]
"""By submission and task."""


def build_leaderboard(
    suite: Suite,
    submissions: Sequence[Submission],
    results: Sequence[Result],
    load_items: Callable[[Result], Items | None],
    release: Release | None = None,
    problems: Sequence[str] = (),
) -> Leaderboard:
    """The leaderboard of a suite.

    Args:
        results: at most one of each submission and task; those of other tasks or submissions are passed over.
        load_items: the items table of a result, None where it is lost: its runs then count as not measured.
        release: of the scoring; `corrected` where None.
        problems: already known, to be shown with those found here.

    Raises:
        ScoringError: a metric that cannot be added up, naming task and field.
    """
    rules = release or load_release()
    judged = {(r.submission, r.task): r for r in results if r.submission in {s.id for s in submissions}}
    found = list(problems)
    scorer = _Scorer(suite, rules, judged, load_items, found)
    rows = {s.id: _row(s, suite, judged, scorer) for s in submissions}
    entries = [
        Entry(
            key, bool(row.tasks) and not row.shortfalls, row.scores.force_field.value, row.scores.property_error.value
        )
        for key, row in rows.items()
    ]
    placed = tuple(replace(rows[key], rank=rank) for key, rank in ranking(entries))
    shown = [line.result for row in placed for line in row.tasks if line.result is not None]
    hardware = {r.provenance.hardware for r in shown if r.kind == TIMING and r.verdict is Verdict.OK}
    measured = max((r.measured for r in shown), default=None)
    return Leaderboard(suite, rules, placed, measured, tuple(sorted(hardware)), tuple(found))


def _row(submission: Submission, suite: Suite, judged: Results, scorer: _Scorer) -> Row:
    """The row of one submission, not yet ranked."""
    lines = tuple(_line(task, judged.get((submission.id, task.name))) for task in suite.tasks)
    drivers = {line.result.provenance.driver for line in lines if line.result is not None}
    isolated = drivers <= {"docker"} and submission.image.driver == "docker"
    return Row(None, submission, scorer.scores(submission.id), lines, isolated)


def _line(task: Task, result: Result | None) -> TaskLine:
    metrics = {} if result is None else result.metrics
    return TaskLine(task, result, tuple(MetricLine(n, m, _ratio(m)) for n, m in metrics.items()))


def _ratio(metric: MetricRecord) -> float | None:
    if metric.charged is None or not _is_usable(metric.baseline):
        return None
    return metric.charged / (metric.baseline or math.nan)


def _is_usable(baseline: float | None) -> bool:
    return baseline is not None and 0 < baseline < math.inf


@dataclass(frozen=True)
class _Scorer:
    """Scores of any submission: what a task asks for is read off the results of all that have its label set."""

    suite: Suite
    release: Release
    judged: Results
    load_items: Callable[[Result], Items | None]
    problems: list[str]

    def scores(self, key: str) -> Scores:
        """The scores of submission `key`."""
        rules = self.release
        runs = self._runs(key)
        asked_ff, asked_pc = self._asked_force_field(key), self._asked_property(key)
        return Scores(
            force_field_error(asked_ff, self._answers(key, asked_ff, rules.force_field.columns), rules.force_field),
            property_error(asked_pc, self._answers(key, asked_pc, {}), rules.property_error),
            efficiency({t.name: self._time(key, t) for t in self._of(TIMING)}, rules.efficiency),
            {tolerance: instability(runs, rules.instability, tolerance) for tolerance in rules.instability.tolerances},
        )

    def _of(self, kind: str) -> list[Task]:
        return [task for task in self.suite.tasks if task.kind == kind]

    def _ok(self, key: str, task: str) -> Result | None:
        result = self.judged.get((key, task))
        return result if result is not None and result.verdict is Verdict.OK else None

    def _metrics(self, key: str, task: str) -> dict[str, bool]:
        """Metrics of a task, and whether any result has a baseline for them: then there are such labels.

        Results that were measured with the label set of submission `key` tell: another may have labels that this one
        was never held against. All tell where those have no metrics: to be refused must not mean to be asked less.
        """
        own = self.judged.get((key, task))
        measured = [result for (_, name), result in self.judged.items() if name == task and result.metrics]
        alike = [result for result in measured if own is not None and result.label_set == own.label_set]
        found: dict[str, bool] = {}
        for result in alike or measured:
            for metric, record in result.metrics.items():
                found[metric] = found.get(metric, False) or _is_usable(record.baseline)
        return found

    def _asked_force_field(self, key: str) -> list[Asked]:
        columns = self.release.force_field.columns
        asked = []
        for task in self._of(FORCE_FIELD):
            known = self._metrics(key, task.name)
            present = tuple(label for label, metric in columns.items() if known.get(metric))
            # Before anyone was judged nothing is known of the labels, and nothing depends on them.
            asked.append(Asked(task.name, task.domain, present or ("energy", "force")))
        return asked

    def _asked_property(self, key: str) -> list[Asked]:
        rule = self.release.property_error
        asked = []
        for task in self.suite.tasks:
            if task.kind not in rule.columns:
                continue
            known = self._metrics(key, task.name)
            there = rule.scored(task.kind, known)
            present = tuple(metric for metric in there if known[metric])
            patterns = rule.columns[task.kind]
            # Where nobody has a metric yet, what is asked has no answer under any name, and each name has its weight.
            named = tuple(name for name in patterns if "*" not in name) or patterns
            asked.append(Asked(task.name, task.domain, present or there or named))
            if not there and self._ok(key, task.name):
                said = f"metrics: none is scored: none is called {' or '.join(patterns)}"
                self.problems.append(f"results/{key}/{task.name}: {said}")
        return asked

    def _answers(self, key: str, asked: Sequence[Asked], metric_of: Mapping[str, str]) -> Answers:
        """Errors by task and column; only a task that came to OK has any."""
        answers: dict[str, dict[str, Error]] = {}
        for task in asked:
            result = self._ok(key, task.name)
            metrics = {} if result is None else result.metrics
            for column in task.columns:
                metric = metrics.get(metric_of.get(column, column))
                if metric is None:
                    continue
                if metric.baseline is None or not _is_usable(metric.baseline):
                    self.problems.append(f"results/{key}/{task.name}: metrics.{column}: no baseline to compare with")
                    continue
                answers.setdefault(task.name, {})[column] = Error(metric.charged, metric.baseline)
        return answers

    def _time(self, key: str, task: Task) -> float | None:
        """Mean time [µs/atom] as charged: failed frames at W, smaller ones as if they were as large as planned."""
        result = self._ok(key, task.name)
        metric = None if result is None else result.metrics.get("time_mean")
        if metric is None:
            return None
        return metric.charged if metric.charged is not None or metric.n_failed else metric.value

    def _runs(self, key: str) -> list[Run]:
        """Every run of every dynamics task. What became of each is in the items, whatever the verdict over them."""
        runs: list[Run] = []
        for task in self._of(DYNAMICS):
            result = self.judged.get((key, task.name))
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
        return max([result.n_items for (_, name), result in self.judged.items() if name == task] + [1])


def _runs_of(task: str, items: Items) -> list[Run]:
    """The trajectories of one dynamics task."""
    slopes = items.columns.get("slope", np.full(len(items), np.nan))
    return [
        Run(f"{task}: {name}", _fate(Cause(int(cause))), float(slope))
        for name, cause, slope in zip(items.id, items.cause, slopes, strict=True)
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
