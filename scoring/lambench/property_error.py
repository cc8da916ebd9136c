"""The LAMBench property error: the errors of domain-specific quantities against their references."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from scoring.lambench.answers import Answers, AskedTask, answer, by_domain, error_leaf, is_answered
from scoring.lambench.rules import Missing, PropertyRule
from scoring.tree import Node


def property_tree(
    tasks: Sequence[AskedTask], answers: Answers, rule: PropertyRule, dropped: Collection[str] = ()
) -> Node:
    """The property error of one model; lower is better.

        E = mean over domains d of mean over metric columns c of the tasks of d of clip(error_c / baseline_c, 0, cap)

    Each column has the same weight within its domain. A column without an answer counts by `rule.missing`: `worst`; or
    it is `skipped`, as in LAMBench, and the others share its weight. If a release divides by the success rate, the
    capped value is divided by it (`MeasuredError.divisor`).

    Args:
        tasks: the property tasks of the suite, with the metrics that count.
        answers: the model's errors by task and metric.
        dropped: domains that are not scored for any model: see `dropped_domains`.

    Raises:
        ScoringError: an error is negative, or a baseline is not positive.

    Source: LAMBench, arXiv:2504.19578, "domain-specific property tasks", as in its release 0.3.1.
    """
    domains = {name: in_domain for name, in_domain in by_domain(tasks).items() if name not in dropped}
    without = f", without {', '.join(sorted(dropped))}: some model has nothing of it" if dropped else ""
    return Node(
        "Property error",
        f"mean over domains{without}",
        parts=tuple(_domain(name, in_domain, answers, rule) for name, in_domain in domains.items()),
        absent=rule.absent_domain,
        source=rule.source,
    )


def dropped_domains(tasks: Mapping[str, Sequence[AskedTask]], answers: Mapping[str, Answers]) -> dict[str, str]:
    """By domain in which a model has no number at all, the first such model. LAMBench 0.3 drops it for all models.

    A model without a number in any domain drops nothing.

    Args:
        tasks: by model.
        answers: by model.
    """
    dropped: dict[str, str] = {}
    for model in sorted(tasks):
        answered = {
            name: any(is_answered(answers[model], task.name, task.columns) for task in in_domain)
            for name, in_domain in by_domain(tasks[model]).items()
        }
        if any(answered.values()):
            dropped |= {name: model for name, any_number in answered.items() if not any_number and name not in dropped}
    return dropped


def _domain(name: str, tasks: Sequence[AskedTask], answers: Answers, rule: PropertyRule) -> Node:
    """One domain: the mean over the columns of all its tasks."""
    return Node(
        name,
        "mean over metric columns",
        parts=tuple(_task(task, answers, rule) for task in tasks),
        absent=rule.absent,
        pool=True,
    )


def _task(task: AskedTask, answers: Answers, rule: PropertyRule) -> Node:
    """One task: the mean over its columns. Its weight is the number of its columns that count."""
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
