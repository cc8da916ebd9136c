"""ML-PEG's scores from results.

A suite that names a release has that release's thresholds, and all its benchmarks count. In other suites the tasks are
the benchmarks, and the trivial model's errors the thresholds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from judge.ranking.score_inputs import Judged, default_metrics, is_usable, raw_metric
from judge.ranking.score_trees import ScoreTrees
from judge.records.records import Result
from scoring import RawMetric, Release
from scoring.errors import ScoringError
from scoring.ml_peg import Baseline, BenchmarkFacts, Metrics, MlPegFacts, Scheme, facts_from_baselines, load_facts
from scoring.names import ML_PEG, Variant
from submissions.records import Submission
from tasks.kind import ScoreFamily
from tasks.suites.suite import Task

PURE_NUMBER = "-"
# By unit as ML-PEG spells it, that of the judge; energies for an atom are sums with that coefficient.
SAME_UNITS = {"meV/A^2": "meV/Å²", "g/cm^3": "g/cm³", "eV/atom": "eV", "J/mol·K": "J/mol/K"}
PERCENT, COMPLEMENT = "%", "1 - "
TRIVIAL_ERROR = "of the trivial model's error"  # the unit of a metric without results, in which that error is 1


class _Schemes(NamedTuple):
    """Both variants of the score, for all models with the same baselines and levels of theory."""

    facts: MlPegFacts
    corrected: Scheme
    as_published: Scheme


@dataclass(frozen=True)
class MlPeg:
    """ML-PEG's scores of the submissions of a suite. Submissions with the same baselines share their facts."""

    judged: Judged
    release: Release

    def trees(self, submission: Submission) -> ScoreTrees:
        """The tree of a submission; none if no submission has a metric.

        Raises:
            ScoringError: a metric that cannot be scored.
        """
        schemes = self._schemes_for(submission)
        if schemes is None:
            return ScoreTrees()
        if self.judged.suite.ml_peg_release:
            return self._published_trees(submission, schemes)
        results = {
            name: (result, benchmark.metrics)
            for name, benchmark in schemes.facts.benchmarks.items()
            if (result := self.judged.ok(submission.id, name))
        }

        def measured(*, penalised: bool) -> Metrics:
            return {
                name: _measured(result, metrics, penalised=penalised) for name, (result, metrics) in results.items()
            }

        return ScoreTrees(
            {ML_PEG: schemes.corrected.tree(measured(penalised=True))},
            {ML_PEG: schemes.as_published.tree(measured(penalised=False))},
        )

    def _published_trees(self, submission: Submission, schemes: _Schemes) -> ScoreTrees:
        """The trees by the release that the suite names."""

        def measured(*, penalised: bool) -> Metrics:
            found: dict[str, dict[str, RawMetric]] = {}
            for task in self.judged.suite.tasks:
                result = self.judged.ok(submission.id, task.name) if task.ml_peg else None
                if result is not None:
                    facts = schemes.facts.benchmarks[task.ml_peg]
                    found.setdefault(task.ml_peg, {}).update(_of_release(facts, task, result, penalised=penalised))
            return found

        return ScoreTrees(
            {ML_PEG: schemes.corrected.tree(measured(penalised=True))},
            {ML_PEG: schemes.as_published.tree(measured(penalised=False))},
        )

    def _schemes_of_release(self, submission: Submission) -> _Schemes:
        """The schemes of the release that the suite names, with the submission's levels of theory.

        Raises:
            ScoringError: the release, or the benchmark of a task, is unknown.
        """
        suite, declared = self.judged.suite, submission.card.label_sets
        facts = load_facts(suite.ml_peg_release)
        for task in suite.tasks:
            if task.ml_peg and task.ml_peg not in facts.benchmarks:
                raise ScoringError(f"suite {suite.name}: task {task.name}: ml_peg: {task.ml_peg}: unknown benchmark")
        levels = {
            task.ml_peg: declared[task.model_domain].name if task.model_domain in declared else ""
            for task in suite.tasks
            if task.ml_peg
        }
        key = suite.ml_peg_release, tuple(levels.items())
        if key not in self._known:
            variants = [
                Scheme.of(facts, variant, levels=levels) for variant in (Variant.CORRECTED, Variant.AS_PUBLISHED)
            ]
            self._known[key] = _Schemes(facts, *variants)
        return self._known[key]

    def _schemes_for(self, submission: Submission) -> _Schemes | None:
        """The schemes of a submission: thresholds are the trivial model's errors against its label sets.

        A task counts even if no submission has a metric of it yet, with its `default_metrics`: a model that crashes
        must not be asked for fewer metrics. None if no task has a metric.
        """
        suite, declared = self.judged.suite, submission.card.label_sets
        if suite.ml_peg_release:
            return self._schemes_of_release(submission)
        counted = [task for task in suite.tasks if task.parameters.scored]
        rows = [row for task in counted for row in _baselines(self.judged, submission.id, task, self.release)]
        if all(row.unit == TRIVIAL_ERROR for row in rows):
            return None
        rows.sort(key=lambda row: (row.benchmark, row.metric))
        names = {row.benchmark for row in rows}
        levels = {
            task.name: declared[task.model_domain].name if task.model_domain in declared else ""
            for task in suite.tasks
            if task.name in names
        }
        key = tuple(rows), tuple(levels.items())
        if key not in self._known:
            facts = facts_from_baselines(rows, suite.name, suite.title)
            variants = [
                Scheme.of(facts, variant, levels=levels) for variant in (Variant.CORRECTED, Variant.AS_PUBLISHED)
            ]
            self._known[key] = _Schemes(facts, *variants)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[Hashable, _Schemes]:
        return {}


def _of_release(facts: BenchmarkFacts, task: Task, result: Result, *, penalised: bool) -> dict[str, RawMetric]:
    """The metrics of a benchmark that a result has, under the release's names and in its units.

    Raises:
        ScoringError: the task measures a metric in another unit.
    """
    raw = {}
    for name, stated in facts.measured.items():
        dataset, _, ours = stated.rpartition("|")
        if dataset and dataset != task.dataset.partition("@")[0]:
            continue
        metric = _named(result, ours.removeprefix(COMPLEMENT), penalised=penalised)
        if metric is None:
            continue
        unit = facts.metrics[name].unit
        is_share = metric.unit == PERCENT and unit == PURE_NUMBER
        if not is_share and SAME_UNITS.get(unit, unit) != (metric.unit or PURE_NUMBER):
            raise ScoringError(f"task {result.task}: {ours}: is in {metric.unit}, ML-PEG's {name} in {unit}")
        scale, whole = (0.01 if is_share else 1.0), (100.0 if unit == PERCENT else 1.0)
        complement = ours.startswith(COMPLEMENT)
        value, uncharged = (_converted(each, scale, whole, complement) for each in (metric.value, metric.uncharged))
        same = () if is_share or complement else metric.facts  # these are in the unit of the metric
        raw[name] = metric._replace(metric=name, value=value, unit=unit, facts=same, uncharged=uncharged)
    return raw


def _converted(value: float | None, scale: float, whole: float, complement: bool) -> float | None:
    """`value` in another unit, or what is left of it to the `whole` there."""
    if value is None:
        return None
    return whole - scale * value if complement else scale * value


def _named(result: Result, name: str, *, penalised: bool) -> RawMetric | None:
    """The metric `name`, or `metric:group` over one group, of which none is known if an item of it failed."""
    metric, _, group = name.partition(":")
    if not group:
        record = result.metrics.get(metric)
        return None if record is None else raw_metric(result.task, metric, record, penalised=penalised)
    for part in result.parts:
        if (part.by, part.metric, part.name) == ("group", metric, group):
            value = None if penalised and part.n_failed else part.value
            return RawMetric(result.task, metric, value, part.unit, (), part.n_items, part.n_failed)
    return None


def _baselines(judged: Judged, key: str, task: Task, release: Release) -> list[Baseline]:
    """The trivial model's errors in the scored metrics of a task, from the submission's own result if it has them."""
    known = judged.metrics(key, task.name)
    if not known:
        names = default_metrics(release, task)
        return [Baseline(task.name, task.domain, name, TRIVIAL_ERROR, 1.0) for name in names]
    if task.traits.score is ScoreFamily.FORCE_FIELD:
        scored: Sequence[str] = [metric for metric in release.force_field.columns.values() if metric in known]
    else:
        scored = task.traits.scored(known)
    rows = []
    for name in scored:
        with_baseline = (result for result in judged.comparable(key, task.name) if _has_baseline(result, name))
        if (result := next(with_baseline, None)) is not None:
            metric = result.metrics[name]
            unit, baseline = metric.unit or PURE_NUMBER, metric.baseline or 0.0
            rows.append(Baseline(task.name, task.domain, name, unit, baseline, result.label_set))
    return rows


def _has_baseline(result: Result, name: str) -> bool:
    """Whether a result has a metric with a baseline that errors can be divided by."""
    return name in result.metrics and is_usable(result.metrics[name].baseline)


def _measured(result: Result, names: Iterable[str], *, penalised: bool) -> dict[str, RawMetric]:
    """The metrics of these names that a result has."""
    raw = {
        name: raw_metric(result.task, name, result.metrics[name], penalised=penalised)
        for name in names
        if name in result.metrics
    }
    return {name: each if each.unit else each._replace(unit=PURE_NUMBER) for name, each in raw.items()}
