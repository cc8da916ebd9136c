"""The LAMBench force-field error: how far from a label a model's energy, forces and virial are, 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scoring.errors import Answers, Asked, answer, by_domain, is_answered
from scoring.release import ForceFieldRule, ScoringError
from scoring.term import Term, logarithmic_mean, mean, normalised


def force_field_error(asked: Sequence[Asked], answers: Answers, rule: ForceFieldRule) -> Term:
    """The force-field error of one model; lower is better.

        E = mean over domains d of Σ_type w(d, type) · M(d, type)
        M(d, type) = exp(mean over tasks of d of ln clip(charged / baseline, floor, cap))

    Weights are `weights_with_virial` where any task of the domain has a virial label, else `weights_without_virial`,
    brought to sum 1 over the types of which *the domain* has labels: a model without stress has the worst virial
    error at its full weight. A task without an answer counts as worst in every type it has labels for.

    Args:
        asked: the labelled-frames tasks of the suite, columns out of `rule.columns`.
        answers: the model's errors by task and label type.

    Raises:
        ScoringError: an unknown label type, a negative error, a baseline that is not positive.

    Source: LAMBench, arXiv:2504.19578; weights, cap and logarithmic mean as in its release 0.3.1. The floor and the
    charge for a missing stress are this judge's.
    """
    for task in asked:
        if unknown := set(task.columns) - set(rule.columns):
            raise ScoringError(f"task {task.name}: columns: no label type {sorted(unknown)} in the release")
    domains = tuple(_domain(name, tasks, answers, rule) for name, tasks in by_domain(asked).items())
    covered = sum(domain.covered for domain in domains)
    value = mean(_or_worst(domain.value, rule) for domain in domains) if covered else None
    share = 1 / max(len(domains), 1)
    parts = tuple(replace(domain, weight=share) for domain in domains)
    return Term("Force-field error", value, "mean over domains", covered, len(asked), parts=parts)


def type_weights(tasks: Sequence[Asked], rule: ForceFieldRule) -> Mapping[str, float]:
    """Weights of the label types in a domain that has these tasks; they sum to 1.

    Raises:
        ScoringError: no label type of the domain has a weight.
    """
    present = {column for task in tasks for column in task.columns}
    weights = rule.weights_with_virial if "virial" in present else rule.weights_without_virial
    kept = {name: weight for name, weight in weights.items() if name in present}
    if not kept:
        raise ScoringError(f"task {tasks[0].name}: columns: none of {sorted(present)} has a weight")
    total = math.fsum(kept.values())
    return {name: weight / total for name, weight in kept.items()}


def _domain(name: str, tasks: Sequence[Asked], answers: Answers, rule: ForceFieldRule) -> Term:
    """One domain: its label types, weighted."""
    types = tuple(
        _label_type(label, weight, [t for t in tasks if label in t.columns], answers, rule)
        for label, weight in type_weights(tasks, rule).items()
    )
    covered = sum(is_answered(answers, task) for task in tasks)
    # Weights that sum to 1 only up to rounding must not lift the error above its cap.
    total = math.fsum(part.weight * _or_worst(part.value, rule) for part in types)
    value = min(total, max(_or_worst(part.value, rule) for part in types)) if covered else None
    return Term(name, value, "weighted mean over label types", covered, len(tasks), parts=types)


def _label_type(label: str, weight: float, tasks: Sequence[Asked], answers: Answers, rule: ForceFieldRule) -> Term:
    """One label type of one domain: the logarithmic mean over the tasks that have such labels."""
    leaves = tuple(_task(task.name, label, answers, rule) for task in tasks)
    covered = sum(leaf.covered for leaf in leaves)
    value = logarithmic_mean(_or_worst(leaf.value, rule) for leaf in leaves) if covered else None
    return Term(label, value, "logarithmic mean over tasks", covered, len(leaves), weight, parts=leaves)


def _task(name: str, label: str, answers: Answers, rule: ForceFieldRule) -> Term:
    error = answer(answers, name, label)
    if error is None:
        return Term(name, None, "no answer: counted as worst", 0, 1)
    value = normalised(error.charged, error.baseline, rule.cap, rule.floor)
    return Term(name, value, "charged error / baseline", 1, 1)


def _or_worst(value: float | None, rule: ForceFieldRule) -> float:
    return normalised(value, 1.0, rule.cap, rule.floor)
