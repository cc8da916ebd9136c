"""A snapshot of a store: every record is listed once and read once, many at a time.

Building and publishing read each record several times. From a snapshot they get the same bytes each time, and a remote
store is read once.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, takewhile

from submissions.store.interface import Stamped, Store, StoreError

N_THREADS, N_PER_TASK = 16, 64
FAST_S = 0.05  # for a piece, which a local disk reads in 2 ms, and a remote store in more than 100 ms
_FOLDERS = ("attempts/", "manifests/", "results/", "selftests/", "submissions/")
_ON_DEMAND = (".safetensors", "/beat.json")  # large, or of no use to a reader: they are not read at first
KEPT_BYTES = 1 << 26
"""So much of what is read on demand is kept: the tables of a small board are read once for all pages."""


def list_records(store: Store) -> list[Stamped]:
    """All records of the store with their stamps, sorted."""
    return [each for folder in _FOLDERS for each in store.stamped(folder)]


class StoreSnapshot:
    """The records of a store as they were when the snapshot was made. It is a `Store` that cannot be written.

    Args:
        hidden: submissions that are left out.
        listed: the store's records; None: they are listed now.
    """

    def __init__(
        self, store: Store, hidden: Collection[str] = frozenset(), listed: Sequence[Stamped] | None = None
    ) -> None:
        self._store = store
        records = list_records(store) if listed is None else listed
        self._stamped = {each.key: each for each in records if each.key.split("/", 2)[1] not in hidden}
        self._keys = sorted(self._stamped)
        kept = [key for key in self._keys if not (key.endswith(_ON_DEMAND) or self._is_ended_claim(key))]
        self._free_bytes = KEPT_BYTES
        self._content = dict(self._read_all([kept[i : i + N_PER_TASK] for i in range(0, len(kept), N_PER_TASK)]))

    def _read_all(self, pieces: Sequence[Sequence[str]]) -> Iterator[tuple[str, bytes]]:
        """The keys with their bytes. Threads read as soon as a piece is slow: a local disk is faster without them."""
        n_read, begin = 0, time.monotonic()
        while n_read < len(pieces) and time.monotonic() - begin < (n_read + 1) * FAST_S:
            yield from self._read(pieces[n_read])
            n_read += 1
        if n_read < len(pieces):
            with ThreadPoolExecutor(N_THREADS) as pool:
                yield from chain.from_iterable(pool.map(self._read, pieces[n_read:]))

    def _is_ended_claim(self, key: str) -> bool:
        """Whether the key is of a claim beside an end, which nobody reads."""
        return key.endswith("/claim.json") and f"{key.removesuffix('claim.json')}end.json" in self._stamped

    def _read(self, keys: Sequence[str]) -> list[tuple[str, bytes]]:
        """The keys with their bytes, without those that cannot be read: `get` raises the error."""
        read = []
        for key in keys:
            with suppress(KeyError, StoreError):
                read.append((key, self._store.get(key)))
        return read

    def is_unchanged(self, folder: str) -> bool:
        """Whether the store's `folder` is unchanged since the snapshot."""
        return _stamps(self._store, folder) == _stamps(self, folder)

    def get(self, key: str) -> bytes:
        if key in self._content:
            return self._content[key]
        if key.startswith(_FOLDERS) and key not in self._stamped:
            raise KeyError(key)
        content = self._store.get(key)
        if key in self._stamped and len(content) <= self._free_bytes:
            self._free_bytes -= len(content)
            self._content[key] = content
        return content

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
