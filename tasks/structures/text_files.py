"""Text files that people write: UTF-8, with or without the byte order mark that some editors put before it."""

from __future__ import annotations

from pathlib import Path

MARKED_UTF8 = "utf-8-sig"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def check_is_no_utf16(begin: bytes) -> None:
    """Checks the first bytes of a file that should be UTF-8.

    Raises:
        ValueError: it is UTF-16, as Notepad and PowerShell may write; one line with the remedy.
    """
    if begin[:2] in _UTF16_MARKS or (len(begin) >= 2 and b"\0" in begin[:2] and begin[:2] != b"\0\0"):
        raise ValueError("is text in UTF-16: save it as UTF-8")


def decoded(data: bytes) -> str:
    """The text in `data`, without a byte order mark.

    Raises:
        ValueError: it is no UTF-8; one line with the remedy.
    """
    check_is_no_utf16(data)
    try:
        return data.decode(MARKED_UTF8)
    except UnicodeDecodeError as error:
        raise ValueError(f"is not text in UTF-8 (byte {error.start}): save it as UTF-8") from None


def read_text(path: Path) -> str:
    """The text of a file that a person wrote, without a byte order mark.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no UTF-8; one line with the remedy.
    """
    return decoded(path.read_bytes()).replace("\r\n", "\n").replace("\r", "\n")
