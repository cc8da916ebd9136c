"""The rows of a leaderboard from records: the results of each score, and the ranked submissions."""

from __future__ import annotations

import math

import pytest

from sandbox.verdict import Verdict
from tasks.metrics.metric import Metric
from tests.judge.ranking.small_board import TASKS, A, B, board, replaced, row
from tests.world.board_records import (
    SUITE,
    error,
    frames_metrics,
    good_metrics,
    good_results,
    result,
    runs,
)


def test_every_score_from_its_tasks() -> None:
    scores = row(board([A], good_results(A, 0.25), runs([4.9e-3, 1e-9])), A).scores
    assert scores["force_field"].value == pytest.approx(0.25)
    assert scores["property_error"].value == pytest.approx(0.25)
    assert scores["efficiency"].value == pytest.approx(1.25)
    assert scores["instability"].value == pytest.approx((2 + 0) / 2)
    assert scores["instability-0.0005"].value == pytest.approx(math.log10(9.8) / 2)
    assert [part.name for part in scores["force_field"].parts] == ["Inorganic Materials", "Molecules"]


def test_ranked_by_force_field_error() -> None:
    shown = board([A, B], good_results(A, 0.3) + good_results(B, 0.2))
    assert [(r.submission.card.name, r.rank) for r in shown.rows] == [("beta", 1), ("alpha", 2)]


def test_a_task_without_an_ok_leaves_the_row_unranked_and_below() -> None:
    failed = result(A, TASKS["molecules"], {}, Verdict.TIME_LIMIT, sentence="Make it faster.")
    missing = [r for r in good_results(A, 0.01) if r.task != "barriers"]
    shown = board([A, B], replaced(missing, failed) + good_results(B, 0.9))
    assert [(r.submission.card.name, r.rank) for r in shown.rows] == [("beta", 1), ("alpha", None)]
    assert row(shown, A).shortfalls == {"TIME_LIMIT": ["molecules"], "NOT JUDGED": ["barriers"]}
    scores = row(shown, A).scores
    assert scores["force_field"].value == pytest.approx((0.01 + 1.0) / 2)
    assert (scores["force_field"].covered, scores["force_field"].total) == (1, 2)
    assert scores["property_error"].value is None


def test_no_metric_of_a_failed_task_counts() -> None:
    failed = result(A, TASKS["molecules"], frames_metrics(0.001), Verdict.TOO_MANY_FAILURES)
    scores = row(board([A], replaced(good_results(A, 0.5), failed)), A).scores
    assert scores["force_field"].value == pytest.approx((0.5 + 1.0) / 2)


@pytest.mark.parametrize("charged", [math.nan, math.inf, None])
def test_nan_loses(charged: float | None) -> None:
    bad = result(A, TASKS["barriers"], {"mae": error(charged, "eV")})
    scores = row(board([A], replaced(good_results(A, 0.5), bad)), A).scores
    assert scores["property_error"].value in (1.0, None)


def test_failing_a_slow_frame_does_not_look_fast() -> None:
    time = Metric(value=1.0, unit="µs/atom", n_items=20, n_failed=1)
    failing = result(A, TASKS["speed"], {"time_mean": time})
    scores = row(board([A], replaced(good_results(A, 0.5), failing)), A).scores
    assert scores["efficiency"].value is None
    assert scores["efficiency"].covered == 0


def test_a_lost_items_table_is_named_and_does_not_count_against_the_model() -> None:
    shown = board([A], good_results(A, 0.5), None)
    assert row(shown, A).scores["instability"].value is None
    assert shown.problems == (f"results/{A.id}/drift: the items table cannot be read: no instability from it",)


def test_what_ran_without_a_container_is_marked() -> None:
    shown = board([A, B], good_results(A, 0.5, driver="process") + good_results(B, 0.5))
    assert [r.submission.card.name for r in shown.not_isolated] == ["alpha"]


def test_order_of_records_does_not_matter() -> None:
    results = good_results(A, 0.5) + good_results(B, 0.5)
    assert board([A, B], results).rows == board([B, A], results[::-1]).rows


def test_results_of_other_tasks_and_submissions_are_ignored() -> None:
    stray = result(B, TASKS["crystals"], good_metrics(0.1)["crystals"])
    gone = good_results(A, 0.5)[0].model_copy(update={"task": "dropped"})
    shown = board([A], [*good_results(A, 0.5), stray, gone])
    assert [r.submission.id for r in shown.rows] == [A.id]
    assert row(shown, A).n_ok == len(SUITE.tasks)


def test_nothing_judged_yet() -> None:
    shown = board([A], [])
    assert row(shown, A).rank is None
    assert all(
        term.value is None
        for term in (
            row(shown, A).scores["force_field"],
            row(shown, A).scores["property_error"],
            row(shown, A).scores["efficiency"],
            row(shown, A).scores["instability"],
        )
    )
    assert board([], []).rows == ()
