"""What the figures of learning share: the trainings of a task of one model, and their numbers as rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from judge.disclosure.public_curves import HIDDEN_DIGITS, is_hidden
from judge.disclosure.public_learning import PublicTraining, SeedErrors, public_trainings
from judge.figures.figure import Cell
from judge.figures.names import model_names
from judge.ranking.leaderboard import Row, TaskLine
from judge.view.page_context import Frame
from tasks.suites.suite import Task

ALL_ATOMS = "all atoms"
SHOWN_DIGITS = 3
MILLI = 1000.0  # figures show meV/Å and meV/atom
HIDDEN = (
    " For a hidden data set only means over all atoms are shown, to two digits: no spread over seeds, and no element."
)


class LearnedModel(NamedTuple):
    """A model and what its trainings came to.

    Args:
        name: distinct on the page.
    """

    name: str
    line: TaskLine
    trainings: tuple[PublicTraining, ...]


class Coordinate(NamedTuple):
    """One line of a learning figure: forces on all atoms or those of an element, or energies."""

    name: str
    stem: str
    symbol: str = ""


def learned_models(frame: Frame, task: Task, rows: Iterable[Row]) -> list[LearnedModel]:
    """Those of `rows` that have public trainings of the task."""
    names = model_names(frame.board.rows)
    index = [each.name for each in frame.board.suite.tasks].index(task.name)
    found = (LearnedModel(names[row.submission.id], row.tasks[index], _trainings(frame, row, index)) for row in rows)
    return [model for model in found if model.trainings]


def _trainings(frame: Frame, row: Row, index: int) -> tuple[PublicTraining, ...]:
    line = row.tasks[index]
    items = None
    if not is_hidden(line, frame.sources.public):
        items = frame.sources.items.get((row.submission.id, line.task.name))
    return public_trainings(line, items, frame.sources.public)


def learned_by(frame: Frame, row: Row, kind: str) -> list[LearnedModel]:
    """The tasks of one kind for which a model has public trainings, each under the title of the task."""
    found = [
        LearnedModel(line.task.label, line, _trainings(frame, row, index))
        for index, line in enumerate(row.tasks)
        if line.task.kind == kind
    ]
    return [model for model in found if model.trainings]


def any_hidden(frame: Frame, models: Iterable[LearnedModel]) -> str:
    """What is said of hidden data sets; empty if no data set is hidden."""
    return HIDDEN if any(is_hidden(model.line, frame.sources.public) for model in models) else ""


def digits_of(frame: Frame, model: LearnedModel) -> int:
    """The significant digits of a model's errors in a plot."""
    return HIDDEN_DIGITS if is_hidden(model.line, frame.sources.public) else SHOWN_DIGITS


def error_of(training: PublicTraining, stem: str, symbol: str = "") -> SeedErrors | None:
    """The error of a property, of the atoms of one element if `symbol` is not empty."""
    return training.of_element.get(symbol) if symbol else training.errors.get(stem)


def milli(value: float | None) -> float | None:
    """A value in meV/Å or meV/atom, from one in eV."""
    return None if value is None else MILLI * value


def numbers(error: SeedErrors | None) -> tuple[Cell, Cell, Cell, Cell]:
    """Mean, standard error, seeds, and seeds without a model, as cells of a table."""
    if error is None:
        return None, None, None, None
    return error.mean, error.se, error.n, error.n_failed


def sizes_of(trainings: Sequence[PublicTraining]) -> list[int]:
    """The numbers of frames that were learned from, increasing."""
    return sorted({each.training.n_frames for each in trainings})
