"""One store of results, added up: the trees of scores of each submission, corrected and as LAMBench publishes them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from judge.ranking.published_names import check_unit, metric_of
from judge.ranking.score_inputs import Judged, is_usable, raw_metric
from judge.records.records import Result
from scoring import (
    Answers,
    AskedTask,
    MeasuredError,
    Node,
    Release,
    Run,
    RunOutcome,
    ScoringError,
    dropped_domains,
    efficiency_tree,
    force_field_tree,
    instability_tree,
    load_release,
    property_tree,
)
from scoring.names import EFFICIENCY, FORCE_FIELD, INSTABILITY, PROPERTY_ERROR, instability_at
from tasks.kind import ScoreFamily
from tasks.kinds.registry import KINDS
from tasks.metrics.metric import Metric
from tasks.suites.suite import Suite, Task

DEFAULT_PUBLISHED = "lambench-0.3.1"
AS_IT_IS = 1.0  # what a release divides an error by that it states no baseline of
# Where a release says nothing of a task: the kinds whose errors LAMBench divides by the success rate.
_DIVIDED = frozenset({"phonons", "elasticity"})


def corrected_trees(judged: Judged, key: str, release: Release) -> dict[str, Node]:
    """The scores of submission `key` by this judge's rules.

    Raises:
        ScoringError: a metric that cannot be added up, naming submission, release, task and field.
    """
    asked_ff, asked_pc = judged.asked_force_field(key, release), judged.asked_property(key, release)
    runs = judged.runs(key)
    times = {task.name: judged.time(key, task) for task in judged.counted_in(ScoreFamily.EFFICIENCY)}
    with _named(key, release):
        return _trees(
            release,
            force_field_tree(asked_ff, judged.answers(key, asked_ff, release.force_field.columns), release.force_field),
            property_tree(asked_pc, judged.answers(key, asked_pc, {}), release.property_error),
            times,
            runs,
        )


def published_release(suite: Suite) -> Release:
    """The release whose rules the suite's tasks were published under; LAMBench's latest full one where it names none.

    Raises:
        ScoringError: the suite names a release that is not known.
    """
    return load_release(suite.release or DEFAULT_PUBLISHED)


def published_trees(
    judged: Judged,
    keys: Sequence[str],
    release: Release,
    corrected: Release,
    apart: Collection[str] = (),
) -> dict[str, dict[str, Node]]:
    """The scores of each submission as LAMBench would publish them: of what succeeded alone, failures not charged.

    A task that the release has facts of (`Task.release_name`) is held against its published baselines and columns;
    any other against its own baselines, in the metrics that `corrected` scores. Kinds from other packages have no part.

    Of dynamics, every run that was not completed is a failed one.

    Args:
        apart: those of `keys` that drop no domain for others, whatever they lack.

    Raises:
        ScoringError: a metric that cannot be added up, naming submission, release, task and field.
    """
    reader = _Published(judged, release, corrected)
    asked_pc = {key: reader.asked_property(key) for key in keys}
    answers_pc = {}
    for key in keys:
        with _named(key, release):
            answers_pc[key] = reader.answers(key, asked_pc[key])
            dropped_domains({key: asked_pc[key]}, {key: answers_pc[key]})  # reads them, in whose name they are at fault
    dropped: Mapping[str, str] = {}
    if release.property_error.missing_domain == "drop_domain_for_all_models":
        dropped = dropped_domains({key: of for key, of in asked_pc.items() if key not in apart}, answers_pc)
    found = {}
    for key in keys:
        asked_ff, runs = reader.asked_force_field(key), judged.runs(key, uncompleted=RunOutcome.FAILED)
        times = {task.name: reader.time(key, task) for task in judged.counted_in(ScoreFamily.EFFICIENCY)}
        with _named(key, release):
            found[key] = _trees(
                release,
                force_field_tree(asked_ff, reader.answers(key, asked_ff), release.force_field),
                property_tree(asked_pc[key], answers_pc[key], release.property_error, dropped),
                times,
                runs,
            )
    return found


def _trees(
    release: Release,
    force_field: Node,
    property_error: Node,
    times: Mapping[str, float | None],
    runs: Sequence[Run],
) -> dict[str, Node]:
    """The trees by key; those without a source of their own have that of the release."""
    rule = release.instability
    trees = {
        FORCE_FIELD: force_field,
        PROPERTY_ERROR: property_error,
        EFFICIENCY: efficiency_tree(times, release.efficiency, "time_mean"),
        INSTABILITY: instability_tree(runs, rule),
    }
    trees |= {instability_at(t): instability_tree(runs, rule, t) for t in rule.tolerances[1:]}
    return {key: replace(tree, source=tree.source or release.source) for key, tree in trees.items()}


@contextmanager
def _named(key: str, release: Release) -> Iterator[None]:
    """What cannot be added up is named with submission and release."""
    try:
        yield
    except ScoringError as error:
        raise ScoringError(f"results/{key}: release {release.name}: {error}") from None


@dataclass(frozen=True)
class _Published:
    """Reads results as a release does."""

    judged: Judged
    release: Release
    corrected: Release

    def asked_force_field(self, key: str) -> list[AskedTask]:
        asked = []
        for task in self.judged.asked_force_field(key, self.corrected):
            own, result = self._tasks[task.name], self.judged.results.get((key, task.name))
            facts = self.release.force_field_tasks.get(own.release_name)
            label_set = self._label_set(result)
            labels = facts and tuple(n for n in self.release.force_field.columns if facts.baseline(n, label_set))
            asked.append(AskedTask(task.name, task.domain, labels or task.columns))
        return asked

    def asked_property(self, key: str) -> list[AskedTask]:
        asked = []
        for task in self.judged.asked_property(key, self.corrected):
            own = self._tasks[task.name]
            if own.kind not in KINDS.built_in:
                continue  # no release knows a kind that another package brings
            facts = self.release.property_tasks.get(own.release_name)
            columns = facts and tuple(metric_of(own.kind, column) for column in facts.baselines)
            asked.append(AskedTask(task.name, task.domain, columns or task.columns))
        return asked

    def answers(self, key: str, asked: Sequence[AskedTask]) -> Answers:
        """Errors over what succeeded, by task and column."""
        answers: dict[str, dict[str, MeasuredError]] = {}
        for task in asked:
            own, result = self._tasks[task.name], self.judged.ok(key, task.name)
            if result is None:
                continue
            in_force_field = own.traits.score is ScoreFamily.FORCE_FIELD
            for column in task.columns:
                name = self.corrected.force_field.columns[column] if in_force_field else column
                metric = result.metrics.get(name)
                baseline = self._baseline(own, column, metric, result) if metric else None
                if metric is None or baseline is None or not is_usable(baseline):
                    continue
                raw = raw_metric(task.name, name, metric, penalised=False)
                error = MeasuredError(raw, baseline, self._success_rate(own, result))
                answers.setdefault(task.name, {})[column] = error
        return answers

    def time(self, key: str, task: Task) -> float | None:
        """Mean time [µs/atom] of the frames that succeeded."""
        result = self.judged.ok(key, task.name)
        metric = result.metrics.get("time_mean") if result else None
        return metric.value if metric else None

    @cached_property
    def _tasks(self) -> Mapping[str, Task]:
        return {task.name: task for task in self.judged.suite.tasks}

    def _label_set(self, result: Result | None) -> str:
        """Which of the release's label sets a result belongs to: all that is not OMol25's level counts as the other."""
        omol, other = self.release.published.label_sets
        own = "" if result is None else result.label_set.replace("ω", "w")
        return omol if own.casefold().startswith(omol.casefold()) else other

    def _baseline(self, task: Task, column: str, metric: Metric, result: Result) -> float | None:
        if task.traits.score is ScoreFamily.FORCE_FIELD:
            labelled = self.release.force_field_tasks.get(task.release_name)
            return labelled.baseline(column, self._label_set(result)) if labelled else metric.baseline
        facts = self.release.property_tasks.get(task.release_name)
        if facts is None:
            return metric.baseline
        check_unit(task.name, task.release_name, column, metric.unit)
        stated = {metric_of(task.kind, name): baseline for name, baseline in facts.baselines.items()}
        return stated[column] or AS_IT_IS

    def _success_rate(self, task: Task, result: Result) -> float:
        facts = self.release.property_tasks.get(task.release_name)
        divides = bool(facts.success_rate) if facts else task.kind in _DIVIDED
        if not (divides and self.release.property_error.divided_by_success_rate and result.n_items):
            return 1.0
        return 1.0 - sum(result.failures.values()) / result.n_items
