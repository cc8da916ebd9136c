"""The LAMBench force-field error: how far from a label a model's energy, forces and virial are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from scoring.errors import ScoringError
from scoring.lambench.answers import Answers, AskedTask, by_domain, error_leaf
from scoring.lambench.rules import ForceFieldRule
from scoring.tree import How, Node


def force_field_tree(asked: Sequence[AskedTask], answers: Answers, rule: ForceFieldRule) -> Node:
    """The force-field error of one model; lower is better.

        E = mean over domains d of Σ_type w(d, type) · M(d, type)
        M(d, type) = exp(mean over tasks of d of ln clip(error / baseline, floor, cap))

    Weights are `weights_with_virial` where any task of the domain has a virial label, else `weights_without_virial`,
    brought to sum 1 over the types of which *the domain* has labels. What a model has no answer to counts as the rule
    says: `worst`, also in the virial of a model without stress; or `unscored`, as LAMBench does it: then the model has
    no value in that domain and no score.

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
    return Node(
        "Force-field error",
        "mean over domains",
        parts=tuple(_domain(name, tasks, answers, rule) for name, tasks in by_domain(asked).items()),
        absent=rule.absent,
        source=rule.source,
    )


def type_weights(tasks: Sequence[AskedTask], rule: ForceFieldRule) -> Mapping[str, float]:
    """Weights of the label types in a domain that has these tasks; they sum to 1.

    Raises:
        ScoringError: no label type of the domain has a weight, or all are 0.
    """
    present = {column for task in tasks for column in task.columns}
    weights = rule.weights_with_virial if "virial" in present else rule.weights_without_virial
    kept = {name: weight for name, weight in sorted(weights.items()) if name in present}
    total = math.fsum(kept.values())
    if not total > 0:
        raise ScoringError(
            f"domain {tasks[0].domain}: the weights of its label types ({', '.join(sorted(present))}) sum to zero"
        )
    return {name: weight / total for name, weight in kept.items()}


def _domain(name: str, tasks: Sequence[AskedTask], answers: Answers, rule: ForceFieldRule) -> Node:
    """One domain: its label types, weighted."""
    types = tuple(
        _label_type(label, weight, [t for t in tasks if label in t.columns], answers, rule)
        for label, weight in type_weights(tasks, rule).items()
    )
    return Node(name, "weighted mean over label types", parts=types, absent=rule.absent, pool=True)


def _label_type(label: str, weight: float, tasks: Sequence[AskedTask], answers: Answers, rule: ForceFieldRule) -> Node:
    """One label type of one domain: the logarithmic mean over the tasks that have such labels."""
    return Node(
        label,
        "logarithmic mean over tasks",
        weight,
        tuple(_task(task.name, label, answers, rule) for task in tasks),
        How.LOGARITHMIC_MEAN,
        rule.absent,
        decimals=rule.logarithmic_mean_decimals,
    )


def _task(name: str, label: str, answers: Answers, rule: ForceFieldRule) -> Node:
    leaf = error_leaf(answers, name, label, rule.cap, rule.floor)
    said = rule.in_words if leaf.raw.value is not None else f"no answer: {rule.missing.in_words}"
    return Node(name, said, leaf=leaf, unit=name)
