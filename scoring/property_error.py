"""The LAMBench property error: how far domain-specific quantities are from their reference, 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence

from scoring.errors import Answers, Asked, answer, by_domain, is_answered
from scoring.release import PropertyRule
from scoring.term import Term, mean, normalised


def property_error(asked: Sequence[Asked], answers: Answers, rule: PropertyRule) -> Term:
    """The property error of one model; lower is better.

        E = mean over domains d of mean over metric columns c of the tasks of d of min(charged_c / baseline_c, cap)

    Each column has the same weight within its domain. A column without an answer counts as worst. There is no
    division by a success rate: failed items are already charged in the metric.

    Args:
        asked: the tasks of the suite with the metric names that count.
        answers: the model's errors by task and metric name.

    Raises:
        ScoringError: a negative error, or a baseline that is not positive.

    Source: LAMBench, arXiv:2504.19578, "domain-specific property tasks", as in its release 0.3.1.
    """
    domains = by_domain(asked)
    share = 1 / max(len(domains), 1)
    parts = tuple(_domain(name, tasks, answers, rule, share) for name, tasks in domains.items())
    covered = sum(part.covered for part in parts)
    value = mean(rule.cap if part.value is None else part.value for part in parts) if covered else None
    return Term("Property error", value, "mean over domains", covered, len(asked), parts=parts)


def _domain(name: str, tasks: Sequence[Asked], answers: Answers, rule: PropertyRule, share: float) -> Term:
    """One domain: the mean over all its columns, whatever task they belong to."""
    n_columns = sum(len(task.columns) for task in tasks)
    parts = tuple(_task(task, answers, rule, len(task.columns) / n_columns) for task in tasks)
    covered = sum(part.covered for part in parts)
    values = [_column(task, column, answers, rule).value for task in tasks for column in task.columns]
    value = mean(rule.cap if v is None else v for v in values) if covered else None
    return Term(name, value, "mean over metric columns", covered, len(tasks), share, parts=parts)


def _task(task: Asked, answers: Answers, rule: PropertyRule, weight: float) -> Term:
    """One task: the mean over its columns."""
    leaves = tuple(_column(task, column, answers, rule) for column in task.columns)
    covered = is_answered(answers, task)
    value = mean(rule.cap if leaf.value is None else leaf.value for leaf in leaves) if covered else None
    return Term(task.name, value, "mean over metric columns", int(covered), 1, weight, parts=leaves)


def _column(task: Asked, column: str, answers: Answers, rule: PropertyRule) -> Term:
    error = answer(answers, task.name, column)
    weight = 1 / len(task.columns)
    if error is None:
        return Term(column, None, "no answer: counted as worst", 0, 1, weight)
    value = normalised(error.charged, error.baseline, rule.cap)
    return Term(column, value, "charged error / baseline", 1, 1, weight)
