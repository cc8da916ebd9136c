"""The models that the figures of a task's page draw: the items of all models would be too many to read and to see."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from judge.figures.figure import N_COLOURS
from judge.figures.names import model_names
from judge.ranking.leaderboard import Row, TaskLine
from judge.view.page_context import Frame
from tasks.metrics.measurement import Items

MOST_MODELS = N_COLOURS


class ChosenModel(NamedTuple):
    """A model that is drawn.

    Args:
        name: distinct on the page.
        line: its task.
    """

    name: str
    line: TaskLine
    items: Items


def chosen_models(frame: Frame, task: str, rows: Iterable[Row]) -> list[ChosenModel]:
    """The first `MOST_MODELS` of `rows` that have items of the task. The items of the others are not read."""
    names = model_names(frame.board.rows)
    index = [each.name for each in frame.board.suite.tasks].index(task)
    known = (
        ChosenModel(names[row.submission.id], row.tasks[index], items)
        for row in rows
        if (items := frame.sources.items.get((row.submission.id, task))) is not None
    )
    return list(islice(known, MOST_MODELS))
