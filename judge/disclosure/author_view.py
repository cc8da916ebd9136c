"""The results of a submission, reduced to what its author may see."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from judge.disclosure.redaction import public_peaks, public_sentence
from judge.records.records import Result
from submissions.requests import TaskState

LOG_WITHHELD = (
    "The logs of hidden tasks are withheld: a container could write structures into them. "
    "The log of the preflight, on public structures, is shown."
)


def task_states(results: Iterable[Result], public: Collection[str]) -> tuple[TaskState, ...]:
    """The results, reduced to what their author may see.

    Args:
        public: names of the public data sets; every other data set is hidden.
    """
    return tuple(_task_state(result, hidden=result.provenance.dataset not in public) for result in results)


def _task_state(result: Result, *, hidden: bool) -> TaskState:
    peaks = public_peaks(result.peaks)
    return TaskState(
        task=result.task,
        verdict=result.verdict,
        phase=result.phase,
        sentence=public_sentence(result.verdict, result.sentence, hidden=hidden),
        wall_s=peaks.wall_s if peaks else None,
        memory_bytes=peaks.memory_bytes if peaks else None,
    )
