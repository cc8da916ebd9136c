"""From failed items to a verdict."""

from __future__ import annotations

import pytest

from judge.assess import assess
from sandbox.verdict import Verdict
from tasks.predictions import Cause


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
        ({Cause.OVER_TIME: 9}, Verdict.OK),
        ({Cause.OVER_TIME: 10}, Verdict.TIME_LIMIT),
        ({Cause.OUT_OF_MEMORY: 10}, Verdict.TOO_MANY_FAILURES),
    ],
)
def test_verdict_of_ten_items(failures: dict[Cause, int], verdict: Verdict) -> None:
    assessment = assess(10, failures, 0.5, on_gpu=False)
    assert assessment.verdict is verdict
    assert assessment.sentence.endswith(".")


def test_memory_of_the_gpu_is_named_only_where_there_is_one() -> None:
    assert assess(3, {Cause.OUT_OF_MEMORY: 3}, 0.5, on_gpu=True).verdict is Verdict.GPU_MEMORY_LIMIT


def test_a_run_that_exploded_is_said_to_have() -> None:
    said = assess(3, {Cause.EXPLODED: 3}, 0.5, on_gpu=False)
    assert said == (Verdict.OK, "Completed; 3 of 3 runs: exploded.")
