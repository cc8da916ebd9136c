"""The secret of a store. It seeds the order and the transformed copies of hidden structures, and the frames of timings;
and it enters the keys of observations and results, see `judge.records.content_keys`.

It is never shown.

See `tasks.observing.question_order`. A model that knows a hidden set by heart could compute everything else that they
are drawn from, and without the secret it could recognise the transformed copies.
"""

from __future__ import annotations

import secrets
from contextlib import suppress

from submissions.store.interface import Store, StoreError

KEY = "secrets/order"
_BYTES = 32


def order_secret(store: Store) -> bytes:
    """The secret of `store`, made if there is none. All judges on one store use the same.

    Raises:
        StoreError: the stored bytes are no secret, or the store does not answer.
    """
    if secret := known_secret(store):
        return secret
    store.put_if_absent(KEY, secrets.token_bytes(_BYTES))  # if two judges make one, both use the one that was stored
    return _checked(store.get(KEY))


def known_secret(store: Store) -> bytes:
    """The secret of `store`; empty if there is none, so that nothing was judged yet.

    Raises:
        StoreError: as `order_secret`.
    """
    with suppress(KeyError):
        return _checked(store.get(KEY))
    return b""


def _checked(data: bytes) -> bytes:
    if len(data) != _BYTES:
        raise StoreError(f"store: {KEY}: is not {_BYTES} bytes: restore it, or delete it and another is drawn")
    return data
