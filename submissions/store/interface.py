"""The object store: everything that is recorded, under names that say what it is. What each kind of store can do.

`put_if_absent` is what claims and results rest on: of many writers of one key exactly one wins, whatever dies when.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from sandbox.verdict import FaultCause, JudgeFault

_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+=, ()-]{0,199}")
MAX_KEY = 1024


class StoreError(JudgeFault):
    """The store cannot do what it is asked; one line that names the key or the folder, and the remedy."""

    def __init__(self, remedy: str) -> None:
        super().__init__(FaultCause.STORE, remedy)


class Store(Protocol):
    """Bytes by key. A key is a path such as `results/emt-0123456789ab/s22/9f….json`.

    Raises (all methods):
        StoreError: the key cannot be one, or the place does not answer.
    """

    def get(self, key: str) -> bytes:
        """The bytes under `key`.

        Raises:
            KeyError: there is nothing under it.
        """
        ...

    def put(self, key: str, data: bytes) -> None:
        """Writes `data` under `key`, whatever was there: a reader sees the old or the new, never a part."""
        ...

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """True if `key` now holds `data`: written by this call, or there already byte by byte. Else False."""
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """All keys that begin with `prefix`, sorted."""
        ...

    def stamped(self, prefix: str) -> Iterator[tuple[str, str]]:
        """The same keys, each with a stamp that is another whenever the bytes under the key may be others."""
        ...

    def delete(self, key: str) -> None:
        """Removes `key`; one that is not there is no error."""
        ...

    def exists(self, key: str) -> bool:
        """Whether there is something under `key`."""
        ...


def check_key(key: str) -> str:
    """`key`, if it can be one on every kind of store.

    Raises:
        StoreError: it is empty, absolute, too long, leaves the store, or has characters that some store refuses.
    """
    if len(key) > MAX_KEY:
        raise StoreError(f"key {key[:60]!r}… is longer than {MAX_KEY} characters")
    for segment in key.split("/"):
        if not _SEGMENT.fullmatch(segment) or segment.endswith((" ", ".")):
            raise StoreError(f"key {key!r}: {segment!r} cannot be a part of it (letters, digits and _.:@+=,()- only)")
    return key
