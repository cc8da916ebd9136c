"""How much worse models are on hidden data than on public data of the same sort: a sign of what was learnt by heart."""

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
        median: over models of their normalised error in the hidden task over that in the public one.
        n_models: that have both.
    """

    hidden: Task
    public: Task
    metric: str
    median: float
    n_models: int


def gaps(board: Leaderboard, task: Task, shares: Shares, sources: Sources) -> tuple[Gap, ...]:
    """All that a task is one side of; in the order of the suite, then by metric."""
    own_public = task.dataset in sources.public
    found: list[Gap] = []
    for other in board.suite.tasks:
        if (other.kind, other.domain) != (task.kind, task.domain) or (other.dataset in sources.public) == own_public:
            continue
        hidden, public = (other, task) if own_public else (task, other)
        found += _between(board, hidden, public, shares)
    return tuple(found)


def _between(board: Leaderboard, hidden: Task, public: Task, shares: Shares) -> Sequence[Gap]:
    ratios: dict[str, list[float]] = {}
    for row in board.rows:
        own = shares[row.submission.id]
        there = _errors(own, public)
        for metric, error in _errors(own, hidden).items():
            if there.get(metric, 0.0) > 0:
                ratios.setdefault(metric, []).append(error / there[metric])
    return [Gap(hidden, public, name, statistics.median(found), len(found)) for name, found in sorted(ratios.items())]


def _errors(own: Mapping[str, TaskScore], task: Task) -> dict[str, float]:
    score = own.get(task.name)
    if score is None or score.key not in ERRORS:  # only a ratio of errors has a meaning
        return {}
    return {part.metric: part.term.value for part in score.parts if part.term.value is not None}
