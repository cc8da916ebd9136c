"""The error of a file that cannot be used, and the guard that turns every other error of its reader into it."""

from __future__ import annotations

import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError

from pydantic import ValidationError

from tasks.structures.validation_errors import one_line

MAX_TEXT = 300  # characters of a library's own words
DAMAGED = "is incomplete or damaged: fetch it again"
# What readers of compressed files raise over truncated and damaged ones. bz2 and zstandard have no class for it.
DAMAGE = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error)
DAMAGE_TEXTS = (
    "Invalid data stream",
    "Compressed data ended",
    "Not a gzipped file",
    "zstd decompress",
    "Unknown compression method",
)


class DatasetError(ValueError):
    """A data set that cannot be used: one line that names file and field."""


@contextmanager
def dataset_faults(where: object, *passing: type[Exception]) -> Iterator[None]:
    """Turns every error of a reader into a `DatasetError` that begins with `where`: file and place.

    Readers of foreign formats raise errors of any class over broken files, so no list of classes is complete. An error
    that the reader does not name itself keeps its class in the line, and its traceback for `--debug`.

    Args:
        passing: errors that the caller handles.
    """
    try:
        yield
    except DatasetError:
        raise
    except Exception as error:
        if isinstance(error, passing):
            raise
        raise DatasetError(f"{where}: {fault_text(error)}") from (
            None if isinstance(error, ValueError | OSError) else error
        )


def is_damage(error: BaseException) -> bool:
    """Whether the error is of a compressed file that is truncated or damaged."""
    text = str(error)
    return isinstance(error, DAMAGE) or any(each in text for each in DAMAGE_TEXTS)


def fault_text(error: BaseException) -> str:
    """What is wrong with a file whose reader raised `error`, with the remedy."""
    text = " ".join(str(error).split())[:MAX_TEXT]
    if is_damage(error):  # a file without compression whose name says that it has one looks the same
        return f"{DAMAGED} ({text})" if "Not a gzipped file" in text else DAMAGED
    match error:
        case ValidationError():
            return one_line(error)
        case UnicodeDecodeError():
            return f"is not text in {error.encoding}, or damaged (byte {error.start}): save it as UTF-8"
        case FileNotFoundError():
            return "cannot be read: No such file or directory"
        case OSError():
            return f"cannot be read: {error.strerror or text or type(error).__name__}"
        case RecursionError():
            return "is nested too deep: restore the file"
        case MemoryError():
            return "does not fit into memory: split it, or restore it if it is damaged"
        case ImportError():
            return f"needs a package that is not installed: pip install {error.name or text}"
        case JSONDecodeError():
            return f"is no JSON: {text}"
        case ValueError() if text:
            return text
    # The text of a KeyError is a key alone, that of others is for programmers.
    return f"cannot be read ({type(error).__name__}: {text}): check its form, or fetch it again"
