"""Rows of models side by side: a cell a model, and which of them is best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from judge.view import formatting
from judge.view.leaderboard_schema import ModelFile

BEST, UNDECIDED = "best", "undecided"


class Cell(NamedTuple):
    """What one model has in one row.

    Args:
        note: said in small beside it.
        value: what the best is told by; None: it takes no part in that.
        interval: of the value, where one is known.
        fault: a verdict that is not OK.
        mark: `best`, where its interval lies apart from all others; `undecided`, where it is but the best number.
    """

    text: str
    note: str = ""
    value: float | None = None
    interval: tuple[float, float] | None = None
    fault: str = ""
    mark: str = ""


class Line(NamedTuple):
    """One row.

    Args:
        below: whether it is of what the row before it is the name of.
        page: of what it is about, in the site; empty where that has none.
    """

    name: str
    cells: tuple[Cell, ...]
    below: bool = False
    page: str = ""

    @property
    def same(self) -> bool:
        """Whether all models read the same in it; one by itself is not the same as another."""
        return len(self.cells) > 1 and len({cell[:2] + cell[4:5] for cell in self.cells}) == 1


class Group(NamedTuple):
    """Rows under one heading."""

    title: str
    lines: tuple[Line, ...]


def line(name: str, cells: Sequence[Cell], lower: bool | None = None, *, below: bool = False) -> Line:
    """A row with its best marked.

    Args:
        lower: whether lower is better; None: no one is better in it.
    """
    known = [cell.value for cell in cells if cell.value is not None]
    if lower is None or len(known) < 2:
        return Line(name, tuple(cells), below)
    best = min(known) if lower else max(known)
    first = next(cell for cell in cells if cell.value == best)
    marked = [cell.value is not None and cell.text == first.text for cell in cells]
    if all(marked):
        return Line(name, tuple(cells), below)
    others = [cell for cell, is_best in zip(cells, marked, strict=True) if not is_best and cell.value is not None]
    apart = sum(marked) == 1 and all(_apart(first, other) for other in others)
    mark = BEST if apart else UNDECIDED
    return Line(
        name,
        tuple(cell._replace(mark=mark) if own else cell for cell, own in zip(cells, marked, strict=True)),
        below,
    )


def differences(of: Line, text_of: Callable[[float], str] = formatting.decimals) -> tuple[Line, ...]:
    """A row below one with a best: how far each other is from the first that has it, and how sure that is.

    Where two intervals lie apart, the difference is within the span from their near to their far ends.

    Args:
        text_of: the size of a difference as text.
    """
    first = next((cell for cell in of.cells if cell.mark), None)
    if first is None:
        return ()
    cells = tuple(Cell(formatting.NONE) if cell is first else _difference(cell, first, text_of) for cell in of.cells)
    return (Line("from the best here", cells, below=True),)


def _difference(cell: Cell, first: Cell, text_of: Callable[[float], str]) -> Cell:
    if cell.value is None or first.value is None:
        return Cell(formatting.NONE)
    (low, high), (first_low, first_high) = cell.interval or (0.0, 0.0), first.interval or (0.0, 0.0)
    text = formatting.signed(cell.value - first.value, text_of)
    if not (_has_width(cell) and _has_width(first)):
        return Cell(text, "no interval")
    if not _apart(cell, first):
        return Cell(text, "intervals overlap")
    return Cell(
        text, f"{formatting.signed(low - first_high, text_of)} to {formatting.signed(high - first_low, text_of)}"
    )


def _apart(one: Cell, other: Cell) -> bool:
    if one.interval is None or other.interval is None or not (_has_width(one) and _has_width(other)):
        return False
    return one.interval[1] < other.interval[0] or other.interval[1] < one.interval[0]


def _has_width(cell: Cell) -> bool:
    # One without any width is of parts that could not be resampled: it says nothing of how sure the number is.
    return cell.interval is not None and cell.interval[0] < cell.interval[1]


def one_class(models: Sequence[ModelFile]) -> bool:
    """Times compare within one class of hardware alone."""
    return len({model.hardware for model in models}) == 1


def number_cell(value: float | None, note: str = "") -> Cell:
    """A number with three decimals."""
    return Cell(formatting.decimals(value), note, value)
