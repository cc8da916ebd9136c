"""The public leaderboard: no single run of a hidden data set, and no digit in which a submission could encode data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from judge.disclosure.public_leaderboard import hidden_runs, public_board
from judge.disclosure.redaction import rounded
from judge.pages.site import render
from judge.publishing.publish import published_scores
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import read_board
from judge.records.items_file import items_path, pack_items
from judge.view.sources import Sources
from submissions.store.local import LocalStore
from tasks.metrics.measurement import Items
from tasks.structures.predictions import Cause
from tests.world.board_records import SUITE, good_results, save, submission

DRIFT = SUITE.tasks[3]
NAMES = ("secret-run-a", "secret-run-b")


def board_of(store: LocalStore, **slopes: tuple[float, float]) -> Leaderboard:
    """The board of models with the drifts [eV/atom/ps] of two runs, by name; NaN: the run exploded."""
    for k, (name, run_slopes) in enumerate(slopes.items(), 1):
        model = submission(name)
        results = good_results(model, 0.2 * k)
        save(store, [model], results)
        cause = np.where(np.isnan(run_slopes), Cause.EXPLODED, 0).astype(np.int8)
        runs = Items(NAMES, ("", ""), NAMES, cause, {"slope": np.array(run_slopes)})
        drift = next(result for result in results if result.task == DRIFT.name)
        store.put(items_path(model.id, drift.task, drift.result_key), pack_items(runs))
    problems: list[str] = []
    return read_board(store, SUITE, problems.append)


@pytest.fixture
def board(tmp_path: Path) -> Leaderboard:
    return board_of(LocalStore(tmp_path), alpha=(1e-3, 1e-5), beta=(1e-7, 1e-5))


def leaves(board: Leaderboard) -> list[str]:
    return [term.name for row in board.rows for _, term in row.scores["instability"].walk() if not term.parts]


def test_runs_of_hidden_sets_are_not_shown_one_by_one(board: Leaderboard) -> None:
    """A run has one structure: its name, its drift and the rank without it are not public."""
    assert hidden_runs(board.rows, SUITE.tasks) == {f"drift: {name}": "drift" for name in NAMES}
    assert hidden_runs(board.rows, ()) == {}
    assert "secret-run" in repr(board)
    shown = public_board(board, ())
    assert "secret-run" not in repr(shown)
    assert leaves(shown) == ["drift"] * len(board.rows)
    for row, cut in zip(board.rows, shown.rows, strict=True):
        for key in (key for key in row.scores if key.startswith("instability")):
            whole, (task,) = row.scores[key], cut.scores[key].parts
            assert task.value == pytest.approx(whole.value, rel=1e-5)  # the value over all runs is the score itself
            assert (task.share, task.raw.value, task.total) == (pytest.approx(1.0), task.value, 2)
    intervals = shown.robustness.intervals["instability"].values()
    assert {path for uncertainty in intervals for path in uncertainty.nodes} == {("Instability",)}
    assert not any(uncertainty.metrics for uncertainty in intervals)
    assert not any(left.without or left.decisive for left in shown.robustness.without["instability"].values())
    assert public_board(shown, ()) == shown
    assert (
        public_board(board, [DRIFT.dataset]).rows[0].scores["instability"].parts
        != shown.rows[0].scores["instability"].parts
    )
    assert "secret-run" in repr(public_board(board, [DRIFT.dataset]))


def test_a_failed_run_counts_in_the_mean_of_its_task(tmp_path: Path) -> None:
    board = board_of(LocalStore(tmp_path), alpha=(np.nan, 1e-5), beta=(1e-3, 1e-5))
    for row, cut in zip(board.rows, public_board(board, ()).rows, strict=True):
        (task,) = cut.scores["instability"].parts
        assert task.value == pytest.approx(row.scores["instability"].value, rel=1e-5)


def test_the_efficiency_and_its_times_have_two_digits(board: Leaderboard) -> None:
    stated = published_scores(board)
    for row in board.rows:
        assert stated[row.submission.id].efficiency == rounded(row.scores["efficiency"].value or 0.0)
    for row, cut in zip(board.rows, public_board(board, ()).rows, strict=True):
        for whole, term in zip(row.scores["efficiency"].walk(), cut.scores["efficiency"].walk(), strict=True):
            assert term[1].value == rounded(whole[1].value or 0.0)
            raw = whole[1].raw
            assert raw is None or term[1].raw.value == rounded(raw.value)
    for uncertainty in public_board(board, ()).robustness.intervals["efficiency"].values():
        for interval in (uncertainty.score, *uncertainty.nodes.values(), *uncertainty.metrics.values()):
            assert (interval.low, interval.high) == pytest.approx(
                (rounded(interval.low), rounded(interval.high)), rel=0, abs=0, nan_ok=True
            )


def test_scores_have_no_more_digits_than_sorting_needs(board: Leaderboard) -> None:
    for row, shown in zip(board.rows, public_board(board, [DRIFT.dataset]).rows, strict=True):
        for whole, cut in zip(row.scores["instability"].walk(), shown.scores["instability"].walk(), strict=True):
            value = cut[1].value
            assert value == pytest.approx(whole[1].value, rel=1e-5)
            assert value is None or float(f"{value:.5e}") == value
    assert public_board(board, ()).rows[0].scores != board.rows[0].scores


def test_pages_have_only_the_public_leaderboard(board: Leaderboard) -> None:
    hidden, known = (
        b"".join(content for path, content in render(board, sources).items() if not path.endswith(".png"))
        for sources in (Sources(), Sources(public=[DRIFT.dataset]))
    )
    assert b"secret-run" not in hidden
    assert "not shown one by one" in hidden.decode()
    assert b"secret-run" in known
    digest = board.rows[0].tasks[0].result.provenance.frames_sha256[:16]
    for hashed in (digest, "<dt>Structures<", "<dt>Labels<"):
        assert hashed.encode() not in hidden
        assert hashed.encode() in known
