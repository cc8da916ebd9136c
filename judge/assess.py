"""What a task as a whole came to, when the container did its part but items failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sandbox.verdict import Verdict
from tasks.predictions import Cause

# A trajectory that blows up, or is not run to its end for lack of time, is a result, not a refusal to answer.
_RESULTS = (Cause.EXPLODED, Cause.OVER_TIME)

_ALL_FAILED = {
    Cause.UNSUPPORTED: (Verdict.UNSUPPORTED, "The model supports none of the {n} items of this task."),
    Cause.NON_FINITE: (Verdict.NON_FINITE, "Every one of the {n} items failed, most with NaN or infinity."),
    Cause.WRONG_SHAPE: (Verdict.WRONG_SHAPE, "Every one of the {n} items failed, most with arrays of a wrong shape."),
}


class Assessment(NamedTuple):
    """A verdict and its sentence."""

    verdict: Verdict
    sentence: str


def assess(n_items: int, failures: Mapping[Cause, int], failed_share: float, on_gpu: bool) -> Assessment:
    """The verdict of a task that ran to its end, from how its items failed.

    Args:
        failures: items by cause; those that succeeded are not in it.
        failed_share: if more than this share of the items failed, the verdict is TOO_MANY_FAILURES.
    """
    counted = {cause: count for cause, count in failures.items() if cause not in _RESULTS}
    failed = sum(counted.values())
    if n_items and failures.get(Cause.OVER_TIME, 0) == n_items:
        return Assessment(
            Verdict.TIME_LIMIT,
            f"None of the {n_items} items could be finished in the time of the task; given up once that was plain.",
        )
    if not failed:
        found = [f"{failures[cause]} of {n_items} runs: {cause.word}" for cause in _RESULTS if cause in failures]
        return Assessment(Verdict.OK, "; ".join(["Completed", *found]) + ".")
    dominant = max(sorted(counted), key=lambda cause: counted[cause])
    if failed == n_items:
        if dominant is Cause.OUT_OF_MEMORY and on_gpu:
            return Assessment(Verdict.GPU_MEMORY_LIMIT, f"Not one of the {n_items} items fits into the GPU's memory.")
        if dominant in _ALL_FAILED:
            verdict, sentence = _ALL_FAILED[dominant]
            return Assessment(verdict, sentence.format(n=n_items))
        return Assessment(Verdict.TOO_MANY_FAILURES, f"Every one of the {n_items} items failed, most: {dominant.word}.")
    words = ", ".join(f"{count} {cause.word}" for cause, count in sorted(counted.items(), key=lambda c: -c[1]))
    if failed > failed_share * n_items:
        return Assessment(Verdict.TOO_MANY_FAILURES, f"{failed} of {n_items} items failed ({words}).")
    return Assessment(Verdict.OK, f"Completed; {failed} of {n_items} items failed ({words}).")
