"""The LAMBench force-field error: the errors of a model's energy, forces and virial against the labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from scoring.errors import ScoringError
from scoring.lambench.answers import Answers, AskedTask, by_domain, error_leaf
from scoring.lambench.rules import ForceFieldRule
from scoring.tree import How, Node


def force_field_tree(tasks: Sequence[AskedTask], answers: Answers, rule: ForceFieldRule) -> Node:
    """The force-field error of one model; lower is better.

        E = mean over domains d of Σ_type w(d, type) · M(d, type)
        M(d, type) = exp(mean over tasks of d of ln clip(error / baseline, floor, cap))

    The weights are `weights_with_virial` if any task of the domain has virial labels, else `weights_without_virial`.
    They are normalised to sum 1 over the label types of *the domain*. A missing answer counts by `rule.missing`:
    `worst`, also for the virial of a model without stress; or `unscored`, as in LAMBench: then the model has no value
    in the domain, and no score.

    Args:
        tasks: the labelled-frames tasks of the suite, with columns from `rule.columns`.
        answers: the model's errors by task and label type.

    Raises:
        ScoringError: a label type is unknown, an error is negative, or a baseline is not positive.

    Source: LAMBench, arXiv:2504.19578; weights, cap and logarithmic mean as in its release 0.3.1. This judge adds the
    floor, and the cost of a missing stress.
    """
    for task in tasks:
        if unknown := set(task.columns) - set(rule.columns):
            raise ScoringError(f"task {task.name}: columns: no label type {sorted(unknown)} in the release")
    return Node(
        "Force-field error",
        "mean over domains",
        parts=tuple(_domain(name, in_domain, answers, rule) for name, in_domain in by_domain(tasks).items()),
        absent=rule.absent,
        source=rule.source,
    )


def type_weights(tasks: Sequence[AskedTask], rule: ForceFieldRule) -> Mapping[str, float]:
    """By label type, its weight in a domain with these tasks; the weights sum to 1.

    Raises:
        ScoringError: no label type of the domain has a weight above 0.
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
    text = rule.in_words if leaf.raw.value is not None else f"no answer: {rule.missing.in_words}"
    return Node(name, text, leaf=leaf, unit=name)
