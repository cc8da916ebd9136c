"""The current results of a store in which some records cannot be read: only their submissions are left out."""

from __future__ import annotations

from collections.abc import Collection, Container
from functools import cache, partial

from judge.evaluation.current_results import current_results
from judge.records.decisions import read_decisions
from judge.records.published_submissions import record_path
from judge.records.results import load_results, submission_ids
from judge.records.store_snapshot import StoreSnapshot
from judge.workspace import Workspace
from submissions.records import Submission
from submissions.store.interface import Store, StoreError
from submissions.store.read_record import read_record
from tasks.suites.suite import Suite


class ReadableResults(Container[str]):
    """As `current_results`, of the submissions whose records can be read. They are computed when first used.

    Raises:
        DatasetError: one line that names file and field.
        StoreError: the store does not answer; also when first used.
    """

    def __init__(self, workspace: Workspace, suite: Suite) -> None:
        no_records = StoreSnapshot(workspace.store, listed=())
        current_results(workspace.with_store(no_records), suite)  # raises now if a data set is faulty
        self._keys = cache(partial(_readable_results, workspace, suite))

    def __contains__(self, key: object) -> bool:
        return key in self._keys()


def _readable_results(workspace: Workspace, suite: Suite) -> frozenset[str]:
    try:
        return current_results(workspace, suite)
    except StoreError:  # broken submissions are searched only now: nearly always there is none
        readable = StoreSnapshot(workspace.store, broken_submissions(workspace.store, workspace.trusted))
        return current_results(workspace.with_store(readable), suite)


def broken_submissions(store: Store, trusted: Collection[str]) -> frozenset[str]:
    """The submissions in the store with a record that cannot be read."""
    return frozenset(id for id in submission_ids(store) if _is_broken(store, id, trusted))


def _is_broken(store: Store, id: str, trusted: Collection[str]) -> bool:
    """Whether a record of the submission under `id` cannot be read."""
    try:
        submission = read_record(store, record_path(id), Submission)
        decisions = read_decisions(store, submission.id, trusted)
        load_results(store, [submission.id], rounds=decisions.rounds)
    except StoreError:
        return True
    return False
