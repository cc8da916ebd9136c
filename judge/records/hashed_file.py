"""Files in the store whose names are the sha256 of their bytes: written once, checked whenever they are read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from submissions.store.interface import Store, StoreError


def store_hashed(store: Store, data: bytes, path: Callable[[str], str]) -> str:
    """The sha256 of `data`, which is stored now.

    Args:
        path: the key for a sha256.

    Raises:
        StoreError: it cannot be written.
    """
    digest = hashlib.sha256(data).hexdigest()
    key = path(digest)
    if not store.put_if_absent(key, data):
        raise StoreError(f"store: {key} is damaged: delete it and evaluate again")
    return digest


def read_hashed(store: Store, key: str, digest: str) -> bytes:
    """The bytes under `key`, which have this sha256.

    Raises:
        StoreError: they are gone or damaged.
    """
    try:
        data = store.get(key)
    except KeyError:
        raise StoreError(f"store: {key} is gone: restore it, or delete the attempt that names it") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise StoreError(f"store: {key} is damaged: restore it, or delete it and the attempt that names it")
    return data
