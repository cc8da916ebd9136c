"""Records to rows: what feeds which score, who is ranked, and that nothing missing ever helps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from judge.board import Leaderboard, Row
from judge.leaderboard import build_leaderboard
from judge.records import MetricRecord, Result
from sandbox.verdict import Verdict
from submissions.records import Submission
from tasks.measurement import Items
from tasks.predictions import Cause
from tests.judge.board_records import SUITE, error, frames_metrics, good_metrics, good_results, result, runs, submission

TASKS = {task.name: task for task in SUITE.tasks}
QUIET = runs([1e-9, 1e-9])
A, B = submission("alpha"), submission("beta")


def board(submissions: Sequence[Submission], results: Sequence[Result], items: Items | None = QUIET) -> Leaderboard:
    return build_leaderboard(SUITE, submissions, results, lambda _: items)


def row(shown: Leaderboard, of: Submission) -> Row:
    return next(row for row in shown.rows if row.submission.id == of.id)


def replaced(results: list[Result], new: Result) -> list[Result]:
    return [new if old.task == new.task and old.submission == new.submission else old for old in results]


def test_every_score_from_its_tasks() -> None:
    scores = row(board([A], good_results(A, 0.25), runs([4.9e-3, 1e-9])), A).scores
    assert scores.force_field.value == pytest.approx(0.25)
    assert scores.property_error.value == pytest.approx(0.25)
    assert scores.efficiency.value == pytest.approx(1.25)
    assert scores.stability.value == pytest.approx((2 + 0) / 2)
    assert scores.instability[5e-4].value == pytest.approx(math.log10(9.8) / 2)
    assert [part.name for part in scores.force_field.parts] == ["Inorganic Materials", "Molecules"]


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
    assert scores.force_field.value == pytest.approx((0.01 + 1.0) / 2)
    assert (scores.force_field.covered, scores.force_field.total) == (1, 2)
    assert scores.property_error.value is None


def test_no_metric_of_a_failed_task_counts() -> None:
    failed = result(A, TASKS["molecules"], frames_metrics(0.001), Verdict.TOO_MANY_FAILURES)
    scores = row(board([A], replaced(good_results(A, 0.5), failed)), A).scores
    assert scores.force_field.value == pytest.approx((0.5 + 1.0) / 2)


def test_a_model_without_stress_is_charged_where_the_task_has_virials() -> None:
    without = result(A, TASKS["crystals"], frames_metrics(0.5))
    results = replaced(good_results(A, 0.5), without)
    # Alone it is not known that the task has virials; another model's result tells.
    shown = board([A, B], results + good_results(B, 0.5))
    domain = row(shown, A).scores.force_field.part("Inorganic Materials")
    assert domain is not None
    assert domain.value == pytest.approx(0.9 * 0.5 + 0.1)
    said = result(A, TASKS["crystals"], {**frames_metrics(0.5), "virial_rmse_per_atom": error(None)})
    alone = row(board([A], replaced(results, said)), A).scores.force_field.part("Inorganic Materials")
    assert alone == domain


@pytest.mark.parametrize("charged", [math.nan, math.inf, None])
def test_nan_loses(charged: float | None) -> None:
    bad = result(A, TASKS["barriers"], {"mae": error(charged, "eV")})
    scores = row(board([A], replaced(good_results(A, 0.5), bad)), A).scores
    assert scores.property_error.value in (1.0, None)


def test_failing_a_slow_frame_does_not_look_fast() -> None:
    time = MetricRecord(value=1.0, unit="µs/atom", n_items=20, n_failed=1)
    failing = result(A, TASKS["speed"], {"time_mean": time})
    scores = row(board([A], replaced(good_results(A, 0.5), failing)), A).scores
    assert scores.efficiency.value is None
    assert scores.efficiency.covered == 0


def test_causes_of_failed_runs() -> None:
    items = runs([1e-9, math.nan, math.nan, math.nan], [Cause.NONE, Cause.EXPLODED, Cause.OVER_TIME, Cause.MISSING])
    score = row(board([A], good_results(A, 0.5), items), A).scores.stability
    assert score.value == pytest.approx((0 + 5 + 5) / 3)
    assert score.at_worst == pytest.approx((0 + 5 + 5 + 5) / 4)
    assert (score.covered, score.total) == (2, 4)


def test_a_lost_items_table_is_named_and_not_held_against_the_model() -> None:
    shown = board([A], good_results(A, 0.5), None)
    assert row(shown, A).scores.stability.value is None
    assert shown.problems == (f"results/{A.id}/drift: the items table cannot be read: no instability from it",)


def test_a_metric_without_a_baseline_is_named() -> None:
    odd = result(A, TASKS["barriers"], {"mae": error(0.1, "eV", baseline=None)})
    shown = board([A], replaced(good_results(A, 0.5), odd))
    assert shown.problems == (f"results/{A.id}/barriers: metrics.mae: no baseline to compare with",)


def test_what_ran_without_a_container_is_marked() -> None:
    shown = board([A, B], good_results(A, 0.5, driver="process") + good_results(B, 0.5))
    assert [r.submission.card.name for r in shown.not_isolated] == ["alpha"]


def test_order_of_records_does_not_matter() -> None:
    results = good_results(A, 0.5) + good_results(B, 0.5)
    assert board([A, B], results).rows == board([B, A], results[::-1]).rows


def test_results_of_other_tasks_and_submissions_are_passed_over() -> None:
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
            row(shown, A).scores.force_field,
            row(shown, A).scores.property_error,
            row(shown, A).scores.efficiency,
            row(shown, A).scores.stability,
        )
    )
    assert board([], []).rows == ()


def test_dynamics_that_ran_out_of_time_are_not_measured_and_never_unstable() -> None:
    slow = result(A, TASKS["drift"], {}, Verdict.TIME_LIMIT)
    for items in (runs([math.nan, math.nan], [Cause.OVER_TIME, Cause.OVER_TIME]), None):
        shown = row(board([A], replaced(good_results(A, 0.25), slow), items), A)
        assert shown.scores.stability.value is None
        assert shown.scores.stability.covered == 0
        assert shown.rank is None
