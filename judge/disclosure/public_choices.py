"""Public error sums by disjoint groups of items: pure functions from sums to what `scoring.choice` ranks.

`judge.disclosure.choice_groups` makes the groups. Sums over hidden items have two digits, like parts of a metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from judge.disclosure.choice_groups import ChoiceGroup
from judge.disclosure.redaction import SCORE_DIGITS, TIME_DIGITS, rounded
from judge.ranking.error_sums import ErrorSums
from scoring.choice import ErrorColumn, ModelSums, ReferenceSums, SumGroup
from tasks.structures.frames import Float


class ResultSums(NamedTuple):
    """The sums of a metric of one result over the groups of its items.

    Args:
        floor: the least normalised error that counts.
    """

    groups: tuple[ChoiceGroup, ...]
    sums: ErrorSums
    floor: float


def public_column(metric: str, results: Mapping[str, ResultSums], *, hidden: bool) -> ErrorColumn | None:
    """The public sums of a metric of a task; None if there are none.

    If the results of a hidden data set have different groups, nothing is public: the groups of one result and those of
    another together could concern few items.

    Args:
        results: by submission; those without groups are left out.
    """
    known = {id: each for id, each in results.items() if each.groups}
    if not known or (hidden and len({each.groups for each in known.values()}) > 1):
        return None
    digits = TIME_DIGITS if hidden else SCORE_DIGITS
    references: dict[ReferenceSums, int] = {}
    models: dict[str, ModelSums] = {}
    for id, each in known.items():
        number = references.setdefault(_reference(each, digits), len(references))
        sums = each.sums
        errors, spreads, slopes = (_cut(values, digits) for values in (sums.errors, sums.spreads, sums.slopes))
        models[id] = ModelSums(number, errors, spreads, slopes, tuple(sums.failed.tolist()))
    root = next(iter(known.values())).sums.root
    return ErrorColumn(metric, (), root, tuple(references), models)


def _reference(each: ResultSums, digits: int) -> ReferenceSums:
    sums = each.sums
    columns = (
        each.groups,
        sums.n_clusters.tolist(),
        _cut(sums.trivial, digits),
        _cut(sums.trivial_squares, digits),
    )
    groups = [
        SumGroup(group.elements, tuple(map(str, group.classes)), group.n_items, n_clusters, trivial, squares)
        for group, n_clusters, trivial, squares in zip(*columns, strict=True)
    ]
    return ReferenceSums(tuple(groups), rounded(sums.factor, SCORE_DIGITS), rounded(each.floor, SCORE_DIGITS))


def _cut(values: Float, digits: int) -> tuple[float, ...]:
    return tuple(rounded(value, digits) for value in values.tolist())
