"""The items table beside a result: `results/<id>/<task>/<result_key>.items.safetensors`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.observation_file import pack, unpack
from tasks.measurement import Items

_TEXT = ("id", "group", "cluster")
_COLUMN = "column."


def pack_items(items: Items) -> bytes:
    """The table as bytes: numeric columns as arrays, the three text columns as lists."""
    arrays: dict[str, NDArray[Any]] = {
        "cause": items.cause,
        **{f"{_COLUMN}{name}": column for name, column in items.columns.items()},
    }
    return pack(arrays, {name: [str(value) for value in getattr(items, name)] for name in _TEXT})


def unpack_items(data: bytes) -> Items:
    """The table that `pack_items` made.

    Raises:
        ValueError: these are other bytes.
    """
    arrays, text = unpack(data)
    columns = {
        name.removeprefix(_COLUMN): array.astype(np.float64)
        for name, array in arrays.items()
        if name.startswith(_COLUMN)
    }
    try:
        return Items(text["id"], text["group"], text["cluster"], arrays["cause"].astype(np.int8), columns)
    except KeyError as missing:
        raise ValueError(f"the items table has no {missing}") from None


def items_path(submission: str, task: str, result_key: str) -> str:
    """Where the items of a result lie."""
    return f"results/{submission}/{task}/{result_key}.items.safetensors"


def result_path(submission: str, task: str, result_key: str) -> str:
    """Where a result lies."""
    return f"results/{submission}/{task}/{result_key}.json"
