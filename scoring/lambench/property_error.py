"""The LAMBench property error: how far domain-specific quantities are from their reference."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from scoring.lambench.answers import Answers, AskedTask, answer, by_domain, error_leaf, is_answered
from scoring.lambench.rules import Missing, PropertyRule
from scoring.tree import Node


def property_tree(
    asked: Sequence[AskedTask], answers: Answers, rule: PropertyRule, dropped: Collection[str] = ()
) -> Node:
    """The property error of one model; lower is better.

        E = mean over domains d of mean over metric columns c of the tasks of d of clip(error_c / baseline_c, 0, cap)

    Each column has the same weight within its domain. A column without an answer counts as `rule.missing` says:
    `worst`; or it is `skipped`, as LAMBench does it, and the others share its weight. Where a release divides by the
    success rate, the capped value is divided by it (`Error.divisor`).

    Args:
        asked: the tasks of the suite with the metric names that count.
        answers: the model's errors by task and metric name.
        dropped: domains that no model is scored in: see `dropped_domains`.

    Raises:
        ScoringError: a negative error, or a baseline that is not positive.

    Source: LAMBench, arXiv:2504.19578, "domain-specific property tasks", as in its release 0.3.1.
    """
    domains = {name: tasks for name, tasks in by_domain(asked).items() if name not in dropped}
    without = f", without {', '.join(sorted(dropped))}: some model has nothing of it" if dropped else ""
    return Node(
        "Property error",
        f"mean over domains{without}",
        parts=tuple(_domain(name, tasks, answers, rule) for name, tasks in domains.items()),
        absent=rule.absent_domain,
        source=rule.source,
    )


def dropped_domains(asked: Mapping[str, Sequence[AskedTask]], answers: Mapping[str, Answers]) -> dict[str, str]:
    """The domains in which some model has no number at all, and that model: LAMBench 0.3 drops them for all models.

    A model without any number in any domain is no participant, and drops nothing.

    Args:
        asked: of each model.
        answers: of each model.
    """
    found: dict[str, str] = {}
    for model in sorted(asked):
        answered = {
            name: any(is_answered(answers[model], task.name, task.columns) for task in tasks)
            for name, tasks in by_domain(asked[model]).items()
        }
        if any(answered.values()):
            found |= {name: model for name, there in answered.items() if not there and name not in found}
    return found


def _domain(name: str, tasks: Sequence[AskedTask], answers: Answers, rule: PropertyRule) -> Node:
    """One domain: the mean over all its columns, whatever task they belong to."""
    return Node(
        name,
        "mean over metric columns",
        parts=tuple(_task(task, answers, rule) for task in tasks),
        absent=rule.absent,
        pool=True,
    )


def _task(task: AskedTask, answers: Answers, rule: PropertyRule) -> Node:
    """One task: the mean over its columns. It weighs as many columns as count in it."""
    leaves = tuple(_column(task, column, answers, rule) for column in sorted(task.columns))
    n_columns = len(leaves)
    if rule.missing is Missing.SKIPPED:
        n_columns = sum(leaf.leaf is not None and leaf.leaf.raw.value is not None for leaf in leaves)
    return Node(task.name, "mean over metric columns", n_columns, leaves, absent=rule.absent, unit=task.name)


def _column(task: AskedTask, column: str, answers: Answers, rule: PropertyRule) -> Node:
    leaf = error_leaf(answers, task.name, column, rule.cap, 0.0)
    error = answer(answers, task.name, column)
    if error is None:
        return Node(column, f"no answer: {rule.missing.in_words}", leaf=leaf)
    divided = " / success rate" if error.divisor != 1.0 else ""
    return Node(column, f"{rule.in_words}{divided}", leaf=leaf)
