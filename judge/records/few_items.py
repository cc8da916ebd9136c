"""So few items that a number over them would reveal the label of a single one, if the data set is hidden.

Numbers over a part of the items, too: a model chooses which items it answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from tasks.kinds.registry import KINDS
from tasks.learning.learning_curve import SPREAD
from tasks.metrics.metric import Metric, MetricPart
from tasks.observing.probe_errors import is_probe

LEAST_ITEMS = 5
"""A part of a hidden data set with fewer items would reveal single structures."""

# Spreads over the few seeds of trainings, each of many frames.
_OVER_SEEDS = frozenset(SPREAD.format(stem) for stem in ("force", "energy"))


def n_answered(number: Metric | MetricPart) -> int:
    """How many items a value is over: those that did not fail."""
    return number.n_items - number.n_failed


def is_over_few(number: Metric | MetricPart) -> bool:
    """Whether its value is over so few items that it reveals single ones."""
    return 0 < n_answered(number) < LEAST_ITEMS


def over_labels(kind: str, metrics: Mapping[str, Metric]) -> list[Metric]:
    """The metrics that compare the answers to single items with labels."""
    if not KINDS.traits(kind).labelled:
        return []
    return [metric for name, metric in metrics.items() if not (is_probe(name) or name in _OVER_SEEDS)]
