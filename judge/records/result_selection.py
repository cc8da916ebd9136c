"""Selects the one result of each submission and task that counts, from a few facts of each result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from judge.records.attempts import History, unit_prefix
from judge.records.decisions import Rounds, SubmissionTask
from judge.records.records import Result
from sandbox.verdict import Verdict


class ResultFacts(NamedTuple):
    """The facts of a result that decide whether it counts.

    Args:
        key: in the store.
        measured: time [s since 1970].
        observation: sha256; None if the attempt ended before there was one.
    """

    key: str
    submission: str
    task: str
    dataset: str
    round: int
    observation_key: str
    result_key: str
    measured: float
    verdict: Verdict
    observation: str | None
    kind: str

    @classmethod
    def from_result(cls, key: str, result: Result) -> ResultFacts:
        """The facts of `result`, which is stored under `key`."""
        return cls(
            key=key,
            submission=result.submission,
            task=result.task,
            dataset=result.provenance.dataset,
            round=result.round,
            observation_key=result.observation_key,
            result_key=result.result_key,
            measured=result.measured.timestamp(),
            verdict=result.verdict,
            observation=result.provenance.observation,
            kind=result.kind,
        )


def select_counting(
    results: Iterable[ResultFacts],
    histories: Mapping[str, History],
    rounds: Rounds,
    current: Container[str] | None = None,
    *,
    of_all_suites: bool = False,
) -> list[ResultFacts]:
    """The results that count, sorted by submission and task; see `judge.records.results.load_results`.

    Args:
        histories: by the units' prefixes.
        rounds: that count.
        current: as `load_results`.
        of_all_suites: as `load_results`.
    """
    units: defaultdict[tuple[str, str, str], list[ResultFacts]] = defaultdict(list)  # by submission, task, data set
    for result in results:
        if result.round != rounds.get(SubmissionTask(result.submission, result.task, result.dataset), 0):
            continue
        if _counts(result, histories):
            units[result.submission, result.task, result.dataset if of_all_suites else ""].append(result)

    def order(result: ResultFacts) -> tuple[bool, float, str]:
        return current is not None and result.key in current, result.measured, result.result_key

    # `current` takes long to compute, and nearly all units have one result.
    return [rivals[0] if len(rivals) == 1 else max(rivals, key=order) for _, rivals in sorted(units.items())]


def _counts(result: ResultFacts, histories: Mapping[str, History]) -> bool:
    history = histories.get(unit_prefix(result.submission, result.task, result.observation_key))
    end = history.end if history else None
    if end is None or end.observation != result.observation:
        return False
    return end.observation is not None or end.verdict == result.verdict  # a measured result has its own verdict
