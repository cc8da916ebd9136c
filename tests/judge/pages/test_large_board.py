"""The artificial leaderboard of benchmarks and browser tests is one that a judge could have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.large_board import make_large_board
from judge.evaluation.current_results import current_results
from judge.ranking.load import read_board
from judge.workspace import Workspace
from submissions.store.local import LocalStore
from tasks.kinds.registry import KINDS
from tasks.learning.training import Learning
from tasks.suites.suite import load_suite


@pytest.mark.slow
def test_scores_of_a_large_board_are_consistent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a folder without judge.toml
    settings = make_large_board(tmp_path, 20, 22)
    suite, problems = load_suite(settings.suite), list[str]()
    trained = {name for name, kind in KINDS.items() if isinstance(kind, Learning)}
    assert {task.kind for task in suite.tasks} == set(KINDS) - trained
    store, current = LocalStore(Path(settings.store)), current_results(Workspace(settings), suite)
    board = read_board(store, suite, problems.append, current)
    assert problems == []
    out = {removed.submission.id for removed in board.taken_out}
    judged = [line.result for row in board.rows for line in row.tasks if line.result]
    assert len(judged) == sum(key.split("/")[1] not in out for key in current)
    assert len(board.taken_out) == 2
    assert len(board.hardware) == 2
    assert board.ranked
    assert board.unranked
    assert len({line.status for row in board.rows for line in row.tasks}) >= 4
    intervals = board.robustness.intervals["force_field"]
    assert all(intervals[row.submission.id].score.known for row in board.ranked)
