"""A snapshot of a store: every record is listed once and read once, several at a time.

Publishing reads each record several times. From a snapshot it gets the same bytes each time, and a remote store is read
once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import takewhile

from submissions.store.interface import Stamped, Store, StoreError

N_THREADS = 16
_FOLDERS = ("attempts/", "manifests/", "results/", "selftests/", "submissions/")
_LARGE = (".safetensors",)  # read on demand and not kept


class StoreSnapshot:
    """The records of a store as they were when the snapshot was made. It is a `Store` that cannot be written.

    Args:
        hidden: submissions that are left out.
    """

    def __init__(self, store: Store, hidden: Collection[str] = frozenset()) -> None:
        self._store = store
        listed = (each for folder in _FOLDERS for each in store.stamped(folder))
        self._stamped = {each.key: each for each in listed if each.key.split("/", 2)[1] not in hidden}
        self._keys = sorted(self._stamped)
        kept = [key for key in self._keys if not key.endswith(_LARGE)]
        with ThreadPoolExecutor(N_THREADS) as pool:
            self._content: dict[str, Future[bytes]] = {key: pool.submit(store.get, key) for key in kept}

    def is_unchanged(self, folder: str) -> bool:
        """Whether the store's `folder` is unchanged since the snapshot."""
        return _stamps(self._store, folder) == _stamps(self, folder)

    def get(self, key: str) -> bytes:
        if key in self._content:
            return self._content[key].result()
        if key.startswith(_FOLDERS) and key not in self._stamped:
            raise KeyError(key)
        return self._store.get(key)

    def list(self, prefix: str) -> Iterator[str]:
        if not prefix.startswith(_FOLDERS):
            return self._store.list(prefix)
        begin = bisect_left(self._keys, prefix)
        later = (self._keys[i] for i in range(begin, len(self._keys)))
        return takewhile(lambda key: key.startswith(prefix), later)

    def stamped(self, prefix: str) -> Iterator[Stamped]:
        return (self._stamped[key] for key in self.list(prefix))

    def exists(self, key: str) -> bool:
        return key in self._stamped if key.startswith(_FOLDERS) else self._store.exists(key)

    def put(self, key: str, data: bytes) -> None:
        raise _not_written(key)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        raise _not_written(key)

    def delete(self, key: str) -> None:
        raise _not_written(key)


def _stamps(store: Store, folder: str) -> dict[str, str]:
    return {each.key: each.stamp for each in store.stamped(folder)}


def _not_written(key: str) -> StoreError:
    return StoreError(f"store: {key} was to be written while it was only to be read: report this")
