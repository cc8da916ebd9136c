"""The body of a presigned POST: fields and a file, read off the disk as it is sent, so that memory stays small."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

_BLOCK = 64 * 1024


class FormBody:
    """A multipart/form-data body with a length and `read`, which is what an HTTP client streams.

    Args:
        fields: of the form; the file comes last, since servers ignore what follows it.
        report: called with the bytes of the file that were read so far.
    """

    def __init__(self, fields: Mapping[str, str], path: Path, report: Callable[[int], None]) -> None:
        boundary = secrets.token_hex(16)
        self.content_type = f"multipart/form-data; boundary={boundary}"
        head = [_part(boundary, name) + value + "\r\n" for name, value in fields.items()]
        head.append(_part(boundary, "file", '; filename="file"'))
        self._pending = "".join(head).encode()
        self._end = f"\r\n--{boundary}--\r\n".encode()
        self._file = path.open("rb")
        self._report = report
        self._sent = 0
        self._length = len(self._pending) + path.stat().st_size + len(self._end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read(_BLOCK):
            yield piece

    def read(self, n_bytes: int = _BLOCK) -> bytes:
        """The next bytes, at most `n_bytes`; empty at the end."""
        n_bytes = _BLOCK if n_bytes < 0 else n_bytes
        if not self._pending:
            piece = self._file.read(n_bytes)
            if piece:
                self._sent += len(piece)
                self._report(self._sent)
                return piece
            self._pending, self._end = self._end, b""
        piece, self._pending = self._pending[:n_bytes], self._pending[n_bytes:]
        return piece


def _part(boundary: str, name: str, more: str = "") -> str:
    # What would end the header line or the quotes is escaped as browsers do it.
    quoted = name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")
    return f'--{boundary}\r\nContent-Disposition: form-data; name="{quoted}"{more}\r\n\r\n'
