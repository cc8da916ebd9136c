"""Rows that compare models: one cell for each model, with the best marked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from judge.view import formatting
from judge.view.leaderboard_schema import ModelFile
from scoring import Term
from scoring.intervals import Interval

BEST, UNDECIDED = "best", "undecided"
ScoresById = Mapping[str, Mapping[str, Term]]
"""By id of a model and key of the score."""


class Cell(NamedTuple):
    """One model in one row.

    Args:
        note: small text beside it.
        value: the number that decides which model is best; None: it is not compared.
        interval: of the value, if known.
        fault: a verdict other than OK.
        mark: `best` if its interval is separate from all others; `undecided` if only its number is best.
    """

    text: str
    note: str = ""
    value: float | None = None
    interval: Interval | None = None
    fault: str = ""
    mark: str = ""


class CompareLine(NamedTuple):
    """One row.

    Args:
        below: whether it belongs to the row before it.
        page: path in the site of the page about it; empty if there is none.
    """

    name: str
    cells: tuple[Cell, ...]
    below: bool = False
    page: str = ""

    @property
    def same(self) -> bool:
        """Whether the text is the same for all models, if there are several."""
        return len(self.cells) > 1 and len({cell[:2] + cell[4:5] for cell in self.cells}) == 1


class Group(NamedTuple):
    """Rows under one heading."""

    title: str
    lines: tuple[CompareLine, ...]


def line(name: str, cells: Sequence[Cell], lower: bool | None = None, *, below: bool = False) -> CompareLine:
    """A row with its best cells marked.

    Args:
        lower: whether lower is better; None: none is better.
    """
    known = [cell.value for cell in cells if cell.value is not None]
    if lower is not None and len(known) > 1:
        cells = _marked(cells, min(known) if lower else max(known))
    return CompareLine(name, tuple(cells), below)


def _marked(cells: Sequence[Cell], best: float) -> Sequence[Cell]:
    """The cells, of which those that show the best value are marked; none is if all show it."""
    first = next(cell for cell in cells if cell.value == best)
    alike = [cell for cell in cells if cell.value is not None and cell.text == first.text]
    if len(alike) == len(cells):
        return cells
    others = [cell for cell in cells if cell.value is not None and cell.text != first.text]
    separate = len(alike) == 1 and all(_separate(first, other) for other in others)
    mark = BEST if separate else UNDECIDED
    return [cell._replace(mark=mark) if cell in alike else cell for cell in cells]


def differences(
    line: CompareLine,
    text_of: Callable[[float], str] = formatting.decimals,
    end_of: Callable[[float], str] | None = None,
) -> tuple[CompareLine, ...]:
    """A row below a row with a best: the difference of each model from the first best one, and how certain it is.

    If two intervals are separate, the difference lies between that of their near ends and that of their far ends.

    Args:
        text_of: the size of a difference as text.
        end_of: the same of the ends of its range; None: `text_of`.
    """
    first = next((cell for cell in line.cells if cell.mark), None)
    if first is None:
        return ()
    cells = tuple(
        Cell(formatting.NONE) if cell is first else _difference(cell, first, text_of, end_of or text_of)
        for cell in line.cells
    )
    return (CompareLine("from the best here", cells, below=True),)


def _difference(cell: Cell, first: Cell, text_of: Callable[[float], str], end_of: Callable[[float], str]) -> Cell:
    if cell.value is None or first.value is None:
        return Cell(formatting.NONE)
    text = formatting.signed(cell.value - first.value, text_of)
    if cell.interval is None or first.interval is None:
        return Cell(text, "no interval")
    if not (_was_resampled(cell.interval) and _was_resampled(first.interval)):
        return Cell(text, "not resampled")
    if not _separate(cell, first):
        return Cell(text, "intervals overlap")
    nearest, farthest = cell.interval.low - first.interval.high, cell.interval.high - first.interval.low
    return Cell(text, f"{formatting.signed(nearest, end_of)} to {formatting.signed(farthest, end_of)}")


def _separate(a: Cell, b: Cell) -> bool:
    if a.interval is None or b.interval is None or not (_was_resampled(a.interval) and _was_resampled(b.interval)):
        return False
    return a.interval.high < b.interval.low or b.interval.high < a.interval.low


def _was_resampled(interval: Interval) -> bool:
    """False if it has no width since parts could not be resampled: it does not show how certain a value is."""
    return interval.low < interval.high or not interval.n_held


def one_class(models: Sequence[ModelFile]) -> bool:
    """Whether all models were timed on one class of hardware: only then do times compare."""
    return len({model.hardware for model in models}) == 1


def span_text(interval: Interval, text_of: Callable[[float], str]) -> str:
    """The ends of an interval; with an asterisk if it is too narrow, since parts could not be resampled."""
    return f"{text_of(interval.low)}\u00a0– {text_of(interval.high)}{' *' if interval.n_held else ''}"


def number_cell(value: float | None, note: str = "") -> Cell:
    """A number with three decimals."""
    return Cell(formatting.decimals(value), note, value)
