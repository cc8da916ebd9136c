"""A mapping whose values are computed when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Later(Mapping[Key, Value]):
    """The values of some keys, each computed when it is first used."""

    def __init__(self, keys: Collection[Key], value: Callable[[Key], Value]) -> None:
        self._keys = dict.fromkeys(keys)
        self._value = cache(value)

    def __getitem__(self, key: Key) -> Value:
        if key not in self._keys:
            raise KeyError(key)
        return self._value(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
