"""The items table beside a result: `results/<id>/<task>/<result_key>.items.safetensors`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.records.observation_file import pack, unpack
from submissions.store.interface import Store
from tasks.metrics.measurement import Items, ItemTerms
from tasks.structures.predictions import Cause

_TEXT = ("id", "group", "cluster")
_COLUMN = "column."
_TERMS = "terms."
_CODES = frozenset(int(cause) for cause in Cause)


def pack_items(items: Items) -> bytes:
    """The table as bytes: numeric columns as arrays, the three text columns as lists."""
    arrays: dict[str, NDArray[Any]] = {
        "cause": items.cause,
        **{f"{_COLUMN}{name}": column for name, column in items.columns.items()},
    }
    if items.terms is not None:
        arrays |= {f"{_TERMS}{name}": array for name, array in items.terms._asdict().items()}
    return pack(arrays, {name: [str(value) for value in getattr(items, name)] for name in _TEXT})


def unpack_items(data: bytes) -> Items:
    """The table in bytes of `pack_items`.

    Raises:
        ValueError: these are other bytes.
    """
    arrays, text = unpack(data)
    for name in _TEXT:
        if not isinstance(text, dict) or not _is_texts(text.get(name)):
            raise ValueError(f"the items table has no column {name}")
    cause = arrays.get("cause", np.zeros((), np.int8))
    if cause.ndim != 1 or cause.dtype.kind != "i" or not _CODES.issuperset(cause.tolist()):
        raise ValueError("the items table has no proper causes")
    columns = {
        name.removeprefix(_COLUMN): array.astype(np.float64)
        for name, array in arrays.items()
        if name.startswith(_COLUMN)
    }
    if any(column.ndim != 1 for column in columns.values()):
        raise ValueError("the items table has a column that is none")
    return Items(text["id"], text["group"], text["cluster"], cause.astype(np.int8), columns, _terms(arrays))


def _terms(arrays: Mapping[str, NDArray[Any]]) -> ItemTerms | None:
    """The terms of the items; None if the table has none."""
    parts = [arrays.get(f"{_TERMS}{name}") for name in ItemTerms._fields]
    item, structure, coefficient = parts
    if item is None and structure is None and coefficient is None:
        return None
    if item is None or structure is None or coefficient is None or {item.dtype.kind, structure.dtype.kind} != {"i"}:
        raise ValueError("the items table has no proper terms")
    return ItemTerms(item.astype(np.int64), structure.astype(np.int64), coefficient.astype(np.float64))


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and set(map(type, value)) <= {str}


def items_path(submission: str, task: str, result_key: str) -> str:
    """The key of the items table of a result."""
    return f"results/{submission}/{task}/{result_key}.items.safetensors"


def result_path(submission: str, task: str, result_key: str) -> str:
    """The key of a result."""
    return f"results/{submission}/{task}/{result_key}.json"


@dataclass
class ItemsTable:
    """The items table in the store, while its result is being stored.

    Two judges may measure one unit at once, with results that differ by rounding. The stored result states the hash of
    its table. So in the end the table must be that of the stored result, in any order in which the two wrote, or died.

    Args:
        replaced: the table that this judge overwrote.
    """

    store: Store
    path: str
    replaced: bytes | None = None

    def store_ahead_of(self, result: str, items: bytes) -> None:
        """Stores `items`, unless the key `result` exists: then the table belongs to that result. A table without a
        result was left by a judge that died, or belongs to a judge that is about to store its result."""
        if not self.store.put_if_absent(self.path, items) and not self.store.exists(result):
            self.replaced = self.store.get(self.path)
            self.store.put(self.path, items)

    def keep(self, items: bytes) -> None:
        """Stores `items` again, after this judge's result won, if the other judge has overwritten the table."""
        try:
            overwritten = self.store.get(self.path) != items
        except KeyError:
            overwritten = True
        if overwritten:
            self.store.put(self.path, items)

    def give_way(self, sha256: str) -> None:
        """Restores the overwritten table, if the other judge's result won and states its hash `sha256`."""
        if self.replaced is not None and hashlib.sha256(self.replaced).hexdigest() == sha256:
            self.store.put(self.path, self.replaced)
