"""The interface of an object store, which holds every record under a key.

Claims and results rely on `put_if_absent`: of several writers of one key exactly one wins, also after a crash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from sandbox.verdict import FaultCause, JudgeFault

_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+=, ()-]{0,199}")
MAX_KEY = 1024


class StoreError(JudgeFault):
    """An operation on the store fails. One line names the key or the folder, and the remedy."""

    def __init__(self, remedy: str) -> None:
        super().__init__(FaultCause.STORE, remedy)


class Stamped(NamedTuple):
    """A key and the version of the bytes under it.

    Args:
        stamp: changes whenever the bytes change.
        is_settled: False if the file was changed a moment ago: then it may change again and keep this stamp.
        modified: time of the last change [s since 1970]; 0 if it is not known.
    """

    key: str
    stamp: str
    is_settled: bool = True
    size_bytes: int = 0
    modified: float = 0.0


class Readable(Protocol):
    """The part of a store that is needed to read a record."""

    def get(self, key: str) -> bytes:
        """The bytes under `key`.

        Raises:
            KeyError: the key does not exist.
            StoreError: as all methods of a `Store`.
        """
        ...


class Store(Readable, Protocol):
    """Bytes by key. A key is a path such as `results/emt-0123456789ab/s22/9f….json`.

    Raises (all methods):
        StoreError: the key is not valid, or the store does not answer.
    """

    def put(self, key: str, data: bytes) -> None:
        """Writes `data` under `key`. A reader sees the old or the new bytes, never a part."""
        ...

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """True if `key` now holds `data`: this call wrote it, or the same bytes were there. Else False."""
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """All keys that begin with `prefix`, sorted."""
        ...

    def stamped(self, prefix: str) -> Iterator[Stamped]:
        """The same keys, each with the version, number and time of its bytes. It takes one listing."""
        ...

    def delete(self, key: str) -> None:
        """Removes `key`. It is no error if the key does not exist."""
        ...

    def exists(self, key: str) -> bool:
        """Whether `key` exists."""
        ...


def check_key(key: str) -> str:
    """`key`, if it is valid on every kind of store.

    Raises:
        StoreError: it is empty, absolute, too long, leaves the store, or has characters that some store refuses.
    """
    if len(key) > MAX_KEY:
        raise StoreError(f"key {key[:60]!r}… is longer than {MAX_KEY} characters")
    for segment in key.split("/"):
        if not _SEGMENT.fullmatch(segment) or segment.endswith((" ", ".")):
            raise StoreError(f"key {key!r}: {segment!r} is not valid (letters, digits and _.:@+=,()- only)")
    return key
