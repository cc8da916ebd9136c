"""Results added up as ML-PEG does it, with the trivial model's errors as thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judge.answers import FORCE_FIELD, Judged, is_usable, least_asked
from judge.board import OtherScores
from judge.records import Result
from scoring import Release
from scoring.ml_peg import Baseline, Facts, Measured, Metrics, Variant, facts_from_baselines, ml_peg_score, ml_peg_tree
from submissions.records import Submission
from tasks.suite import Task

ML_PEG = "ml-peg"
PURE_NUMBER = "-"
TRIVIAL_ERROR = "of the trivial model's error"  # the unit of a metric that nobody has yet, in which that error is 1


def ml_peg_facts(judged: Judged, key: str, release: Release) -> Facts | None:
    """Thresholds from the trivial model's errors, against the label sets that submission `key` is held against.

    A task that nobody has a metric of yet counts all the same, under the names that it will have at least: to crash
    must not mean to be asked less. None where nobody has a metric of any.
    """
    rows = [row for task in judged.suite.tasks for row in _baselines(judged, key, task, release)]
    if all(row.unit == TRIVIAL_ERROR for row in rows):
        return None
    rows.sort(key=lambda row: (row.benchmark, row.metric))
    return facts_from_baselines(rows, judged.suite.name, judged.suite.title)


def _baselines(judged: Judged, key: str, task: Task, release: Release) -> list[Baseline]:
    """The trivial model's errors in a task, of the metrics that are scored; its own result goes before others."""
    known = judged.metrics(key, task.name)
    if not known:
        names = least_asked(release, task.kind)
        return [Baseline(task.name, task.domain, name, TRIVIAL_ERROR, 1.0) for name in names]
    if task.kind == FORCE_FIELD:
        scored: Sequence[str] = [metric for metric in release.force_field.columns.values() if metric in known]
    else:
        scored = release.property_error.scored(task.kind, known)
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


def ml_peg_scores(judged: Judged, release: Release, submission: Submission) -> OtherScores:
    """The score of a submission; none where nobody has a metric.

    Raises:
        ScoringError: a metric that cannot be added up.
    """
    facts = ml_peg_facts(judged, submission.id, release)
    if facts is None:
        return OtherScores({}, {})
    declared = submission.card.label_sets
    levels = {
        task.name: declared[task.model_domain].name if task.model_domain in declared else ""
        for task in judged.suite.tasks
        if task.name in facts.benchmarks
    }

    def measured(*, corrected: bool) -> Metrics:
        return {
            name: _measured(result, of.metrics, corrected=corrected)
            for name, of in facts.benchmarks.items()
            if (result := judged.ok(submission.id, name))
        }

    charged, uncharged = measured(corrected=True), measured(corrected=False)
    return OtherScores(
        {ML_PEG: ml_peg_score(charged, facts, Variant.CORRECTED, levels=levels)},
        {ML_PEG: ml_peg_score(uncharged, facts, Variant.AS_PUBLISHED, levels=levels)},
        {ML_PEG: ml_peg_tree(charged, facts, Variant.CORRECTED)},
    )


def _measured(result: Result, names: Mapping[str, object], *, corrected: bool) -> dict[str, Measured]:
    """Those of the metrics that a result has, with failures charged if `corrected`."""
    records = {name: result.metrics[name] for name in names if name in result.metrics}
    return {
        name: Measured(m.charged if corrected else m.value, m.unit or PURE_NUMBER, m.n_items, m.n_failed, m.value)
        for name, m in records.items()
    }
