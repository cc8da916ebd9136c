"""Public error sums by disjoint groups of items: pure functions from sums to what `scoring.choice` ranks.

`judge.disclosure.choice_groups` makes the groups. Sums over hidden items have two digits, like parts of a metric, and
their blocks, which may be of few items, are not public.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from judge.disclosure.choice_groups import ChoiceGroup
from judge.disclosure.redaction import SCORE_DIGITS, TIME_DIGITS, rounded
from judge.ranking.error_sums import ErrorSums
from scoring.choice_sums import ErrorColumn, ModelSums, ReferenceSums, SumGroup
from tasks.structures.frames import Float

BLOCK_DIGITS = 4
"""Blocks serve intervals alone."""


class PublicSums(NamedTuple):
    """The public sums of a metric of one result.

    Args:
        key: equal for equal references.
        reference: its groups; the least error that counts is not in it.
        model: its sums; the number of the reference is not in it.
        floor: the least normalised error that counts.
    """

    key: str
    reference: ReferenceSums
    model: ModelSums
    root: bool
    floor: float


def public_reference(groups: tuple[ChoiceGroup, ...], sums: ErrorSums, *, hidden: bool) -> ReferenceSums:
    """The sums that models share."""
    trivial, squares = (_cut(values, hidden) for values in (sums.trivial, sums.trivial_squares))
    columns = zip(groups, sums.n_clusters.tolist(), trivial, squares, strict=True)
    return ReferenceSums(
        tuple(
            SumGroup(group.elements, group.classes, group.n_items, n, of_trivial, square)
            for group, n, of_trivial, square in columns
        ),
        rounded(sums.factor, SCORE_DIGITS),
        block_groups=() if hidden else tuple(sums.block_groups.tolist()),
        block_trivial=_blocks(sums.block_trivial, hidden),
        dependence=rounded(sums.dependence, TIME_DIGITS if hidden else SCORE_DIGITS),
    )


def public_model(sums: ErrorSums, *, hidden: bool) -> ModelSums:
    """The sums of a model."""
    errors, spreads, slopes = (_cut(values, hidden) for values in (sums.errors, sums.spreads, sums.slopes))
    blocks = _blocks(sums.block_errors, hidden)
    return ModelSums(0, errors, spreads, slopes, tuple(sums.failed.tolist()), blocks)


def public_column(metric: str, results: Mapping[str, PublicSums], *, hidden: bool) -> ErrorColumn | None:
    """The public sums of a metric of a task; None if there are none.

    If the results of a hidden data set have different groups, nothing is public: the groups of one result and those of
    another together could concern few items.

    Args:
        results: by submission.
    """
    references: dict[tuple[str, float], ReferenceSums] = {}
    numbers: dict[tuple[str, float], int] = {}
    models: dict[str, ModelSums] = {}
    for id, each in results.items():
        key = each.key, rounded(each.floor, SCORE_DIGITS)
        if key not in references:
            references[key], numbers[key] = replace(each.reference, floor=key[1]), len(numbers)
        models[id] = replace(each.model, reference=numbers[key])
    if not models or (hidden and len({_items(reference) for reference in references.values()}) > 1):
        return None
    root = next(iter(results.values())).root
    return ErrorColumn(metric, (), root, tuple(references.values()), models)


def _items(reference: ReferenceSums) -> tuple[object, ...]:
    return tuple((group.elements, group.classes, group.n_items) for group in reference.groups)


def _blocks(values: Float, hidden: bool) -> tuple[float, ...]:
    return () if hidden else tuple(rounded(value, BLOCK_DIGITS) for value in values.tolist())


def _cut(values: Float, hidden: bool) -> tuple[float, ...]:
    digits = TIME_DIGITS if hidden else SCORE_DIGITS
    return tuple(rounded(value, digits) for value in values.tolist())
