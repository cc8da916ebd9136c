"""The scores as columns of a table, and the tasks by kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from judge.disclosure.redaction import TIME_DIGITS
from judge.ranking.leaderboard import Leaderboard, Row
from judge.view import formatting
from judge.view.leaderboard_export import hardware_of
from scoring import Release, Term
from scoring.intervals import Interval
from scoring.names import (
    EFFICIENCY,
    FORCE_FIELD,
    INSTABILITY,
    LAMBENCH,
    PROPERTY_ERROR,
    SCORES,
    instability_at,
    of_scheme,
)
from tasks.kind import Traits
from tasks.suites.suite import Task
from tasks.timing.efficiency_metrics import FAILURE_COST

_ABOUT = {
    FORCE_FIELD: "Energy, force and virial RMSE beside those of a composition-only model: logarithmic mean over "
    "tasks, weighted over label types, mean over domains. 0 is perfect, 1 is no better than the trivial model.",
    PROPERTY_ERROR: "Barriers, binding, crystals’ volumes, moduli and vibrations and the like, beside a trivial "
    "model: mean over metrics, then over domains. 0 is perfect, 1 is no better.",
    EFFICIENCY: "{speed} µs per atom over the mean time of a single structure, on the judge’s clock. A "
    "structure that failed counts {slow} s per atom; a task without any time, as infinitely slow. Times are published "
    "to two digits, and so is this.",
    INSTABILITY: "Decades by which the energy drift of constant-energy dynamics exceeds {tolerance} eV/atom/ps, mean "
    "over runs. A run that blows up counts {worst}; one that ran out of time is left out.",
}


def score_text(key: str, value: float | None) -> str:
    """A value of a score as it is shown: what is made of times has no more digits than these."""
    return formatting.number(value, TIME_DIGITS) if SCORES[key].from_times else formatting.decimals(value)


def score_span(key: str, low: float, high: float) -> str:
    """From one value of a score to another."""
    return f"{score_text(key, low)}\u00a0–\u00a0{score_text(key, high)}"


class Column(NamedTuple):
    """One score as a column: how it is called, which way is better, and how long its bar may get.

    Args:
        best: of those that are ranked; of efficiency, by class of hardware, else under the empty name.
        classes: of hardware, of which there are several, and values of one are not to be held against another's.
        tolerances: other than the default, that the release states for drifts.
    """

    key: str
    label: str
    lower_is_better: bool
    noun: str
    about: str
    full: float
    best: Mapping[str, float]
    classes: tuple[str, ...] = ()
    tolerances: tuple[float, ...] = ()

    @property
    def arrow(self) -> str:
        return "↓" if self.lower_is_better else "↑"

    def term(self, row: Row) -> Term:
        """The score of a row."""
        return row.scores[self.key]

    def order(self, row: Row) -> float | None:
        """What the column is sorted by: what was left out counts as worst."""
        return _order(self.term(row))

    def text(self, value: float | None) -> str:
        """A value of the score as it is shown."""
        return score_text(self.key, value)

    def span(self, interval: Interval) -> str:
        """From one end to the other, as values are shown."""
        return score_span(self.key, *interval[:2])

    def share(self, row: Row) -> float:
        """The length of the bar, 0 to 1."""
        return (self.term(row).value or 0.0) / self.full

    def class_of(self, row: Row) -> str:
        """The class of hardware that a row's value belongs to; empty where they are all of one."""
        return hardware_of(row) if self.classes else ""

    def is_best(self, row: Row) -> bool:
        """True for the best of those that are ranked, within one class of hardware."""
        value = self.order(row)
        return row.rank is not None and value is not None and value == self.best.get(self.class_of(row))

    def others(self, row: Row) -> Mapping[float, Term]:
        """The same score at tolerances other than the default."""
        tolerances = self.tolerances if self.key == INSTABILITY else ()
        return {tolerance: row.scores[instability_at(tolerance)] for tolerance in tolerances}


def _order(term: Term) -> float | None:
    return term.value if term.at_worst is None else term.at_worst


def columns_of(board: Leaderboard) -> tuple[Column, ...]:
    """The scores that the suite has tasks for."""
    worst = board.release.instability.worst_decades
    told = _numbers(board.release)
    columns = []
    for key in of_scheme(LAMBENCH):
        if board.rows and not board.rows[0].scores[key].total:
            continue
        values = [value for row in board.rows if (value := row.scores[key].value) is not None]
        full = {INSTABILITY: worst, EFFICIENCY: max([*values, 1e-9])}.get(key, 1.0)
        column = Column(
            key,
            SCORES[key].label,
            SCORES[key].lower_is_better,
            SCORES[key].counts,
            _ABOUT[key].format_map(told),
            full,
            {},
            _classes(board, key),
            board.release.instability.tolerances[1:],
        )
        columns.append(column._replace(best=_best(board, column)))
    return tuple(columns)


def _numbers(release: Release) -> dict[str, str]:
    """The numbers that the texts about the scores have."""
    return {
        "speed": formatting.number(release.efficiency.reference_us_per_atom, 3),
        "slow": formatting.number(FAILURE_COST / 1e6, 1),
        "tolerance": formatting.number(release.instability.tolerances[0], 2),
        "worst": formatting.number(release.instability.worst_decades, 1),
    }


def _classes(board: Leaderboard, key: str) -> tuple[str, ...]:
    """The classes of hardware that a score is only comparable within, where there are several."""
    classes = sorted({hardware_of(row) for row in board.rows} - {""}) if SCORES[key].from_times else []
    return tuple(classes) if len(classes) > 1 else ()


def _best(board: Leaderboard, column: Column) -> dict[str, float]:
    best: dict[str, float] = {}
    for row in board.ranked:
        value, of = column.order(row), column.class_of(row)
        if value is not None:
            best[of] = (min if column.lower_is_better else max)(value, best.get(of, value))
    return best


@dataclass(frozen=True)
class TaskSummary:
    """One task of the suite over all submissions."""

    task: Task
    n_items: int
    n_ok: int


class TaskGroup(NamedTuple):
    """The tasks of one kind."""

    traits: Traits
    tasks: tuple[TaskSummary, ...]


def task_groups(board: Leaderboard) -> tuple[TaskGroup, ...]:
    """The tasks of the suite by kind, both in the order of the suite."""
    groups: dict[str, list[TaskSummary]] = {}
    for summary in _task_summaries(board):
        groups.setdefault(summary.task.kind, []).append(summary)
    return tuple(TaskGroup(tasks[0].task.traits, tuple(tasks)) for tasks in groups.values())


def _task_summaries(board: Leaderboard) -> tuple[TaskSummary, ...]:
    """The tasks of the suite, in its order."""
    lines = [[row.tasks[index] for row in board.rows] for index in range(len(board.suite.tasks))]
    return tuple(
        TaskSummary(
            task,
            max((line.result.n_items for line in column if line.result is not None), default=0),
            sum(line.ok for line in column),
        )
        for task, column in zip(board.suite.tasks, lines, strict=True)
    )
