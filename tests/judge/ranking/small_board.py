"""A leaderboard of two models, from records."""

from __future__ import annotations

from collections.abc import Sequence

from judge.ranking.build import build_leaderboard
from judge.ranking.leaderboard import Leaderboard, Row
from judge.records.records import Result
from submissions.records import Submission
from tasks.metrics.measurement import Items
from tests.world.board_records import (
    SUITE,
    items_of,
    runs,
    submission,
)

TASKS = {task.name: task for task in SUITE.tasks}
QUIET = runs([1e-9, 1e-9])
A, B = submission("alpha"), submission("beta")


def board(submissions: Sequence[Submission], results: Sequence[Result], items: Items | None = QUIET) -> Leaderboard:
    return build_leaderboard(SUITE, submissions, results, lambda r: items if r.kind == "nve" else items_of(r))


def row(shown: Leaderboard, submission: Submission) -> Row:
    return next(row for row in shown.rows if row.submission.id == submission.id)


def replaced(results: list[Result], new: Result) -> list[Result]:
    return [new if old.task == new.task and old.submission == new.submission else old for old in results]
