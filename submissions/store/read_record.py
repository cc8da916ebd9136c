"""Reads a record from a store; a broken one is a fault of the store that names the key."""

from __future__ import annotations

from typing import TypeVar

from pydantic import ValidationError

from submissions.records import Record
from submissions.store.interface import Readable, StoreError

R = TypeVar("R", bound=Record)


def read_record(store: Readable, key: str, record: type[R]) -> R:
    """The record under `key`.

    Raises:
        StoreError: it is gone or not valid; the message names key and field.
    """
    try:
        return record.read(store.get(key))
    except KeyError:
        raise StoreError(f"store: {key} is gone: restore it") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "content"
        raise StoreError(f"store: {key}: {field}: {first['msg']}: restore it, or delete it") from None
