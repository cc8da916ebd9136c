"""LAMBench's scores from results: the trees of each submission, corrected and as published."""

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
NO_BASELINE = 1.0  # the divisor of an error for which a release states no baseline
# For tasks that a release does not have: the kinds whose errors LAMBench divides by the success rate.
_DIVIDED = frozenset({"phonons", "elasticity"})


def corrected_trees(judged: Judged, key: str, release: Release) -> dict[str, Node]:
    """The scores of submission `key` by this judge's rules.

    Raises:
        ScoringError: a metric that cannot be scored, naming submission, release, task and field.
    """
    ff_tasks, property_tasks = judged.asked_force_field(key, release), judged.asked_property(key, release)
    runs = judged.runs(key)
    times = {task.name: judged.time(key, task) for task in judged.counted_in(ScoreFamily.EFFICIENCY)}
    with _named(key, release):
        return _trees(
            release,
            force_field_tree(ff_tasks, judged.answers(key, ff_tasks, release.force_field.columns), release.force_field),
            property_tree(property_tasks, judged.answers(key, property_tasks, {}), release.property_error),
            times,
            runs,
        )


def published_release(suite: Suite) -> Release:
    """The published release that the suite names; LAMBench's latest full one if it names none.

    Raises:
        ScoringError: the suite names an unknown release.
    """
    return load_release(suite.release or DEFAULT_PUBLISHED)


def _trees(
    release: Release,
    force_field: Node,
    property_error: Node,
    times: Mapping[str, float | None],
    runs: Sequence[Run],
) -> dict[str, Node]:
    """The trees by key; a tree without a source has the release's."""
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
    """Adds submission and release to the message of a `ScoringError`."""
    try:
        yield
    except ScoringError as error:
        raise ScoringError(f"results/{key}: release {release.name}: {error}") from None


def dropped_for_all(lacking: Mapping[str, Sequence[str]], release: Release) -> Mapping[str, str]:
    """By domain that a published release drops for all submissions, the first submission without an answer in it.

    Args:
        lacking: by submission, see `PublishedScores.lacking`.
    """
    if release.property_error.missing_domain != "drop_domain_for_all_models":
        return {}
    dropped: dict[str, str] = {}
    for key in sorted(lacking):
        dropped = dict.fromkeys(lacking[key], key) | dropped
    return dropped


@dataclass(frozen=True)
class PublishedScores:
    """The scores as LAMBench would publish them: over what succeeded, without failure costs.

    If the release has facts of a task (`Task.release_name`), its published baselines and columns count. Any other task
    counts with its own baselines, in the metrics that `corrected` scores. Kinds from other packages do not count.

    Every dynamics run that was not completed counts as failed.
    """

    judged: Judged
    release: Release
    corrected: Release

    def lacking(self, key: str) -> list[str]:
        """The domains in which submission `key` has no property; none if it has no property at all.

        Raises:
            ScoringError: as `trees`.
        """
        tasks = self.asked_property(key)
        with _named(key, self.release):
            return list(dropped_domains({key: tasks}, {key: self.answers(key, tasks)}))

    def trees(self, key: str, dropped: Collection[str] = ()) -> dict[str, Node]:
        """The scores of submission `key`.

        Args:
            dropped: the domains of properties that are dropped for all submissions.

        Raises:
            ScoringError: a metric that cannot be scored, naming submission, release, task and field.
        """
        judged, rules = self.judged, self.release
        properties, ff_tasks = self.asked_property(key), self.asked_force_field(key)
        runs = judged.runs(key, uncompleted=RunOutcome.FAILED)
        times = {task.name: self.time(key, task) for task in judged.counted_in(ScoreFamily.EFFICIENCY)}
        with _named(key, rules):
            return _trees(
                rules,
                force_field_tree(ff_tasks, self.answers(key, ff_tasks), rules.force_field),
                property_tree(properties, self.answers(key, properties), rules.property_error, dropped),
                times,
                runs,
            )

    def asked_force_field(self, key: str) -> list[AskedTask]:
        tasks = []
        for task in self.judged.asked_force_field(key, self.corrected):
            facts = self.release.force_field_tasks.get(self._suite_tasks[task.name].release_name)
            label_set = self._label_set(self.judged.results.get((key, task.name)))
            labels = facts and tuple(n for n in self.release.force_field.columns if facts.baseline(n, label_set))
            tasks.append(AskedTask(task.name, task.domain, labels or task.columns))
        return tasks

    def asked_property(self, key: str) -> list[AskedTask]:
        tasks = []
        for task in self.judged.asked_property(key, self.corrected):
            suite_task = self._suite_tasks[task.name]
            if suite_task.kind not in KINDS.built_in:
                continue  # no release has the kinds of other packages
            facts = self.release.property_tasks.get(suite_task.release_name)
            columns = facts and tuple(metric_of(suite_task.kind, column) for column in facts.baselines)
            tasks.append(AskedTask(task.name, task.domain, columns or task.columns))
        return tasks

    def answers(self, key: str, tasks: Sequence[AskedTask]) -> Answers:
        """Errors over what succeeded, by task and column."""
        answers: dict[str, dict[str, MeasuredError]] = {}
        for task in tasks:
            suite_task, result = self._suite_tasks[task.name], self.judged.ok(key, task.name)
            if result is None:
                continue
            in_force_field = suite_task.traits.score is ScoreFamily.FORCE_FIELD
            for column in task.columns:
                name = self.corrected.force_field.columns[column] if in_force_field else column
                metric = result.metrics.get(name)
                baseline = self._baseline(suite_task, column, metric, result) if metric else None
                if metric is None or baseline is None or not is_usable(baseline):
                    continue
                raw = raw_metric(task.name, name, metric, penalised=False)
                error = MeasuredError(raw, baseline, self._success_rate(suite_task, result))
                answers.setdefault(task.name, {})[column] = error
        return answers

    def time(self, key: str, task: Task) -> float | None:
        """Mean time [µs/atom] of the frames that succeeded."""
        result = self.judged.ok(key, task.name)
        metric = result.metrics.get("time_mean") if result else None
        return metric.value if metric else None

    @cached_property
    def _suite_tasks(self) -> Mapping[str, Task]:
        return {task.name: task for task in self.judged.suite.tasks}

    def _label_set(self, result: Result | None) -> str:
        """The release's label set of a result: OMol25's level of theory, or the other one for everything else."""
        omol, other = self.release.published.label_sets
        name = "" if result is None else result.label_set.replace("ω", "w")
        return omol if name.casefold().startswith(omol.casefold()) else other

    def _baseline(self, task: Task, column: str, metric: Metric, result: Result) -> float | None:
        if task.traits.score is ScoreFamily.FORCE_FIELD:
            labelled = self.release.force_field_tasks.get(task.release_name)
            return labelled.baseline(column, self._label_set(result)) if labelled else metric.baseline
        facts = self.release.property_tasks.get(task.release_name)
        if facts is None:
            return metric.baseline
        check_unit(task.name, task.release_name, column, metric.unit)
        stated = {metric_of(task.kind, name): baseline for name, baseline in facts.baselines.items()}
        return stated[column] or NO_BASELINE

    def _success_rate(self, task: Task, result: Result) -> float:
        facts = self.release.property_tasks.get(task.release_name)
        divides = bool(facts.success_rate) if facts else task.kind in _DIVIDED
        if not (divides and self.release.property_error.divided_by_success_rate and result.n_items):
            return 1.0
        return 1.0 - sum(result.failures.values()) / result.n_items
