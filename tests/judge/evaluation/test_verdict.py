"""From failed items to a verdict."""

from __future__ import annotations

import pytest

from judge.evaluation.verdict import assess
from sandbox.verdict import Verdict
from tasks.structures.predictions import Cause


@pytest.mark.parametrize(
    ("failures", "verdict"),
    [
        ({}, Verdict.OK),
        ({Cause.UNSUPPORTED: 5}, Verdict.OK),
        ({Cause.UNSUPPORTED: 6}, Verdict.TOO_MANY_FAILURES),
        ({Cause.UNSUPPORTED: 3, Cause.ERROR: 3}, Verdict.TOO_MANY_FAILURES),
        ({Cause.UNSUPPORTED: 10}, Verdict.UNSUPPORTED),
        ({Cause.NON_FINITE: 9, Cause.UNSUPPORTED: 1}, Verdict.NON_FINITE),
        ({Cause.WRONG_SHAPE: 10}, Verdict.WRONG_SHAPE),
        ({Cause.ERROR: 10}, Verdict.TOO_MANY_FAILURES),
        ({Cause.EXPLODED: 10}, Verdict.OK),
        ({Cause.OVER_TIME: 5}, Verdict.OK),
        ({Cause.OVER_TIME: 6}, Verdict.TIME_LIMIT),
        ({Cause.OVER_TIME: 1, Cause.EXPLODED: 9}, Verdict.TIME_LIMIT),
        ({Cause.OVER_TIME: 9, Cause.EXPLODED: 1}, Verdict.TIME_LIMIT),
        ({Cause.OVER_TIME: 2, Cause.EXPLODED: 5, Cause.ERROR: 3}, Verdict.TIME_LIMIT),
        ({Cause.OVER_TIME: 1, Cause.EXPLODED: 8}, Verdict.OK),
        ({Cause.OVER_TIME: 1, Cause.UNSTABLE: 9}, Verdict.OK),
        ({Cause.OVER_TIME: 6, Cause.ERROR: 4}, Verdict.TIME_LIMIT),
        ({Cause.OVER_TIME: 1, Cause.ERROR: 9}, Verdict.TOO_MANY_FAILURES),
        ({Cause.OVER_TIME: 3, Cause.ERROR: 4}, Verdict.TOO_MANY_FAILURES),
        ({Cause.OVER_TIME: 10}, Verdict.TIME_LIMIT),
        ({Cause.OUT_OF_MEMORY: 10}, Verdict.TOO_MANY_FAILURES),
        ({Cause.UNSTABLE: 10}, Verdict.OK),
        ({Cause.NO_FORCES: 10}, Verdict.OK),
        ({Cause.UNSTABLE: 9, Cause.NOT_CONVERGED: 1}, Verdict.OK),
        ({Cause.UNSTABLE: 4, Cause.NOT_CONVERGED: 6}, Verdict.TOO_MANY_FAILURES),
        ({Cause.INCONSISTENT: 1}, Verdict.OK),
        ({Cause.INCONSISTENT: 6}, Verdict.TOO_MANY_FAILURES),
        ({Cause.ERROR: 2, Cause.MISSING: 1}, Verdict.TOO_MANY_FAILURES),
        ({Cause.UNSUPPORTED: 6, Cause.MISSING: 4}, Verdict.TOO_MANY_FAILURES),
        ({Cause.MISSING: 5}, Verdict.OK),
        ({Cause.MISSING: 6}, Verdict.TOO_MANY_FAILURES),
    ],
)
def test_verdict_of_ten_items(failures: dict[Cause, int], verdict: Verdict) -> None:
    assessment = assess(10, failures, 0.5, on_gpu=False)
    assert assessment.verdict is verdict
    assert assessment.sentence.endswith(".")


def test_memory_of_the_gpu_is_named_only_where_there_is_one() -> None:
    assert assess(3, {Cause.OUT_OF_MEMORY: 3}, 0.5, on_gpu=True).verdict is Verdict.GPU_MEMORY_LIMIT


def test_few_answers_to_a_hidden_set_are_too_few() -> None:
    assessment = assess(60, {Cause.ERROR: 57}, 1.0, on_gpu=False, revealing=3)
    assert assessment.verdict is Verdict.TOO_MANY_FAILURES
    assert assessment.sentence == (
        "57 of 60 items failed (57 error); a number over 3 of a hidden test set would reveal single labels."
    )


def test_an_exploded_run_is_named_in_the_sentence() -> None:
    assessment = assess(3, {Cause.EXPLODED: 3}, 0.5, on_gpu=False)
    assert assessment == (Verdict.OK, "Completed; 3 of 3 runs: exploded.")


def test_runs_that_exploded_do_not_make_up_for_those_that_were_never_finished() -> None:
    assessment = assess(4, {Cause.EXPLODED: 1, Cause.OVER_TIME: 3}, 0.5, on_gpu=False)
    assert assessment.verdict is Verdict.TIME_LIMIT
    assert assessment.sentence == (
        "3 of 4 items could not be finished in the time of the task (3 over time, 1 exploded)."
    )


def test_items_over_their_time_are_counted_if_most_were_finished() -> None:
    assessment = assess(10, {Cause.OVER_TIME: 2}, 0.5, on_gpu=False)
    assert assessment == (Verdict.OK, "Completed; 2 of 10 items failed (2 over time).")


def test_runs_without_forces_are_named_in_the_sentence() -> None:
    assessment = assess(3, {Cause.NO_FORCES: 2}, 0.5, on_gpu=False)
    assert assessment == (Verdict.OK, "Completed; 2 of 3 runs: no forces.")


def test_an_unstable_crystal_is_named_in_the_sentence() -> None:
    assessment = assess(4, {Cause.UNSTABLE: 2}, 0.5, on_gpu=False)
    assert assessment == (Verdict.OK, "Completed; 2 of 4 crystals: unstable.")


def test_results_are_named_beside_failures() -> None:
    sentence = assess(5, {Cause.NOT_CONVERGED: 1, Cause.UNSTABLE: 4}, 0.5, on_gpu=False).sentence
    assert sentence == "Completed; 1 of 5 items failed (1 not converged); 4 of 5 crystals: unstable."


def test_what_was_stopped_early_says_after_what() -> None:
    assessment = assess(10, {Cause.UNSUPPORTED: 4, Cause.ERROR: 2, Cause.MISSING: 3}, 0.5, on_gpu=False)
    assert assessment.sentence == (
        "Stopped early after 6 failures of 10 items (4 unsupported, 2 error); 3 were not asked any more."
    )


def test_inconsistent_answers_decide_the_verdict_if_no_metric_has_a_value() -> None:
    failures = {Cause.INCONSISTENT: 2, Cause.ERROR: 3}
    assessment = assess(100, failures, 0.5, on_gpu=False, has_number=False)
    assert assessment.verdict is Verdict.TOO_MANY_FAILURES
    assert "2 of 100 items differently" in assessment.sentence
    assessment = assess(100, failures, 0.5, on_gpu=False)
    assert assessment == (Verdict.OK, "Completed; 5 of 100 items failed (3 error, 2 inconsistent).")


def test_the_share_is_the_tasks() -> None:
    failures = {Cause.ERROR: 3}
    assert assess(10, failures, 0.3, on_gpu=False).verdict is Verdict.OK
    assert assess(10, failures, 0.29, on_gpu=False).verdict is Verdict.TOO_MANY_FAILURES
    assert assess(10, {Cause.ERROR: 9}, 1.0, on_gpu=False).verdict is Verdict.OK


def test_where_all_may_fail_it_is_a_result_that_nothing_converged() -> None:
    """As a published benchmark has it, of which each item counts what it is worth."""
    found = assess(4, {Cause.NOT_CONVERGED: 4}, 1.0, False)
    assert (found.verdict, found.sentence) == (Verdict.OK, "Completed; 4 of 4 items failed (4 not converged).")
    assert assess(4, {Cause.NOT_CONVERGED: 4}, 0.9, False).verdict is Verdict.TOO_MANY_FAILURES
    assert assess(4, {Cause.NOT_CONVERGED: 3, Cause.ERROR: 1}, 1.0, False).verdict is Verdict.TOO_MANY_FAILURES
