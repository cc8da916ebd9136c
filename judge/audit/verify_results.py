"""Results, checked: signature, items, observation, and every number measured again from what is stored."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from judge.audit.rebuild_unit import Unlike, unit_again
from judge.audit.tolerance import compare, same_items
from judge.data.datasets import is_there
from judge.data.testset import read_testset
from judge.evaluation.measure import Measured, remeasure
from judge.records.attempts import read_histories, unit_prefix
from judge.records.decisions import read_standing
from judge.records.items_file import items_path, result_path, unpack_items
from judge.records.manifest import Broken, sha256
from judge.records.published_submissions import record_path, why_misnamed
from judge.records.records import End, Result
from judge.records.results import load_results, read_record
from judge.records.signing import BadSignature, check_signature
from sandbox.verdict import JudgeFault
from submissions.records import Submission
from submissions.store.interface import Store, StoreError
from tasks.datasets.dataset import Dataset, DatasetError, load_dataset
from tasks.suites.suite import Suite, Task


class Checked(NamedTuple):
    """One submission.

    Args:
        n_results: that count, in the suite.
        broken: its rows that do not hold, or could not be looked at.
        largest: relative difference of any of its numbers when measured again, of those that hold.
    """

    submission: str
    n_results: int
    broken: tuple[Broken, ...]
    largest: float = 0.0


@dataclass
class Ground:
    """What results are checked against.

    Args:
        trusted: public keys.
        current: keys of the results that fit the present data sets, where that is known: see `load_results`.
    """

    store: Store
    data: Path
    suite: Suite
    trusted: Collection[str]
    current: Collection[str] | None
    _read: dict[str, Dataset | DatasetError] = field(default_factory=dict)

    def dataset(self, name: str) -> Dataset:
        """The data set of that name, every file checked against its hash; read once.

        Raises:
            DatasetError: one line that names file and field.
        """
        if name not in self._read:
            try:
                self._read[name] = load_dataset(self.data / name)
            except DatasetError as error:
                self._read[name] = error
        found = self._read[name]
        if isinstance(found, DatasetError):
            raise found
        return found


class _Row(NamedTuple):
    """A result that is checked, and all that it rests on."""

    result: Result
    submission: Submission
    task: Task
    end: End

    @property
    def what(self) -> str:
        return result_path(self.result.submission, self.result.task, self.result.result_key)


def check_submission(ground: Ground, id: str) -> Checked:
    """What does not hold of the results of a submission that count in the suite."""
    tasks = {task.name: task for task in ground.suite.tasks}
    try:
        submission = read_record(ground.store, record_path(id), Submission)
        rounds = read_standing(ground.store, id, ground.trusted).rounds
        results = [r for r in load_results(ground.store, [id], ground.current, rounds=rounds) if r.task in tasks]
        histories = read_histories(ground.store, [id])
    except StoreError as error:
        return Checked(id, 0, (Broken(id, error.remedy),))
    misnamed = why_misnamed(id, submission)
    broken = [Broken(record_path(id), misnamed)] if misnamed else []
    largest = 0.0
    for result in results:
        end = histories[unit_prefix(id, result.task, result.observation_key)].end
        if end is None:  # by a judge that began anew this very moment
            broken.append(Broken(id, f"{result.task} is being judged anew: verify it again afterwards"))
            continue
        row = _Row(result, submission, tasks[result.task], end)
        found, difference = _check(ground, row)
        broken += found
        largest = max(largest, difference)
    return Checked(id, len(results), tuple(broken), largest)


def _check(ground: Ground, row: _Row) -> tuple[list[Broken], float]:
    """What does not hold of a result, and the largest difference of a number of it where all hold."""
    stated = [*_signature(ground, row), *_items(ground, row)]
    if not is_there(ground.data, row.task.dataset):
        why = f"not verified: data set {row.task.dataset} is not here: judge data import, or --skip-missing"
        return [*(Broken(row.what, why) for why in stated), Broken(row.what, why, missing=True)], 0.0
    try:
        dataset = ground.dataset(row.task.dataset)
        testset = read_testset(ground.data, row.task.dataset)
        unit = unit_again(row.result, row.end, row.submission, row.task, testset)
        measured = remeasure(unit, row.end, ground.store, lambda: dataset)
    except (Unlike, DatasetError) as error:
        return [Broken(row.what, why) for why in (*stated, str(error))], 0.0
    except JudgeFault as fault:
        return [Broken(row.what, why) for why in (*stated, fault.remedy)], 0.0
    otherwise, largest = compare(row.result, measured.result)
    differences = [otherwise] if otherwise else [] if stated else _items_again(ground, row, measured)
    remedy = f"restore it, or judge rejudge {row.result.submission}"
    return [Broken(row.what, why) for why in (*stated, *(f"{each}: {remedy}" for each in differences))], largest


def _signature(ground: Ground, row: _Row) -> Iterator[str]:
    """Whether the result is signed as it is stored."""
    try:
        data = ground.store.get(row.what)
    except KeyError:  # what was read calls itself so, and lies elsewhere
        yield "is stored under another name: restore it"
        return
    try:
        check_signature(data, ground.trusted)
    except BadSignature as error:
        yield str(error)
    if Result.read(data) != row.result:
        yield "was changed meanwhile: verify it again"


def _items(ground: Ground, row: _Row) -> Iterator[str]:
    """Whether the stored items table is the one whose hash the result states."""
    result = row.result
    if result.provenance.observation is None:
        return
    try:
        data = ground.store.get(items_path(result.submission, result.task, result.result_key))
    except KeyError:
        yield f"its items table is gone: restore it, or judge rejudge {result.submission}"
        return
    if not result.items_sha256:
        yield f"it does not state the hash of its items: judge rejudge {result.submission}"
    elif sha256(data) != result.items_sha256:
        yield f"its items table is not the one that it states: restore it, or judge rejudge {result.submission}"


def _items_again(ground: Ground, row: _Row, measured: Measured) -> list[str]:
    """Whether the items come out as they are stored, but for rounding."""
    result = row.result
    if measured.items is None or sha256(measured.items) == result.items_sha256:
        return []
    there = ground.store.get(items_path(result.submission, result.task, result.result_key))
    try:
        same = same_items(unpack_items(there), unpack_items(measured.items))
    except ValueError:
        return ["its items table cannot be read"]
    return [] if same else ["its items come out otherwise"]
