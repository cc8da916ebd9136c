"""Trainings on the page of a task: figures, failed ones, SAIBench's findings, and models without a trainer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from judge.disclosure.public_learning import FailedTrainings, failed_trainings, learns, trainings_of
from judge.figures.figure import N_COLOURS, Figure
from judge.figures.learning import learned_models
from judge.figures.learning_curves import learning_curves
from judge.figures.time_windows import window_figures
from judge.figures.unseen_molecules import molecule_figures
from judge.pages.tasks.saibench_findings import PaperFinding, findings_of
from judge.pages.tasks.task_ranking import RankGroup, TaskRank
from judge.ranking.leaderboard import Row, TaskLine
from judge.view.page_context import Frame
from tasks.kinds.learned_models import ENERGY, FORCE, LEARNED, ZERO_SHOT
from tasks.metrics.metric import Metric
from tasks.suites.suite import Task


class ZeroShotLine(NamedTuple):
    """A model without a trainer in a task whose models are trained.

    Args:
        counted: what the task counts in its score; None if it does not count.
    """

    row: Row
    line: TaskLine
    force: Metric | None
    energy: Metric | None
    counted: float | None

    @property
    def n_failed(self) -> int:
        """Frames without an answer."""
        return sum(self.line.result.failures.values()) if self.line.result else 0


class FailedOfModel(NamedTuple):
    """The trainings of a model that left no model that answers."""

    row: Row
    n: int
    reasons: tuple[FailedTrainings, ...]


class LearningSection(NamedTuple):
    """What the page of a task shows about trainings.

    Args:
        n_trainings: of each model.
        wall_s: that a trainer has [s].
        hardware: by class, how many models were trained on it, the most frequent first.
        figures: open.
        folded: one for each further model.
        failed: the models with failed trainings.
        best: the model whose findings are shown; None if there is none.
        zero_shot: the models without a trainer, by their force error.
        most: only so many models are drawn; 0: all.
    """

    n_trainings: int
    wall_s: float
    hardware: tuple[tuple[str, int], ...]
    figures: tuple[Figure, ...]
    folded: tuple[Figure, ...]
    failed: tuple[FailedOfModel, ...]
    best: Row | None
    findings: tuple[PaperFinding, ...]
    zero_shot: tuple[ZeroShotLine, ...]
    most: int


def is_zero_shot(row: Row, line: TaskLine) -> bool:
    """Whether a model was asked as it is in a task whose models are trained: its image has no trainer."""
    if not learns(line.task) or row.submission.image.trainer:
        return False
    return line.result is None or not any(name in line.result.metrics for name in LEARNED.values())


def trained_alone(groups: Sequence[RankGroup]) -> tuple[RankGroup, ...]:
    """The groups of a ranking without the models that have no trainer; empty groups are left out."""
    kept = [
        group._replace(lines=tuple(line for line in group.lines if not is_zero_shot(line.row, line.line)))
        for group in groups
    ]
    return tuple(group for group in kept if group.lines)


def learning_section(frame: Frame, task: Task, groups: Sequence[RankGroup]) -> LearningSection | None:
    """The section of a task; None if its models are not trained.

    Args:
        groups: the whole ranking, best first in each.
    """
    if not learns(task):
        return None
    lines = [line for group in groups for line in group.lines]
    trained = sorted((line for line in lines if not is_zero_shot(line.row, line.line)), key=_by_score)
    models = learned_models(frame, task, [line.row for line in trained])
    drawn = models[:N_COLOURS]
    curves = learning_curves(frame, drawn)
    of_models = [*window_figures(frame, drawn), *molecule_figures(frame, drawn)]
    figures = (curves,) if curves is not None else tuple(of_models[:1])
    best = next((line.row for line in trained if models and line.line is models[0].line), None)
    return LearningSection(
        len(trainings_of(task)),
        getattr(task.parameters, "wall_s", 0.0),
        tuple(Counter(h for line in trained if (h := _hardware(line))).most_common()),
        figures,
        tuple(of_models[1:]) if curves is None else (),
        tuple(failed for line in trained if (failed := _failed(line)).n),
        best,
        findings_of(models[0]) if models else (),
        tuple(sorted((_zero_shot(line) for line in lines if is_zero_shot(line.row, line.line)), key=_by_error)),
        N_COLOURS if len(models) > N_COLOURS else 0,
    )


def _by_score(line: TaskRank) -> tuple[bool, float, str]:
    """Best first, also over classes of hardware; a score of learning is better if it is lower."""
    return line.value is None, line.value or 0.0, line.row.submission.id


def _hardware(line: TaskRank) -> str:
    return line.line.result.provenance.origin.hardware if line.line.result is not None else ""


def _failed(line: TaskRank) -> FailedOfModel:
    reasons = failed_trainings(line.line.result.notes) if line.line.result is not None else ()
    return FailedOfModel(line.row, sum(reason.n for reason in reasons), reasons)


def _zero_shot(line: TaskRank) -> ZeroShotLine:
    metrics = line.line.result.metrics if line.line.result is not None else {}
    force, energy = (metrics.get(ZERO_SHOT[stem]) for stem in (FORCE, ENERGY))
    return ZeroShotLine(line.row, line.line, force, energy, line.counted)


def _by_error(line: ZeroShotLine) -> tuple[bool, float, str]:
    value = None if line.force is None else line.force.charged
    return value is None, value or 0.0, line.row.submission.id
