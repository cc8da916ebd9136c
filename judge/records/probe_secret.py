"""The secret of a store, with which order and transformed copies of hidden structures are drawn. It is never shown.

Whoever has a hidden set by heart knows all else that they are drawn from, and could tell transformed copies without it.
"""

from __future__ import annotations

import secrets
from contextlib import suppress

from submissions.store.interface import Store, StoreError

KEY = "secrets/order"
_BYTES = 32


def order_secret(store: Store) -> bytes:
    """The secret of `store`, made where there is none: all judges on one store have the same.

    Raises:
        StoreError: what is there is not one, or the store does not answer.
    """
    with suppress(KeyError):
        return _checked(store.get(KEY))
    store.put_if_absent(KEY, secrets.token_bytes(_BYTES))  # of two judges at once one wins, and both read its own
    return _checked(store.get(KEY))


def _checked(data: bytes) -> bytes:
    if len(data) != _BYTES:
        raise StoreError(f"store: {KEY}: is not {_BYTES} bytes: restore it, or delete it and another is drawn")
    return data
