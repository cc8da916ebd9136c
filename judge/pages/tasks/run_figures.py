"""The figures of runs and curves on a task's page, of the first models of its ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from judge.figures.chosen_models import MOST_MODELS, chosen_models
from judge.figures.figure import Figure
from judge.figures.profiles import profiles_by_model
from judge.figures.run_progress import progress_by_model
from judge.figures.survival import survival_by_model
from judge.pages.tasks.ramachandran import RAMACHANDRAN
from judge.pages.tasks.run_files import RunFiles, run_files
from judge.pages.tasks.task_ranking import RankGroup
from judge.pages.tasks.trajectories import TRAJECTORIES
from judge.view.page_context import Frame
from tasks.suites.suite import Task


class RunFigures(NamedTuple):
    """The figures.

    Args:
        most: only so many models are drawn; 0: all that have items.
        trajectories, ramachandran: of the same models.
    """

    figures: Sequence[Figure] = ()
    most: int = 0
    trajectories: RunFiles = RunFiles()
    ramachandran: RunFiles = RunFiles()


def run_figures(frame: Frame, task: Task, groups: Sequence[RankGroup]) -> RunFigures:
    """The figures of a task whose kind has runs or curves. No items are read for other kinds."""
    if not task.traits.profiles and task.traits.progress is None:
        return RunFigures()
    lines = [line for group in groups for line in group.lines if line.line.result is not None]
    models = chosen_models(frame, task.name, [line.row for line in lines])
    drawn = (survival_by_model(frame, models), progress_by_model(frame, models))
    figures = [*(figure for figure in drawn if figure is not None), *profiles_by_model(frame, task, models)]
    most = MOST_MODELS if len(models) == MOST_MODELS < len(lines) else 0
    return RunFigures(figures, most, *run_files(frame, models, (TRAJECTORIES, RAMACHANDRAN)))
