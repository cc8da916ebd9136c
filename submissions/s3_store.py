"""A store in a bucket of an S3 service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self


class S3Store:
    """A store below a prefix of a bucket."""

    @classmethod
    def at(cls, url: str, endpoint_url: str = "") -> Self:
        raise NotImplementedError(url, endpoint_url)

    def get(self, key: str) -> bytes:
        raise NotImplementedError

    def put(self, key: str, data: bytes) -> None:
        raise NotImplementedError

    def put_if_absent(self, key: str, data: bytes) -> bool:
        raise NotImplementedError

    def list(self, prefix: str) -> Iterator[str]:
        raise NotImplementedError

    def stamped(self, prefix: str) -> Iterator[tuple[str, str]]:
        raise NotImplementedError

    def delete(self, key: str) -> None:
        raise NotImplementedError

    def exists(self, key: str) -> bool:
        raise NotImplementedError
