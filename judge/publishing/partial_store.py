"""What can be read of a store in which some records are broken: these leave their own submission out, and no other."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from judge.evaluation.current_results import current_results
from judge.records.decisions import read_standing
from judge.records.published_submissions import FOLDER, RECORD
from judge.records.results import load_results, read_record
from judge.workspace import Workspace
from submissions.records import Submission
from submissions.store.interface import Store, StoreError
from tasks.suites.suite import Suite


def readable_results(workspace: Workspace, suite: Suite) -> frozenset[str]:
    """As `current_results`, of the submissions whose records can be read.

    Raises:
        DatasetError: one line that names file and field.
        StoreError: the store does not answer.
    """
    try:
        return current_results(workspace, suite)
    except StoreError:  # which it is, is asked only now: nearly always there is none
        readable = Without(workspace.store, broken_submissions(workspace.store, workspace.trusted))
        return current_results(workspace.with_store(readable), suite)


def broken_submissions(store: Store, trusted: Collection[str]) -> frozenset[str]:
    """Of the submissions in the store, those of which a record cannot be read."""
    keys = [key for key in store.list(FOLDER) if key.endswith(f"/{RECORD}")]
    return frozenset(key.split("/")[1] for key in keys if _is_broken(store, key, trusted))


def _is_broken(store: Store, key: str, trusted: Collection[str]) -> bool:
    """Whether a record of the submission under `key` cannot be read."""
    try:
        submission = read_record(store, key, Submission)
        standing = read_standing(store, submission.id, trusted)
        load_results(store, [submission.id], rounds=standing.rounds)
    except StoreError:
        return True
    return False


class Without:
    """A store as if some submissions were not there. It is a `Store` that is not written.

    Args:
        hidden: ids.
    """

    def __init__(self, store: Store, hidden: frozenset[str]) -> None:
        self._store = store
        self._hidden = hidden

    def get(self, key: str) -> bytes:
        if self._is_hidden(key):
            raise KeyError(key)
        return self._store.get(key)

    def list(self, prefix: str) -> Iterator[str]:
        return (key for key in self._store.list(prefix) if not self._is_hidden(key))

    def stamped(self, prefix: str) -> Iterator[tuple[str, str]]:
        return ((key, stamp) for key, stamp in self._store.stamped(prefix) if not self._is_hidden(key))

    def exists(self, key: str) -> bool:
        return not self._is_hidden(key) and self._store.exists(key)

    def put(self, key: str, data: bytes) -> None:
        raise _not_written(key)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        raise _not_written(key)

    def delete(self, key: str) -> None:
        raise _not_written(key)

    def _is_hidden(self, key: str) -> bool:
        return not self._hidden.isdisjoint(key.split("/")[1:2])


def _not_written(key: str) -> StoreError:
    return StoreError(f"store: {key} was to be written while it was only to be read: report this")
