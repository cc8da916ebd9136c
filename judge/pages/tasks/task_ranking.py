"""All models in one task: the score over it alone, the raw metrics behind, and between whom order is claimed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from judge.ranking.leaderboard import Leaderboard, Row, TaskLine
from judge.view.score_display import known, uncertainty_of
from judge.view.score_shares import TaskScore
from scoring.intervals import Interval
from tasks.metrics.measurement import Metric

Shares = Mapping[str, Mapping[str, TaskScore]]
"""By submission and task."""


class Place(NamedTuple):
    """From the first to the last place that a model may have, order claimed only where intervals are apart."""

    first: int
    last: int


class RawCell(NamedTuple):
    """A metric that is scored, with failures charged; None where the model has none of it."""

    record: Metric | None
    interval: Interval | None


class RankLine(NamedTuple):
    """A model in one task.

    Args:
        value: the score over this task alone; None where it has none.
        counted: what the task counts in its score then; None: it is left out, or enters no score.
        place: None where it has no value, or takes no part: it is there for comparison.
    """

    row: Row
    line: TaskLine
    value: float | None
    counted: float | None
    interval: Interval | None
    place: Place | None
    raw: tuple[RawCell, ...]

    @property
    def n_failed(self) -> int:
        return sum(self.line.result.failures.values()) if self.line.result else 0


class RankGroup(NamedTuple):
    """Models that are compared with one another: `hardware` is empty but where times are compared."""

    hardware: str
    lines: tuple[RankLine, ...]

    @property
    def ordered(self) -> bool:
        """Whether any two can be told apart; true where there are no two."""
        places = [line.place for line in self.lines if line.place is not None]
        return len(places) < 2 or len(set(places)) > 1

    @property
    def overlapping(self) -> bool:
        """Whether any two cannot."""
        return any(line.place is not None and line.place.first != line.place.last for line in self.lines)


def ranking(
    board: Leaderboard, index: int, shares: Shares, metrics: Sequence[str], *, lower: bool
) -> tuple[RankGroup, ...]:
    """The models in the task of that index, best first, those without a value last; times within one hardware class.

    Args:
        metrics: that are scored in this task, by their names in the records.
        lower: whether a lower score is better.
    """
    groups: dict[str, list[RankLine]] = {}
    for row in board.rows:
        line = _line(board, row, index, shares, metrics)
        groups.setdefault(_hardware(line), []).append(line)
    found = []
    for hardware, lines in sorted(groups.items(), key=lambda group: (not group[0], group[0])):
        found.append(RankGroup(hardware, tuple(sorted(_placed(lines, lower), key=lambda line: _order(line, lower)))))
    return tuple(found)


def _line(board: Leaderboard, row: Row, index: int, shares: Shares, metrics: Sequence[str]) -> RankLine:
    line, own = row.tasks[index], shares[row.submission.id].get(row.tasks[index].task.name)
    if own is None:
        return RankLine(row, line, None, None, None, None, _raw(board, row, line, "", metrics))
    value, interval = own.value, own.interval(uncertainty_of(board, own.key, row))
    counted = own.counted if value is None else None
    return RankLine(row, line, value, counted, interval, None, _raw(board, row, line, own.key, metrics))


def _raw(board: Leaderboard, row: Row, line: TaskLine, key: str, metrics: Sequence[str]) -> tuple[RawCell, ...]:
    records = line.result.metrics if line.result is not None else {}
    firm = uncertainty_of(board, key, row)
    intervals = firm.metrics if firm is not None else {}
    return tuple(RawCell(records.get(name), known(intervals.get((line.task.name, name)))) for name in metrics)


def _hardware(line: RankLine) -> str:
    """The class in which the times of a task of them compare; empty for any other, and where there is none."""
    if not line.line.task.traits.times or line.value is None or line.line.result is None:
        return ""
    return line.line.result.provenance.origin.hardware


def _placed(lines: Sequence[RankLine], lower: bool) -> list[RankLine]:
    """The lines with their places: one is before another only if their intervals do not meet."""
    within = [line for line in lines if line.value is not None and not line.row.reference]
    costs = [_costs(line.interval, lower) for line in within if line.interval is not None]
    lows, highs = sorted(low for low, _ in costs), sorted(high for _, high in costs)
    placed = []
    for line in lines:
        if line.value is None or line.row.reference:
            placed.append(line)
        elif line.interval is None:  # unknown is not narrow
            placed.append(line._replace(place=Place(1, len(within))))
        else:
            low, high = _costs(line.interval, lower)
            last = len(within) - (len(lows) - bisect_right(lows, high))
            placed.append(line._replace(place=Place(1 + bisect_left(highs, low), last)))
    return placed


def _costs(interval: Interval, lower: bool) -> tuple[float, float]:
    """The ends, so that less is better."""
    return (interval.low, interval.high) if lower else (-interval.high, -interval.low)


def _order(line: RankLine, lower: bool) -> tuple[bool, float, str]:
    value = line.value
    cost = 0.0 if value is None else (value if lower else -value)
    return value is None, cost, line.row.submission.id
