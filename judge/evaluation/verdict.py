"""The verdict of a whole task, if the container worked but items failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sandbox.verdict import Verdict
from tasks.structures.predictions import RESULTS, Cause

_ALL_FAILED = {
    Cause.UNSUPPORTED: (Verdict.UNSUPPORTED, "The model supports none of the {n} items of this task."),
    Cause.NON_FINITE: (Verdict.NON_FINITE, "Every one of the {n} items failed, most with NaN or infinity."),
    Cause.WRONG_SHAPE: (Verdict.WRONG_SHAPE, "Every one of the {n} items failed, most with arrays of a wrong shape."),
}


class Assessment(NamedTuple):
    """A verdict and its sentence."""

    verdict: Verdict
    sentence: str


def assess(
    n_items: int,
    failures: Mapping[Cause, int],
    failed_share: float,
    on_gpu: bool,
    has_number: bool = True,
    revealing: int = 0,
) -> Assessment:
    """The verdict of a task that ran to its end or was stopped early, from the failures of its items.

    The kind decides how many answers may differ in the consistency check. If more differ, its metrics have no value,
    and the sentence gives this reason.

    Items that were not finished in the time of the task count as failed. The verdict is TIME_LIMIT if this is the most
    frequent cause, or if all other items exploded, so that no item was completed.

    Args:
        failures: number of failed items, by cause. MISSING beside other causes: these items were not asked any more,
            because the task was stopped.
        failed_share: if more than this share of the items failed, the verdict is TOO_MANY_FAILURES. With 1, it is a
            result that none of the items converged.
        has_number: whether any metric that failures enter has a value.
        revealing: the number of items with an answer, if the data set is hidden and a number over so few would reveal
            single labels; else 0.
    """
    if failures.get(Cause.INCONSISTENT, 0) and not has_number:
        return _inconsistent(n_items, failures[Cause.INCONSISTENT])
    if failures.get(Cause.MISSING, 0) and len(failures) > 1:
        return _stopped_early(n_items, failures)
    counted = {cause: count for cause, count in failures.items() if cause not in RESULTS}
    failed = sum(counted.values())
    sentences = [_found(cause, failures[cause], n_items) for cause in RESULTS if cause in failures]
    if not failed:
        return Assessment(Verdict.OK, "; ".join(["Completed", *sentences]) + ".")
    dominant = max(sorted(counted), key=lambda cause: counted[cause])
    too_many = failed > failed_share * n_items
    if Cause.OVER_TIME in counted:
        # An exploded trajectory was not finished either. An unstable crystal was finished.
        none_finished = failed + failures.get(Cause.EXPLODED, 0) == n_items
        if dominant is Cause.OVER_TIME if too_many or failed == n_items else none_finished:
            return _over_time(n_items, failures)
    if failed == n_items and not (failed_share >= 1 and counted.keys() == {Cause.NOT_CONVERGED}):
        if dominant is Cause.OUT_OF_MEMORY and on_gpu:
            return Assessment(Verdict.GPU_MEMORY_LIMIT, f"Not one of the {n_items} items fits into the GPU's memory.")
        if dominant in _ALL_FAILED:
            verdict, sentence = _ALL_FAILED[dominant]
            return Assessment(verdict, sentence.format(n=n_items))
        return Assessment(Verdict.TOO_MANY_FAILURES, f"Every one of the {n_items} items failed, most: {dominant.word}.")
    complaint = "; ".join([f"{failed} of {n_items} items failed ({_in_words(counted)})", *sentences])
    if too_many:
        return Assessment(Verdict.TOO_MANY_FAILURES, f"{complaint}.")
    if revealing:
        why = f"a number over {revealing} of a hidden test set would reveal single labels"
        return Assessment(Verdict.TOO_MANY_FAILURES, f"{complaint}; {why}.")
    return Assessment(Verdict.OK, f"Completed; {complaint}.")


def _over_time(n_items: int, failures: Mapping[Cause, int]) -> Assessment:
    late, when = failures[Cause.OVER_TIME], "be finished in the time of the task"
    if late == n_items:
        return Assessment(Verdict.TIME_LIMIT, f"None of the {n_items} items could {when}; stopped once that was clear.")
    return Assessment(Verdict.TIME_LIMIT, f"{late} of {n_items} items could not {when} ({_in_words(failures)}).")


def _stopped_early(n_items: int, failures: Mapping[Cause, int]) -> Assessment:
    counts: dict[Cause, int] = {cause: count for cause, count in failures.items() if cause is not Cause.MISSING}
    return Assessment(
        Verdict.TOO_MANY_FAILURES,
        f"Stopped early after {sum(counts.values())} failures of {n_items} items ({_in_words(counts)}); "
        f"{failures[Cause.MISSING]} were not asked any more.",
    )


def _inconsistent(n_items: int, changed: int) -> Assessment:
    return Assessment(
        Verdict.TOO_MANY_FAILURES,
        f"Asked again after a fresh start, the model answered {changed} of {n_items} items differently: "
        "its answers must follow from the structure alone. A model with several heads states in its card which it is.",
    )


def _found(cause: Cause, count: int, n_items: int) -> str:
    return f"{count} of {n_items} {'crystals' if cause is Cause.UNSTABLE else 'runs'}: {cause.word}"


def _in_words(failures: Mapping[Cause, int]) -> str:
    """The number of failures by cause, the most frequent first."""
    return ", ".join(f"{count} {cause.word}" for cause, count in sorted(failures.items(), key=lambda c: (-c[1], c[0])))
