"""The figures of a model's page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from judge.figures.diatomic import diatomics_of
from judge.figures.drift import drift_of
from judge.figures.elements import elements_of
from judge.figures.failures import failures_of
from judge.figures.figure import Figure
from judge.figures.groups import groups_of
from judge.figures.learning_curves import learning_curves_of
from judge.figures.profiles import profiles_of
from judge.figures.radar import radar_of
from judge.figures.run_progress import progress_of
from judge.figures.time_windows import windows_of_model
from judge.figures.unseen_molecules import molecules_of_model
from judge.ranking.leaderboard import Row
from judge.view.page_context import Frame

FIGURES: Sequence[Callable[[Frame, Row], Figure | None]] = (
    radar_of,
    failures_of,
    elements_of,
    groups_of,
    progress_of,
    drift_of,
    learning_curves_of,
    windows_of_model,
    molecules_of_model,
    profiles_of,
    diatomics_of,
)


def figures_of(frame: Frame, row: Row) -> tuple[Figure, ...]:
    """The figures that have data of this model."""
    return tuple(figure for draw in FIGURES if (figure := draw(frame, row)) is not None)
