"""The same results, added up as ML-PEG and as MLIPAudit do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from ase import units

from judge.answers import FORCE_FIELD, Judged, is_usable
from judge.board import OtherScores
from judge.records import Result
from scoring import Release, ScoringError, Term
from scoring.ml_peg import Baseline, Facts, Measured, Variant, facts_from_baselines, ml_peg_score
from scoring.mlipaudit import Measured as AuditMeasured
from scoring.mlipaudit import MlipAuditFacts, load_mlipaudit, mlipaudit_score
from scoring.mlipaudit import Variant as AuditVariant
from submissions.records import Submission
from tasks.measurement import Items
from tasks.suite import Task

ML_PEG, MLIPAUDIT, COMPATIBLE = "ml-peg", "mlipaudit", "mlipaudit-compatible"

_EV = {"eV": 1.0, "meV": 1e-3, "kcal/mol": units.kcal / units.mol, "kJ/mol": units.kJ / units.mol}
# By benchmark of MLIPAudit and its metric, the column of a task's items that holds the errors.
_ERRORS: Mapping[str, Mapping[str, str]] = {
    "noncovalent_interactions": {"interaction_energy_abs_error": "error"},
    "dihedral_scan": {"barrier_height_abs_error": "barrier_error"},
    "tautomers": {"abs_deviation": "error"},
    "reactivity": {"activation_energy_abs_error": "error"},
}
_PROFILE_UNIT = "kcal/mol"  # of the barrier errors of scans


def other_scores(judged: Judged, submissions: Sequence[Submission], release: Release) -> dict[str, OtherScores]:
    """ML-PEG's and MLIPAudit's scores of each submission, of the schemes that the suite has tasks for.

    ML-PEG's thresholds are published for its own test sets. Those of a suite state none, so good is an error of 0 and
    bad that of the trivial model. MLIPAudit's thresholds are of its benchmarks: a task states which it belongs to
    (`Task.mlipaudit`).
    """
    audit = audit_facts(judged)
    found = {}
    for submission in submissions:
        variants: list[dict[str, Term]] = []
        for corrected in (True, False):
            scores: dict[str, Term] = {}
            try:
                scores |= _ml_peg(judged, submission, release, corrected)
                if audit is not None:
                    scores |= _mlipaudit(judged, submission.id, audit, corrected)
            except ScoringError as error:
                judged.problems.append(f"results/{submission.id}: {error}")
            variants.append(scores)
        found[submission.id] = OtherScores(*variants)
    return found


def ml_peg_facts(judged: Judged, key: str, release: Release) -> Facts | None:
    """Thresholds from the trivial model's errors, against the label sets that submission `key` is held against.

    Where it has no result, another's label set tells: to be refused must not mean to be asked less. None where nobody
    has a metric.
    """
    stated: dict[tuple[str, str], Baseline] = {}
    for task in judged.suite.tasks:
        own = judged.results.get((key, task.name))
        others = [result for (_, name), result in sorted(judged.results.items()) if name == task.name]
        for result in [*([own] if own else []), *others]:
            if own is not None and own.metrics and result.label_set != own.label_set:
                continue
            for name in _scored(task, result, release):
                baseline = result.metrics[name].baseline
                if baseline is not None and is_usable(baseline):
                    unit = result.metrics[name].unit
                    row = Baseline(task.name, task.domain, name, unit, baseline, result.label_set)
                    stated.setdefault((task.name, name), row)
    if not stated:
        return None
    rows = (stated[place] for place in sorted(stated))
    return facts_from_baselines(rows, judged.suite.name, judged.suite.title)


def _scored(task: Task, result: Result, release: Release) -> Sequence[str]:
    """Names of the errors of a result that are scored."""
    if task.kind == FORCE_FIELD:
        return [metric for metric in release.force_field.columns.values() if metric in result.metrics]
    return release.property_error.scored(task.kind, result.metrics)


def _ml_peg(judged: Judged, submission: Submission, release: Release, corrected: bool) -> dict[str, Term]:
    facts = ml_peg_facts(judged, submission.id, release)
    if facts is None:
        return {}
    measured: dict[str, dict[str, Measured]] = {}
    levels: dict[str, str] = {}
    for task in judged.suite.tasks:
        known, result = facts.benchmarks.get(task.name), judged.ok(submission.id, task.name)
        if known is None:
            continue
        declared = submission.card.label_sets.get(task.model_domain)
        levels[task.name] = declared.name if declared else ""
        for name in known.metrics if result else ():
            metric = result.metrics.get(name) if result else None
            if metric is not None:
                value = metric.charged if corrected else metric.value
                measured.setdefault(task.name, {})[name] = Measured(
                    value, metric.unit, metric.n_items, metric.n_failed, metric.value
                )
    variant = Variant.CORRECTED if corrected else Variant.AS_PUBLISHED
    return {ML_PEG: ml_peg_score(measured, facts, variant, levels=levels)}


def audit_facts(judged: Judged) -> MlipAuditFacts | None:
    """MLIPAudit's facts of the benchmarks, and of their metrics, that the suite measures; None where it has none.

    Raises:
        ScoringError: a task names a benchmark that MLIPAudit does not have, or that this judge has no errors for.
    """
    facts = load_mlipaudit()
    named = {task.mlipaudit for task in judged.suite.tasks if task.mlipaudit}
    if unknown := sorted(named - set(_ERRORS)):
        known = ", ".join(_ERRORS)
        raise ScoringError(f"suite {judged.suite.name}: mlipaudit: {', '.join(unknown)} is not measured: {known}")
    if not named:
        return None
    kept = {
        name: of.model_copy(update={"metrics": {m: facts for m, facts in of.metrics.items() if m in _ERRORS[name]}})
        for name, of in facts.benchmarks.items()
        if name in named
    }
    slips = tuple(s for s in facts.slips if s.benchmark in named and set(s.metrics) <= set(_ERRORS[s.benchmark]))
    return facts.model_copy(update={"benchmarks": kept, "slips": slips})


def _mlipaudit(judged: Judged, key: str, facts: MlipAuditFacts, corrected: bool) -> dict[str, Term]:
    variant = AuditVariant.CORRECTED if corrected else AuditVariant.AS_PUBLISHED
    measured: dict[str, dict[str, AuditMeasured]] = {}
    for task in judged.suite.tasks:
        result = judged.ok(key, task.name) if task.mlipaudit else None
        items = judged.load_items(result) if result else None
        if result is None or items is None:
            continue
        for metric, column in _ERRORS[task.mlipaudit].items():
            if column in items.columns:
                unit = facts.metric(task.mlipaudit, metric, variant).unit
                values = _absolute(items, column, result, unit)
                measured.setdefault(task.mlipaudit, {})[metric] = AuditMeasured(values, unit)
    if not measured:
        return {}
    score = mlipaudit_score(measured, facts, variant)
    return {MLIPAUDIT: score.overall, COMPATIBLE: score.compatible}


def _absolute(items: Items, column: str, result: Result, unit: str) -> list[float | None]:
    """The absolute errors in `unit`; None for an item that failed."""
    own = result.notes.get("items in", _PROFILE_UNIT)
    if own not in _EV or unit not in _EV:
        raise ScoringError(f"task {result.task}: {column}: cannot be converted from {own} to {unit}")
    errors = np.abs(items.columns[column]) * (_EV[own] / _EV[unit])
    return [float(e) if np.isfinite(e) else None for e in errors]
