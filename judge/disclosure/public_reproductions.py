"""Numbers that others published, beside those of this judge. Pure. Numbers of hidden data sets are left out."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from judge.disclosure.public_curves import is_hidden
from judge.ranking.leaderboard import Leaderboard, Row, TaskLine
from tasks.metrics.measurement import Items
from tasks.suites.published_numbers import PublishedNumber

ItemsTables = Mapping[tuple[str, str], Items]
"""By submission and task."""


class Reproduction(NamedTuple):
    """A published number and that of this judge.

    Args:
        ours: of the judged submission; None if its task was not judged, or gave no such number.
        unit: of both numbers.
    """

    row: Row
    published: PublishedNumber
    ours: float | None
    unit: str

    @property
    def relative(self) -> float | None:
        """(ours − theirs) / |theirs|; None where that has no value."""
        theirs = self.published.value
        return None if self.ours is None or theirs == 0 else (self.ours - theirs) / abs(theirs)

    @property
    def agrees(self) -> bool | None:
        """Whether ours is as close as the suite states; None without a number of ours."""
        return None if self.ours is None else self.published.agrees(self.ours)


def reproductions(board: Leaderboard, tables: ItemsTables, public: Collection[str]) -> Iterator[Reproduction]:
    """Every published number for each submission of that name on the board, in the order of the suite.

    Args:
        public: names of the public data sets.
    """
    for number in board.suite.published:
        for row in board.rows:
            card = row.submission.card
            if number.is_of(card.name, card.version):
                line = next(line for line in row.tasks if line.task.name == number.task)
                if not is_hidden(line, public):
                    yield Reproduction(row, number, *_ours(line, number, tables))


def _ours(line: TaskLine, number: PublishedNumber, tables: ItemsTables) -> tuple[float | None, str]:
    """The judge's number and its unit."""
    if line.result is None:
        return None, number.unit
    if number.item:
        items = tables.get((line.result.submission, line.task.name))
        return (None if items is None else _of_item(items, number)), number.unit
    metric = line.result.metrics.get(number.name)
    return (metric.value, metric.unit) if metric else (None, "")


def _of_item(items: Items, number: PublishedNumber) -> float | None:
    if number.item not in items.id or number.name not in items.columns:
        return None
    value = float(items.columns[number.name][list(items.id).index(number.item)])
    return value if math.isfinite(value) else None
