"""The same results, added up as ML-PEG and as MLIPAudit do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from judge.answers import FORCE_FIELD, Judged, is_usable, least_asked
from judge.board import OtherScores
from judge.records import Result
from sandbox.verdict import Verdict
from scoring import Release, ScoringError, Term
from scoring.ml_peg import Baseline, Facts, Measured, Variant, facts_from_baselines, ml_peg_score
from scoring.mlipaudit import Measured as AuditMeasured
from scoring.mlipaudit import MlipAuditFacts, load_mlipaudit, mlipaudit_score
from scoring.mlipaudit import Variant as AuditVariant
from submissions.records import Submission
from tasks.energy_units import ENERGY_UNITS
from tasks.frames import Bool
from tasks.measurement import Items
from tasks.predictions import Cause
from tasks.suite import Suite, Task

ML_PEG, MLIPAUDIT, COMPATIBLE = "ml-peg", "mlipaudit", "mlipaudit-compatible"

PURE_NUMBER = "-"
TRIVIAL_ERROR = "of the trivial model's error"  # the unit of a metric that nobody has yet, in which that error is 1

# By benchmark of MLIPAudit and its metric, the column of a task's items that holds the errors.
_ERRORS: Mapping[str, Mapping[str, str]] = {
    "noncovalent_interactions": {"interaction_energy_abs_error": "error"},
    "dihedral_scan": {"barrier_height_abs_error": "barrier_error"},
    "tautomers": {"abs_deviation": "error"},
    "reactivity": {"activation_energy_abs_error": "error"},
}
_PROFILE_UNIT = "kcal/mol"  # of the barrier errors of scans


class _Both(NamedTuple):
    """Scores by name, in both variants."""

    corrected: Mapping[str, Term]
    as_published: Mapping[str, Term]


_NONE = _Both({}, {})


def other_scores(judged: Judged, submissions: Sequence[Submission], release: Release) -> dict[str, OtherScores]:
    """ML-PEG's and MLIPAudit's scores of each submission, of the schemes that the suite has tasks for.

    ML-PEG's thresholds are published for its own test sets. Those of a suite state none, so good is an error of 0 and
    bad that of the trivial model. MLIPAudit's thresholds are of its benchmarks: a task states which it belongs to
    (`Task.mlipaudit`). What cannot be added up is left out, and said in `judged.problems`.

    Raises:
        ScoringError: a task names a benchmark that MLIPAudit does not have, or that is not measured here.
    """
    schemes: list[Callable[[Submission], _Both]] = [
        partial(_ml_peg, judged, release),
        partial(_mlipaudit, judged, audit_facts(judged.suite)),
    ]
    found = {}
    for submission in submissions:
        corrected: dict[str, Term] = {}
        as_published: dict[str, Term] = {}
        for scheme in schemes:
            try:
                both = scheme(submission)
            except ScoringError as error:
                judged.problems.append(f"results/{submission.id}: {error}")
                continue
            corrected |= both.corrected
            as_published |= both.as_published
        found[submission.id] = OtherScores(corrected, as_published)
    return found


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


def _ml_peg(judged: Judged, release: Release, submission: Submission) -> _Both:
    facts = ml_peg_facts(judged, submission.id, release)
    if facts is None:
        return _NONE
    declared = submission.card.label_sets
    levels = {
        task.name: declared[task.model_domain].name if task.model_domain in declared else ""
        for task in judged.suite.tasks
        if task.name in facts.benchmarks
    }

    def score(variant: Variant) -> dict[str, Term]:
        measured = {
            name: _measured(result, of.metrics, corrected=variant is Variant.CORRECTED)
            for name, of in facts.benchmarks.items()
            if (result := judged.ok(submission.id, name))
        }
        return {ML_PEG: ml_peg_score(measured, facts, variant, levels=levels)}

    return _Both(score(Variant.CORRECTED), score(Variant.AS_PUBLISHED))


def _measured(result: Result, names: Mapping[str, object], *, corrected: bool) -> dict[str, Measured]:
    """Those of the metrics that a result has, with failures charged if `corrected`."""
    records = {name: result.metrics[name] for name in names if name in result.metrics}
    return {
        name: Measured(m.charged if corrected else m.value, m.unit or PURE_NUMBER, m.n_items, m.n_failed, m.value)
        for name, m in records.items()
    }


def audit_facts(suite: Suite) -> MlipAuditFacts | None:
    """MLIPAudit's facts of the benchmarks, and of their metrics, that the suite measures; None where it has none.

    Raises:
        ScoringError: a task names a benchmark that MLIPAudit does not have, or that this judge has no errors for.
    """
    facts = load_mlipaudit()
    named = {task.mlipaudit for task in suite.tasks if task.mlipaudit}
    if unknown := sorted(named - set(_ERRORS)):
        known = ", ".join(_ERRORS)
        raise ScoringError(f"suite {suite.name}: mlipaudit: {', '.join(unknown)} is not measured: take one of {known}")
    if not named:
        return None
    kept = {
        name: of.model_copy(update={"metrics": {m: facts for m, facts in of.metrics.items() if m in _ERRORS[name]}})
        for name, of in facts.benchmarks.items()
        if name in named
    }
    slips = tuple(s for s in facts.slips if s.benchmark in named and set(s.metrics) <= set(_ERRORS[s.benchmark]))
    return facts.model_copy(update={"benchmarks": kept, "slips": slips})


def _mlipaudit(judged: Judged, facts: MlipAuditFacts | None, submission: Submission) -> _Both:
    """No scores where the model has nothing to show in any benchmark; nor where items are lost: no fault of its own."""
    if facts is None:
        return _NONE
    measured: dict[str, Mapping[str, AuditMeasured]] = {}
    incompatible: set[str] = set()
    for name, benchmark in facts.benchmarks.items():
        tasks = [task for task in judged.suite.tasks if task.mlipaudit == name]
        results = [judged.results.get((submission.id, task.name)) for task in tasks]
        verdicts = {None if result is None else result.verdict for result in results}
        if verdicts == {Verdict.UNSUPPORTED} and not benchmark.elements_per_item:
            incompatible.add(name)
        elif verdicts & {Verdict.OK, Verdict.UNSUPPORTED}:
            shown = [_shown(judged, submission.id, task, facts) for task in tasks]
            there = [table for table in shown if table is not None]
            if len(there) < len(shown):
                return _NONE
            measured[name] = _merged(there, benchmark.elements_per_item)
    if not measured:
        return _NONE

    def score(variant: AuditVariant) -> dict[str, Term]:
        found = mlipaudit_score(measured, facts, variant, incompatible)
        return {MLIPAUDIT: found.overall, COMPATIBLE: found.compatible}

    corrected = score(AuditVariant.CORRECTED)
    return _Both(corrected, score(AuditVariant.AS_PUBLISHED) if facts.slips else corrected)


def _shown(judged: Judged, key: str, task: Task, facts: MlipAuditFacts) -> dict[str, AuditMeasured] | None:
    """What a model has to show in one task of a benchmark, by metric; None where its items are lost.

    Where the task did not come to OK, every item has failed, or none of its elements is known.
    """
    result, ok = judged.results.get((key, task.name)), judged.ok(key, task.name)
    units = {metric: of.unit for metric, of in facts.benchmarks[task.mlipaudit].metrics.items()}
    if ok is None:
        unknown = result is not None and result.verdict is Verdict.UNSUPPORTED
        n = judged.n_items(task.name)
        n_failed, n_unsupported = (0, n) if unknown else (n, 0)
        return {metric: AuditMeasured((), unit, n_failed, n_unsupported) for metric, unit in units.items()}
    items = judged.items(ok, "no MLIPAudit score")
    if items is None:
        return None
    columns = _ERRORS[task.mlipaudit]
    return {metric: _errors(items, columns[metric], ok, unit) for metric, unit in units.items()}


def _errors(items: Items, column: str, result: Result, unit: str) -> AuditMeasured:
    """The absolute errors in `unit`; None for an item that failed, and those of unknown elements counted beside.

    Raises:
        ScoringError: the items have no such errors, or in no unit that can be converted.
    """
    where = f"task {result.task}: items: {column}"
    if column not in items.columns:
        raise ScoringError(f"{where}: is missing: measure it again, or take mlipaudit from the task")
    own = result.notes.get("items in", "") if result.kind == "energy_differences" else _PROFILE_UNIT
    if own not in ENERGY_UNITS or unit not in ENERGY_UNITS:
        raise ScoringError(f"{where}: cannot be converted from {own or 'a unit that is not noted'} to {unit}")
    own_items = _of_one_quantity(items, where)
    unknown = own_items & (items.cause == Cause.UNSUPPORTED)
    errors = np.abs(items.columns[column][own_items & ~unknown]) * (ENERGY_UNITS[own] / ENERGY_UNITS[unit])
    values = tuple(float(error) if np.isfinite(error) else None for error in errors)
    return AuditMeasured(values, unit, n_unsupported=int(unknown.sum()))


def _of_one_quantity(items: Items, where: str) -> Bool:
    """(k,) which items are of the quantity that is scored: all, or the barriers where there are several quantities.

    Raises:
        ScoringError: there are several, and not one of them is the barrier.
    """
    quantities = [name for name in items.columns if name.endswith("_count")]
    if len(quantities) < 2:
        return np.ones(len(items), np.bool_)
    barriers = [name for name in quantities if name.startswith("barrier")]
    if len(barriers) != 1:
        raise ScoringError(
            f"{where}: of {len(quantities)} quantities, {len(barriers)} are barriers: name one of them so"
        )
    return items.columns[barriers[0]] > 0


def _merged(tables: Sequence[Mapping[str, AuditMeasured]], elements_per_item: bool) -> dict[str, AuditMeasured]:
    """The items of all tasks of a benchmark; an item of unknown elements has failed unless they may be left out."""
    merged = {}
    for metric in tables[0]:
        parts = [table[metric] for table in tables]
        values = tuple(value for part in parts for value in part.values)
        n_failed, n_unsupported = sum(part.n_failed for part in parts), sum(part.n_unsupported for part in parts)
        beside = (n_failed, n_unsupported) if elements_per_item else (n_failed + n_unsupported, 0)
        merged[metric] = AuditMeasured(values, parts[0].unit, *beside)
    return merged
