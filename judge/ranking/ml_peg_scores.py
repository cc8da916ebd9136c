"""Results added up as ML-PEG does it, with the trivial model's errors as thresholds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from judge.ranking.score_inputs import Judged, is_usable, least_asked, raw_metric
from judge.ranking.score_trees import ScoreTrees
from judge.records.records import Result
from scoring import RawMetric, Release
from scoring.ml_peg import Baseline, Metrics, MlPegFacts, Scheme, facts_from_baselines
from scoring.names import ML_PEG, Variant
from submissions.records import Submission
from tasks.kind import ScoreFamily
from tasks.suites.suite import Task

PURE_NUMBER = "-"
TRIVIAL_ERROR = "of the trivial model's error"  # the unit of a metric that nobody has yet, in which that error is 1


class _Schemes(NamedTuple):
    """Both variants for the models that are held against the same."""

    facts: MlPegFacts
    corrected: Scheme
    as_published: Scheme


@dataclass(frozen=True)
class MlPeg:
    """ML-PEG's scores of the submissions of a suite. What is the same for many of them is made once."""

    judged: Judged
    release: Release

    def trees(self, submission: Submission) -> ScoreTrees:
        """The tree of a submission; none where nobody has a metric.

        Raises:
            ScoringError: a metric that cannot be added up.
        """
        schemes = self._schemes_for(submission)
        if schemes is None:
            return ScoreTrees()
        results = {
            name: (result, of.metrics)
            for name, of in schemes.facts.benchmarks.items()
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

    def _schemes_for(self, submission: Submission) -> _Schemes | None:
        """Thresholds from the trivial model's errors, against the label sets that a submission is held against.

        A task that nobody has a metric of yet counts all the same, under the names that it will have at least: to crash
        must not mean to be asked less. None where nobody has a metric of any.
        """
        suite, declared = self.judged.suite, submission.card.label_sets
        rows = [row for task in suite.tasks for row in _baselines(self.judged, submission.id, task, self.release)]
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


def _baselines(judged: Judged, key: str, task: Task, release: Release) -> list[Baseline]:
    """The trivial model's errors in a task, of the metrics that are scored; its own result goes before others."""
    known = judged.metrics(key, task.name)
    if not known:
        names = least_asked(release, task)
        return [Baseline(task.name, task.domain, name, TRIVIAL_ERROR, 1.0) for name in names]
    if task.traits.score is ScoreFamily.FORCE_FIELD:
        scored: Sequence[str] = [metric for metric in release.force_field.columns.values() if metric in known]
    else:
        scored = task.traits.scored(known)
    rows = []
    for name in scored:
        tells = (result for result in judged.telling(key, task.name) if _is_compared(result, name))
        if (result := next(tells, None)) is not None:
            metric = result.metrics[name]
            unit, baseline = metric.unit or PURE_NUMBER, metric.baseline or 0.0
            rows.append(Baseline(task.name, task.domain, name, unit, baseline, result.label_set))
    return rows


def _is_compared(result: Result, name: str) -> bool:
    """Whether a result has a metric with a baseline that errors can be divided by."""
    return name in result.metrics and is_usable(result.metrics[name].baseline)


def _measured(result: Result, names: Iterable[str], *, penalised: bool) -> dict[str, RawMetric]:
    """Those of the metrics that a result has."""
    raw = {
        name: raw_metric(result.task, name, result.metrics[name], penalised=penalised)
        for name in names
        if name in result.metrics
    }
    return {name: metric._replace(unit=metric.unit or PURE_NUMBER) for name, metric in raw.items()}
