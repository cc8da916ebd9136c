"""Text files of people: with a byte order mark, or in UTF-16."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.structures.text_files import decoded, read_text

TEXT = 'name = "é"\nx = 1\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_byte_order_mark_is_as_if_it_were_not_there(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode(encoding))
    assert read_text(path) == TEXT


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_named(encoding: str) -> None:
    with pytest.raises(ValueError, match=r"^is text in UTF-16: save it as UTF-8$"):
        decoded(TEXT.encode(encoding))


def test_another_encoding_is_named_with_its_byte() -> None:
    with pytest.raises(ValueError, match=r"^is not text in UTF-8 \(byte 8\): save it as UTF-8$"):
        decoded(TEXT.encode("latin-1"))
    assert decoded(b"") == ""
