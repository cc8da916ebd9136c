"""Errors on hidden data compared with errors on public data of the same kind: a sign of training on the test set."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from judge.pages.tasks.task_ranking import Shares
from judge.ranking.leaderboard import Leaderboard
from judge.view.score_shares import TaskScore
from judge.view.sources import Sources
from scoring.names import ERRORS
from tasks.suites.suite import Task


class Gap(NamedTuple):
    """One metric in a hidden and a public task of one kind and domain.

    Args:
        median: normalised error in the hidden task divided by that in the public task; median over models.
        n_models: the number of models with both errors.
    """

    hidden: Task
    public: Task
    metric: str
    median: float
    n_models: int


def gaps(board: Leaderboard, task: Task, shares: Shares, sources: Sources) -> tuple[Gap, ...]:
    """The gaps between a task and the others of its kind and domain, in the order of the suite, then by metric."""
    is_public = task.dataset in sources.public
    between: list[Gap] = []
    for other in board.suite.tasks:
        if (other.kind, other.domain) != (task.kind, task.domain) or (other.dataset in sources.public) == is_public:
            continue
        hidden, public = (other, task) if is_public else (task, other)
        between += _between(board, hidden, public, shares)
    return tuple(between)


def _between(board: Leaderboard, hidden: Task, public: Task, shares: Shares) -> Sequence[Gap]:
    ratios: dict[str, list[float]] = {}
    for row in board.rows:
        scores = shares[row.submission.id]
        public_errors = _errors(scores, public)
        for metric, error in _errors(scores, hidden).items():
            if public_errors.get(metric, 0.0) > 0:
                ratios.setdefault(metric, []).append(error / public_errors[metric])
    return [
        Gap(hidden, public, name, statistics.median(values), len(values)) for name, values in sorted(ratios.items())
    ]


def _errors(scores: Mapping[str, TaskScore], task: Task) -> dict[str, float]:
    score = scores.get(task.name)
    if score is None or score.key not in ERRORS:  # a ratio of other scores means nothing
        return {}
    return {part.metric: part.term.value for part in score.parts if part.term.value is not None}
