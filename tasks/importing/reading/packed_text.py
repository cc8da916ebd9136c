"""Text in files that may be compressed: gz, bz2, xz and zst, by the ending of their names."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import NamedTuple, TextIO, cast

from tasks.structures.text_files import check_is_no_utf16

ENDINGS = (".gz", ".bz2", ".xz", ".zst")
_CHUNK = 1 << 20


class OpenText(NamedTuple):
    """An open file.

    Args:
        text: its lines. Bytes that are no UTF-8 become surrogates, which no encoder accepts.
        raw: the file itself, whose place shows how much was read.
    """

    text: TextIO
    raw: BufferedReader


def is_packed(path: Path) -> bool:
    """Whether the name of a file says that it is compressed."""
    return path.suffix in ENDINGS


def plain_name(path: Path) -> str:
    """The name of a file without the ending of a compressed one."""
    return path.stem if is_packed(path) else path.name


@contextmanager
def open_text(path: Path) -> Iterator[OpenText]:
    """Opens a text file, compressed or not, without its byte order mark.

    Raises:
        OSError, EOFError, ValueError and those of the decompressor: here or while lines are read.
    """
    with path.open("rb") as raw, _unpacked(path, raw) as content:
        begin = content.peek(len(BOM_UTF8))
        check_is_no_utf16(begin)
        if begin.startswith(BOM_UTF8):
            content.read(len(BOM_UTF8))
        yield OpenText(TextIOWrapper(content, encoding="utf-8", errors="surrogateescape"), raw)


def _unpacked(path: Path, raw: BufferedReader) -> BufferedReader:
    """The content of a file. Its classes have the methods of a `BufferedReader`."""
    content: object = raw
    match path.suffix:  # each is imported when such a file is read
        case ".gz":
            import gzip

            content = gzip.GzipFile(fileobj=raw)
        case ".bz2":
            import bz2

            content = bz2.BZ2File(raw)
        case ".xz":
            import lzma

            content = lzma.LZMAFile(raw)  # noqa: SIM115 the caller closes it
        case ".zst":
            from tasks.importing.reading.zstandard_file import ZstandardFile

            content = BufferedReader(ZstandardFile(raw))
    return cast(BufferedReader, content)


def check_whole(path: Path) -> None:
    """Unpacks a compressed file to its end, whose checksum shows damage.

    Raises:
        EOFError, OSError and those of the decompressor: it is truncated or damaged.
    """
    if is_packed(path):
        with path.open("rb") as raw, _unpacked(path, raw) as content:
            while content.read(_CHUNK):
                pass
