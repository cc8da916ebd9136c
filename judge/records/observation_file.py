"""Observations in the store, `observations/<sha256>.safetensors`: arrays with a JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from judge.records.hashed_file import read_hashed, store_hashed
from judge.records.strict_json import canonical_json
from submissions.store.interface import Store, StoreError
from tasks.kind import Observation


def pack(arrays: Mapping[str, NDArray[Any]], text: Mapping[str, Any]) -> bytes:
    """Arrays and a text part as safetensors; equal content gives equal bytes.

    The text is one canonical JSON value, because the library writes several header entries in no fixed order.
    """
    # np.array keeps () shapes, which np.ascontiguousarray does not; the library needs contiguous arrays.
    return save(
        {name: np.array(array, order="C") for name, array in arrays.items()}, metadata={"json": canonical_json(text)}
    )


def unpack(data: bytes) -> tuple[dict[str, NDArray[Any]], Any]:
    """The arrays and the text part in bytes of `pack`.

    Raises:
        ValueError: these are other bytes.
    """
    try:
        size = int.from_bytes(data[:8], "little")
        text = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["json"])
        return load(data), text
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError("not a file that the judge wrote") from error


def store_observation(store: Store, observation: Observation) -> str:
    """The sha256 of `observation`, which is stored now under that name.

    Raises:
        StoreError: it cannot be written.
    """
    return store_hashed(store, pack(observation.arrays, dict(observation.notes)), observation_path)


def read_observation(store: Store, digest: str) -> Observation:
    """The observation with this sha256.

    Raises:
        StoreError: it is gone or damaged.
    """
    key = observation_path(digest)
    data = read_hashed(store, key, digest)
    try:
        arrays, notes = unpack(data)
    except ValueError:
        raise StoreError(f"store: {key} is no observation: delete it and the attempt that names it") from None
    return Observation(arrays, notes)


def observation_path(digest: str) -> str:
    """The key of the observation with this sha256."""
    return f"observations/{digest}.safetensors"
