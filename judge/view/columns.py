"""The scores as columns of a table, and the tasks by kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from judge.disclosure.redaction import TIME_DIGITS
from judge.ranking.leaderboard import Leaderboard, Row
from judge.view import formatting
from judge.view.goodness import goodness
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
    FORCE_FIELD: "Energy, force and virial RMSE, each divided by that of a composition-only model: logarithmic mean "
    "over tasks, weighted mean over label types, mean over domains. 0 is perfect, 1 is no better than that model.",
    PROPERTY_ERROR: "Errors of barriers, binding, crystal volumes, moduli, vibrations and other properties, each "
    "divided by that of a trivial model: mean over metrics, then over domains. 0 is perfect, 1 is no better than that "
    "model.",
    EFFICIENCY: "{speed} µs per atom over the mean time per atom of a single structure, on the judge’s clock. A "
    "structure that failed counts {slow} s per atom; a task without any time counts as infinitely slow. Times and "
    "efficiency are published to two digits.",
    INSTABILITY: "Energy drift in constant-energy molecular dynamics: log₁₀ of the drift over {tolerance} eV/atom/ps, "
    "0 if the drift is smaller; mean over runs. A run that fails counts {worst}; one that ran out of time is left out.",
}


def score_text(key: str, value: float | None) -> str:
    """A value of a score as the pages show it. A score that is computed from times has as few digits as the times."""
    return formatting.number(value, TIME_DIGITS) if SCORES[key].from_times else formatting.decimals(value)


def score_span(key: str, low: float, high: float) -> str:
    """The range between two values of a score, as text."""
    return f"{score_text(key, low)}\u00a0– {score_text(key, high)}"


class Column(NamedTuple):
    """One score as a column of a table.

    Args:
        full: the worst value if lower is better, else the best one; see `judge.view.goodness`.
        best: the best value of the ranked models by `class_of`.
        classes: hardware classes; values of different classes do not compare. Empty if there are fewer than two.
        tolerances: drift tolerances of the release, without the default.
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
        """The value that the column is sorted by; tasks that were left out count as worst."""
        term = self.term(row)
        return term.value if term.at_worst is None else term.at_worst

    def text(self, value: float | None) -> str:
        """A value of the score as the pages show it."""
        return score_text(self.key, value)

    def span(self, interval: Interval) -> str:
        """The interval as text."""
        return score_span(self.key, *interval[:2])

    def goodness(self, value: float | None) -> float | None:
        """The length of the bar: 0 for the worst to 1 for the best."""
        return goodness(value, self.full, lower_is_better=self.lower_is_better)

    def class_of(self, row: Row) -> str:
        """The hardware class of a row's value; empty if `classes` is."""
        return hardware_of(row) if self.classes else ""

    def is_best(self, row: Row) -> bool:
        """True for the best ranked model of its hardware class."""
        value = self.order(row)
        return row.rank is not None and value is not None and value == self.best.get(self.class_of(row))

    def others(self, row: Row) -> Mapping[float, Term]:
        """The instability at each tolerance other than the default; empty for other scores."""
        tolerances = self.tolerances if self.key == INSTABILITY else ()
        return {tolerance: row.scores[instability_at(tolerance)] for tolerance in tolerances}


def columns_of(board: Leaderboard) -> tuple[Column, ...]:
    """The scores that the suite has tasks for."""
    worst = board.release.instability.worst_decades
    numbers = _numbers(board.release)
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
            _ABOUT[key].format_map(numbers),
            full,
            {},
            _classes(board, key),
            board.release.instability.tolerances[1:],
        )
        columns.append(column._replace(best=_best(board, column)))
    return tuple(columns)


def _numbers(release: Release) -> dict[str, str]:
    """The numbers in the texts about the scores."""
    return {
        "speed": formatting.number(release.efficiency.reference_us_per_atom, 3),
        "slow": formatting.number(FAILURE_COST / 1e6, 1),
        "tolerance": formatting.number(release.instability.tolerances[0], 2),
        "worst": formatting.number(release.instability.worst_decades, 1),
    }


def _classes(board: Leaderboard, key: str) -> tuple[str, ...]:
    """The hardware classes of a score that is computed from times; empty if there are fewer than two."""
    classes = sorted({hardware_of(row) for row in board.rows} - {""}) if SCORES[key].from_times else []
    return tuple(classes) if len(classes) > 1 else ()


def _best(board: Leaderboard, column: Column) -> dict[str, float]:
    best: dict[str, float] = {}
    for row in board.ranked:
        value, hardware = column.order(row), column.class_of(row)
        if value is not None:
            best[hardware] = (min if column.lower_is_better else max)(value, best.get(hardware, value))
    return best


@dataclass(frozen=True)
class TaskSummary:
    """A task of the suite, with the number of submissions whose verdict is OK."""

    task: Task
    n_items: int
    n_ok: int


class TaskGroup(NamedTuple):
    """The tasks of one kind."""

    traits: Traits
    tasks: tuple[TaskSummary, ...]


def task_groups(board: Leaderboard) -> tuple[TaskGroup, ...]:
    """The tasks of the suite by kind. Kinds and tasks are in the order of the suite."""
    groups: dict[str, list[TaskSummary]] = {}
    for index, task in enumerate(board.suite.tasks):
        lines = [row.tasks[index] for row in board.rows]
        n_items = max((line.n_items for line in lines), default=0)
        groups.setdefault(task.kind, []).append(TaskSummary(task, n_items, sum(line.ok for line in lines)))
    return tuple(TaskGroup(tasks[0].task.traits, tuple(tasks)) for tasks in groups.values())
