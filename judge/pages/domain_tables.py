"""The ranking within each domain. A model made for one domain alone has a rank there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from judge.ranking.leaderboard import Leaderboard, Row
from judge.view.goodness import goodness
from judge.view.score_display import known, uncertainty_of
from scoring import Term
from scoring.intervals import Interval
from scoring.names import ERRORS, SCORES
from scoring.ranking import RankingEntry, ranking


class DomainCell(NamedTuple):
    """The error of a model in one domain; `term` is None if the model has no such error."""

    term: Term | None
    interval: Interval | None

    @property
    def value(self) -> float | None:
        return None if self.term is None else self.term.value

    @property
    def goodness(self) -> float | None:
        """The length of its bar."""
        return goodness(self.value, 1.0, lower_is_better=True)


class DomainLine(NamedTuple):
    """A model in one domain; `rank` is None if a task of the domain is not OK, or if the model is a reference."""

    row: Row
    rank: int | None
    cells: tuple[DomainCell, ...]


class DomainTable(NamedTuple):
    """One domain with all models, those without a rank last.

    Args:
        keys: keys of the scores whose errors are the columns.
    """

    title: str
    keys: tuple[str, ...]
    lines: tuple[DomainLine, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(SCORES[key].label for key in self.keys)

    @property
    def n_ranked(self) -> int:
        return sum(line.rank is not None for line in self.lines)


def domain_tables(board: Leaderboard, references: Collection[str] = ()) -> tuple[DomainTable, ...]:
    """A table for each domain with an error; none if there is only one such domain.

    Args:
        references: ids of the submissions that have no rank.
    """
    if not board.rows:
        return ()
    tables = []
    for domain in dict.fromkeys(task.domain for task in board.suite.tasks):
        keys = [key for key in ERRORS if any(_term(row, key, domain) is not None for row in board.rows)]
        if keys:
            tables.append(DomainTable(domain, tuple(keys), _lines(board, domain, keys, references)))
    return tuple(tables) if len(tables) > 1 else ()


class MatrixColumn(NamedTuple):
    """One score in one domain."""

    domain: str
    key: str

    @property
    def label(self) -> str:
        return SCORES[self.key].label


class MatrixLine(NamedTuple):
    """A model, with a cell for each column."""

    row: Row
    cells: tuple[DomainCell, ...]


class DomainMatrix(NamedTuple):
    """Models by domains. `n_models` is the number of all models, some of them without a line."""

    columns: tuple[MatrixColumn, ...]
    lines: tuple[MatrixLine, ...]
    n_models: int


def domain_matrix(board: Leaderboard, tables: Sequence[DomainTable], n_lines: int) -> DomainMatrix | None:
    """The first models of the ranking by the domains of `tables`; None if there is no table."""
    if not tables:
        return None
    columns = tuple(MatrixColumn(table.title, key) for table in tables for key in table.keys)
    by_table = [{line.row.submission.id: line.cells for line in table.lines} for table in tables]
    lines = [
        MatrixLine(row, tuple(cell for cells in by_table for cell in cells[row.submission.id]))
        for row in board.rows[:n_lines]
    ]
    return DomainMatrix(columns, tuple(lines), len(board.rows))


def _lines(
    board: Leaderboard, domain: str, keys: Collection[str], references: Collection[str]
) -> tuple[DomainLine, ...]:
    rows = {row.submission.id: row for row in board.rows}
    cells = {id: {key: _cell(board, row, key, domain) for key in keys} for id, row in rows.items()}
    entries = [
        RankingEntry(
            id,
            id not in references and all(line.ok for line in row.tasks if line.task.domain == domain),
            *(cells[id][key].value if key in keys else None for key in ERRORS),
        )
        for id, row in rows.items()
    ]
    return tuple(DomainLine(rows[id], rank, tuple(cells[id].values())) for id, rank in ranking(entries))


def _cell(board: Leaderboard, row: Row, key: str, domain: str) -> DomainCell:
    term, uncertainty = _term(row, key, domain), uncertainty_of(board, key, row)
    path = (row.scores[key].name, domain)
    return DomainCell(term, known(uncertainty.nodes.get(path)) if uncertainty else None)


def _term(row: Row, key: str, domain: str) -> Term | None:
    return row.scores[key].part(domain)
