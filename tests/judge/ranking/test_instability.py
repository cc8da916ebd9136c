"""The instability score: which runs count, and what a run that failed or was not measured costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from judge.ranking.build import build_leaderboard
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import Term
from tasks.metrics.measurement import Items
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite
from tests.judge.ranking.small_board import QUIET, TASKS, A, B, board, replaced, row
from tests.world.board_records import (
    good_results,
    refused,
    result,
    runs,
    task,
)


def test_causes_of_failed_runs() -> None:
    items = runs([1e-9, math.nan, math.nan, math.nan], [Cause.NONE, Cause.EXPLODED, Cause.OVER_TIME, Cause.MISSING])
    score = row(board([A], good_results(A, 0.5), items), A).scores["instability"]
    assert score.value == pytest.approx((0 + 5 + 5) / 3)
    assert score.at_worst == pytest.approx((0 + 5 + 5 + 5) / 4)
    assert (score.covered, score.total) == (2, 4)


def test_dynamics_without_forces_are_worst_and_as_published_best() -> None:
    """LAMBench gives a model that answers a constant the best instability."""
    free = runs([0.0, 1e-18, 0.0], [Cause.NO_FORCES] * 3)
    shown = row(board([A], good_results(A, 0.5), free), A)
    assert shown.scores["instability"].value == 5.0
    assert shown.as_published["instability"].value == 0.0


DRIFTS = Suite("drifts", "1", "Two drifts", tuple(task(n, "nve", "Inorganic Materials") for n in ("one", "two")))
ONE, TWO = DRIFTS.tasks


def stability(*of_a: Result, others: Sequence[Result] = (), **items: Items) -> Term:
    """The instability of A over the two drifts, `items` by task."""
    shown = build_leaderboard(DRIFTS, [A, B], [*of_a, *others], lambda r: items.get(r.task))
    return row(shown, A).scores["instability"]


def test_hanging_does_not_erase_unstable_runs() -> None:
    """If a limit ends the session, there is no observation, no items, and no number of items."""
    blown = runs([math.nan] * 2, [Cause.EXPLODED] * 2)
    honest = stability(result(A, ONE, {}), result(A, TWO, {}), one=blown, two=QUIET)
    assert (honest.value, honest.covered, honest.total) == (2.5, 4, 4)
    hanging = refused(A, ONE, Verdict.TIME_LIMIT)
    alone = stability(hanging, result(A, TWO, {}), two=QUIET)
    assert (alone.value, alone.at_worst) == (0.0, pytest.approx(5 / 3))
    assert (alone.covered, alone.total) == (2, 3)
    known = stability(hanging, result(A, TWO, {}), others=[result(B, ONE, {})], two=QUIET)
    assert (known.value, known.at_worst, known.covered, known.total) == (0.0, 2.5, 2, 4)
    counted = stability(refused(A, ONE, Verdict.TIME_LIMIT, n_items=6), result(A, TWO, {}), two=QUIET)
    assert (counted.at_worst, counted.total) == (5 * 6 / 8, 8)


def test_a_crash_in_dynamics_is_worst_in_every_run() -> None:
    crashed = refused(A, ONE, Verdict.CRASHED, n_items=2)
    term = stability(crashed, result(A, TWO, {}), two=QUIET)
    assert (term.value, term.at_worst, term.covered, term.total) == (2.5, None, 2, 4)


@pytest.mark.parametrize(
    ("cause", "verdict", "value", "covered"),
    [
        (Cause.NON_FINITE, Verdict.NON_FINITE, 5.0, 2),
        (Cause.ERROR, Verdict.TOO_MANY_FAILURES, 5.0, 2),
        (Cause.UNSUPPORTED, Verdict.UNSUPPORTED, None, 0),
    ],
)
def test_runs_that_all_failed_are_worst_and_unsupported_elements_are_missing(
    cause: Cause, verdict: Verdict, value: float | None, covered: int
) -> None:
    suite = Suite("drift", "1", "One drift", (ONE,))
    shown = build_leaderboard(suite, [A], [result(A, ONE, {}, verdict)], lambda _: runs([math.nan] * 2, [cause] * 2))
    term = shown.rows[0].scores["instability"]
    assert (term.value, term.covered, term.total) == (value, covered, 2)
    assert shown.problems == ()


def test_dynamics_that_ran_out_of_time_are_not_measured_and_never_unstable() -> None:
    slow = result(A, TASKS["drift"], {}, Verdict.TIME_LIMIT)
    for items in (runs([math.nan, math.nan], [Cause.OVER_TIME, Cause.OVER_TIME]), None):
        shown = row(board([A], replaced(good_results(A, 0.25), slow), items), A)
        assert shown.scores["instability"].value is None
        assert shown.scores["instability"].covered == 0
        assert shown.rank is None
