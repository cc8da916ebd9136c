"""Verifies results: signature, items table, observation, and every number by measuring again from stored data."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from judge.audit.rebuild_unit import NotDerivable, rebuild_unit
from judge.audit.tolerance import compare, same_items
from judge.data.datasets import is_there
from judge.data.testset import read_testset
from judge.evaluation.measure import MeasuredUnit, remeasure
from judge.ranking.load import items_key
from judge.records.asked_results import asked_by
from judge.records.attempts import read_histories, unit_prefix
from judge.records.decisions import read_decisions
from judge.records.items_file import result_path, unpack_items
from judge.records.manifest import Defect, sha256
from judge.records.observation_file import observation_path, read_observation
from judge.records.probe_secret import known_secret
from judge.records.published_submissions import record_path, why_misnamed
from judge.records.records import End, Result
from judge.records.removals import removed_keys
from judge.records.results import load_results
from judge.records.signing import BadSignature, check_signature
from sandbox.verdict import JudgeFault
from submissions.records import Submission
from submissions.store.interface import Store, StoreError
from submissions.store.read_record import read_record
from tasks.datasets.dataset import Dataset, DatasetError, load_dataset
from tasks.suites.suite import Suite, Task
from tasks.timing.judged_frames import has_energies_of, judged_observations


class SubmissionCheck(NamedTuple):
    """The verification of one submission.

    Args:
        n_results: that count, in the suite.
        defects: also the results that could not be verified.
        largest: relative difference between a stored number and the same number measured again, without defects.
        removed: keys of results that were not measured again: the retention policy removed their observations.
    """

    submission: str
    n_results: int
    defects: tuple[Defect, ...]
    largest: float = 0.0
    removed: tuple[str, ...] = ()


@dataclass
class VerificationContext:
    """The store and the data sets that results are verified against.

    Args:
        trusted: public keys.
        current: keys of the results that fit the present data sets; None: not known. See `load_results`.
    """

    store: Store
    data: Path
    suite: Suite
    trusted: Collection[str]
    current: Collection[str] | None
    _datasets: dict[str, Dataset | DatasetError] = field(default_factory=dict)

    def is_removed(self, result: Result) -> bool:
        """Whether the observation of `result` is gone, and a trusted judge's retention policy removed it.

        Raises:
            StoreError: the record of a removal cannot be read.
        """
        digest = result.provenance.observation
        if digest is None or self.store.exists(observation_path(digest)):
            return False
        return observation_path(digest) in self._removed

    @cached_property
    def _removed(self) -> frozenset[str]:
        return removed_keys(self.store, self.trusted)

    def dataset(self, name: str) -> Dataset:
        """The data set, every file checked against its hash. Each data set is read once.

        Raises:
            DatasetError: one line that names file and field.
        """
        if name not in self._datasets:
            try:
                self._datasets[name] = load_dataset(self.data / name)
            except DatasetError as error:
                self._datasets[name] = error
        dataset = self._datasets[name]
        if isinstance(dataset, DatasetError):
            raise dataset
        return dataset


class _CheckedResult(NamedTuple):
    """A result to be verified, with the records that it follows from."""

    result: Result
    submission: Submission
    task: Task
    end: End

    @property
    def key(self) -> str:
        return result_path(self.result.submission, self.result.task, self.result.result_key)


def check_submission(context: VerificationContext, id: str) -> SubmissionCheck:
    """The verification of those results of a submission that count in the suite."""
    tasks = {task.name: task for task in context.suite.tasks}
    try:
        submission = read_record(context.store, record_path(id), Submission)
        rounds = read_decisions(context.store, id, context.trusted).rounds
        counting = load_results(context.store, [id], context.current, rounds=rounds, is_asked=asked_by(context.suite))
        results = [result for result in counting if result.task in tasks]
        histories = read_histories(context.store, [id])
    except StoreError as error:
        return SubmissionCheck(id, 0, (Defect(id, error.remedy),))
    misnamed = why_misnamed(id, submission)
    defects = [Defect(record_path(id), misnamed)] if misnamed else []
    largest, removed = 0.0, []
    for result in results:
        end = histories[unit_prefix(id, result.task, result.observation_key)].end
        if end is None:  # another judge has just begun a new attempt
            defects.append(Defect(id, f"{result.task} is being judged again: verify it afterwards"))
            continue
        row = _CheckedResult(result, submission, tasks[result.task], end)
        if context.is_removed(result):
            defects += [Defect(row.key, why) for why in (*_signature(context, row), *_items(context, row))]
            removed.append(row.key)
            continue
        defects_of_result, difference = _check(context, row)
        defects += defects_of_result
        largest = max(largest, difference)
    return SubmissionCheck(id, len(results), tuple(defects), largest, tuple(removed))


def _check(context: VerificationContext, row: _CheckedResult) -> tuple[list[Defect], float]:
    """The defects of a result; and the largest relative difference of its numbers, 0 if there is a defect."""
    stored_defects = [*_signature(context, row), *_items(context, row)]
    if not is_there(context.data, row.task.dataset):
        why = f"not verified: data set {row.task.dataset} is not here: judge data import, or --skip-missing"
        return [*(Defect(row.key, why) for why in stored_defects), Defect(row.key, why, missing=True)], 0.0
    try:
        dataset = context.dataset(row.task.dataset)
        testset = read_testset(context.data, row.task.dataset)
        unit = rebuild_unit(row.result, row.end, row.submission, row.task, testset, known_secret(context.store))
        measured = remeasure(unit, row.end, context.store, lambda: dataset)
        difference, largest = compare(row.result, measured.result)
        differences = [difference] if difference else [] if stored_defects else _changed_items(context, row, measured)
        differences += [] if differences or stored_defects else _copied_answers(context, row)
    except (NotDerivable, DatasetError, JudgeFault) as error:
        reason = error.remedy if isinstance(error, JudgeFault) else str(error)
        return [Defect(row.key, why) for why in (*stored_defects, reason)], 0.0
    remedy = f"restore it, or judge rejudge {row.result.submission}"
    return [Defect(row.key, why) for why in (*stored_defects, *(f"{each}: {remedy}" for each in differences))], largest


def _signature(context: VerificationContext, row: _CheckedResult) -> Iterator[str]:
    """The defects of the stored bytes and their signature."""
    try:
        data = context.store.get(row.key)
    except KeyError:  # its own fields give it another key than the one under which it was read
        yield "is stored under another name: restore it"
        return
    try:
        check_signature(data, context.trusted)
    except BadSignature as error:
        yield str(error)
    if Result.read(data) != row.result:
        yield "was changed meanwhile: verify it again"


def _items(context: VerificationContext, row: _CheckedResult) -> Iterator[str]:
    """The defects of the stored items table, whose hash the result states."""
    result = row.result
    if result.provenance.observation is None:
        return
    try:
        data = context.store.get(items_key(result))
    except KeyError:
        yield f"its items table is gone: restore it, or judge rejudge {result.submission}"
        return
    if not result.items_sha256:
        yield f"it does not state the hash of its items: judge rejudge {result.submission}"
    elif sha256(data) != result.items_sha256:
        yield f"its items table is not the one that it states: restore it, or judge rejudge {result.submission}"


def _changed_items(context: VerificationContext, row: _CheckedResult, measured: MeasuredUnit) -> list[str]:
    """A line if the items differ from the stored ones by more than rounding."""
    result = row.result
    if measured.items is None or sha256(measured.items) == result.items_sha256:
        return []
    stored = context.store.get(items_key(result))
    try:
        is_same = same_items(unpack_items(stored), unpack_items(measured.items))
    except ValueError:
        return ["its items table cannot be read"]
    return [] if is_same else ["its items differ when they are measured again"]


def _copied_answers(context: VerificationContext, row: _CheckedResult) -> list[str]:
    """A line for each task whose answers a timing was compared with, if they are not those that are stored of it.

    Raises:
        StoreError: these are damaged.
    """
    digest = row.result.provenance.observation
    if digest is None or not row.task.traits.times:
        return []
    observation, store = read_observation(context.store, digest), context.store
    return [
        f"the answers that it was compared with are not those of observation {judged}"
        for judged in judged_observations(observation)
        if store.exists(observation_path(judged))
        and not has_energies_of(observation, judged, read_observation(store, judged))
    ]
