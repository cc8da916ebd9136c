"""Of each submission and task the one result that counts, told from a few facts of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from judge.records.attempts import History, unit_prefix
from judge.records.decisions import Rounds, TaskOf
from judge.records.records import Result
from sandbox.verdict import Verdict


class ResultFacts(NamedTuple):
    """What must be known of a result to tell whether it counts.

    Args:
        key: in the store.
        measured: when; seconds since 1970.
        observation: sha256; None where the verdict ended the attempt before there was one.
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

    @classmethod
    def of(cls, key: str, result: Result) -> ResultFacts:
        """Those of `result`, which is stored under `key`."""
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
        )


def those_that_count(
    results: Iterable[ResultFacts],
    histories: Mapping[str, History],
    rounds: Rounds,
    current: Collection[str] | None = None,
    *,
    of_all_suites: bool = False,
) -> list[ResultFacts]:
    """Those of `results` that count, by submission and task; see `judge.records.results.load_results`.

    Args:
        histories: by the units' prefixes.
        rounds: that count.
        current: as `load_results`.
        of_all_suites: as `load_results`.
    """
    best: dict[tuple[str, str, str], tuple[tuple[bool, float, str], ResultFacts]] = {}
    for result in results:
        if result.round != rounds.get(TaskOf(result.submission, result.task, result.dataset), 0):
            continue
        if not _counts(result, histories):
            continue
        rank = (current is not None and result.key in current, result.measured, result.result_key)
        place = (result.submission, result.task, result.dataset if of_all_suites else "")
        if place not in best or rank > best[place][0]:
            best[place] = (rank, result)
    return [best[place][1] for place in sorted(best)]


def _counts(result: ResultFacts, histories: Mapping[str, History]) -> bool:
    history = histories.get(unit_prefix(result.submission, result.task, result.observation_key))
    end = history.end if history else None
    if end is None or end.observation != result.observation:
        return False
    return end.observation is not None or end.verdict == result.verdict  # what is measured has its own verdict
