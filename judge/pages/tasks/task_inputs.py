"""The inputs of a task's page. A page whose inputs are equal to those of the last build is not drawn again."""

from __future__ import annotations

from collections.abc import Sequence

from judge.pages.tasks.task_ranking import Shares
from judge.ranking.leaderboard import Row, TaskLine
from judge.view.earlier_pages import digest_of
from judge.view.page_context import Frame
from judge.view.score_display import uncertainty_of
from judge.view.sources import Sources
from tasks.metrics.measurement import Items


def shared_inputs(frame: Frame) -> str:
    """The sha256 of what the pages of all tasks show."""
    rows = [(row.submission, row.reference, row.page, row.submission.id in frame.twins) for row in frame.board.rows]
    return digest_of((rows, sorted(frame.sources.public), frame.sources.now))


def inputs_of(frame: Frame, index: int, shares: Shares, scored: Sequence[str]) -> object:
    """What the page of a task shows of all models in this task, beside code, templates and suite.

    Args:
        scored: the names of its metrics that scores are computed from, as in results.
    """
    sources, task = frame.sources, frame.board.suite.tasks[index]
    units = [((row.submission.id, task.name), row.tasks[index]) for row in frame.board.rows]
    return (
        [sources.result_stamps.get(unit) or line for unit, line in units],
        [sources.item_stamps.get(unit) or _items(sources, unit, line) for unit, line in units],
        [_score_of(frame, row, task.name, shares, scored) for row in frame.board.rows],
        frame.board.robustness.task_orders.get(task.name),
    )


def _items(sources: Sources, unit: tuple[str, str], line: TaskLine) -> Items | None:
    """The items that the page may show, of a table without a stamp: curves, and the worst of a public data set."""
    public = line.is_judged and line.task.dataset in sources.public
    return sources.items.get(unit) or (sources.item_table(line) if public else None)


def _score_of(frame: Frame, row: Row, task: str, shares: Shares, scored: Sequence[str]) -> object:
    """The part of a task in the scores of a model, with the intervals that its page shows."""
    score = shares[row.submission.id].get(task)
    if score is None:
        return None
    uncertainty = uncertainty_of(frame.board, score.key, row)
    if uncertainty is None:
        return score.key, score.parts, None
    keys = [(task, name) for name in scored]
    intervals = [uncertainty.nodes.get(part.path) for part in score.parts]
    metrics = [(uncertainty.metrics.get(key), uncertainty.independent.get(key)) for key in keys]
    return score.key, score.parts, (intervals, metrics)
