"""What the author of a submission may see of how it fared, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from judge.disclosure.redaction import LOG_WITHHELD, public_peaks, public_sentence
from judge.records.records import Peaks, Result
from sandbox.verdict import Verdict
from submissions.records import Record, Submission

NO_LOG = "No log is kept of tasks: that of the preflight is shown."


class AuthorTask(Record):
    """What one task came to.

    Args:
        phase: how far the attempt had come when it ended: start, compute or done; empty where it is not known.
        peaks: to two digits.
        log_withheld: why there is no log.
    """

    task: str
    dataset: str
    hidden: bool
    verdict: Verdict
    phase: str
    sentence: str
    peaks: Peaks | None
    log_withheld: str


class AuthorView(Record):
    """A submission as its author may see it.

    Args:
        log: what its container said in the preflight, on public structures.
    """

    schema_version: Literal[1] = 1
    submission: str
    name: str
    tasks: tuple[AuthorTask, ...]
    log: str


def author_view(submission: Submission, results: Sequence[Result], log: str, public: Collection[str]) -> AuthorView:
    """What the author of `submission` may see.

    Args:
        results: those of it that count.
        log: of its preflight.
        public: names of the data sets that are public; every other one is hidden.
    """
    own = [result for result in results if result.submission == submission.id]
    tasks = tuple(_task(result, result.provenance.dataset not in public) for result in own)
    return AuthorView(submission=submission.id, name=submission.card.name, tasks=tasks, log=log)


def _task(result: Result, hidden: bool) -> AuthorTask:
    return AuthorTask(
        task=result.task,
        dataset=result.provenance.dataset,
        hidden=hidden,
        verdict=result.verdict,
        phase=result.phase,
        sentence=public_sentence(result.verdict, result.sentence, hidden=hidden),
        peaks=public_peaks(result.peaks),
        log_withheld=LOG_WITHHELD if hidden else NO_LOG,
    )
