"""The content of a file in Zstandard's format. Unlike the library's own reader it does not take a truncated file for a
whole one."""

from __future__ import annotations

from io import BufferedReader, RawIOBase
from typing import Any

from zstandard import ZstdDecompressor

_CHUNK = 1 << 17


class ZstandardFile(RawIOBase):
    """Reads the frames of a compressed file, one after another.

    Args:
        compressed: is read from its place on.
    """

    def __init__(self, compressed: BufferedReader) -> None:
        self._compressed = compressed
        self._frame = ZstdDecompressor().decompressobj()
        self._in_frame = False
        self._content = memoryview(b"")

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fills the buffer as far as a piece of the content reaches; 0 at the end.

        Raises:
            EOFError: the file ends within a frame.
            zstandard.ZstdError: the file is damaged.
        """
        target = memoryview(buffer).cast("B")
        while not self._content and (piece := self._compressed.read(_CHUNK)):
            self._content = memoryview(self._unpacked(piece))
        if not self._content and self._in_frame:
            raise EOFError("the file ends within a frame of Zstandard")
        n = min(len(target), len(self._content))
        target[:n], self._content = self._content[:n], self._content[n:]
        return n

    def _unpacked(self, piece: bytes) -> bytes:
        parts = []
        while piece:
            parts.append(self._frame.decompress(piece))
            piece, self._in_frame = b"", True
            if self._frame.eof:
                piece, self._in_frame = self._frame.unused_data, False
                self._frame = ZstdDecompressor().decompressobj()
        return b"".join(parts)
