"""The guard around readers of foreign files: whatever a library raises, one line names file, place and remedy."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import zlib
from collections.abc import Callable

import pytest

from tasks.datasets.dataset_errors import DAMAGED, DatasetError, dataset_faults

WHOLE = json.dumps(list(range(1000))).encode()
CODECS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "gz": (gzip.compress, gzip.decompress),
    "bz2": (bz2.compress, bz2.decompress),
    "xz": (lzma.compress, lzma.decompress),
    "zlib": (zlib.compress, zlib.decompress),
}


def line_of(action: Callable[[], object]) -> str:
    with pytest.raises(DatasetError) as refused, dataset_faults("file.x: frame 3"):
        action()
    return str(refused.value)


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], flipped, lambda data: b"\0" + data])
def test_truncated_and_damaged_archives_have_one_remedy(codec: str, damage: Callable[[bytes], bytes]) -> None:
    compress, decompress = CODECS[codec]
    assert decompress(compress(WHOLE)) == WHOLE
    assert line_of(lambda: decompress(damage(compress(WHOLE)))).startswith(f"file.x: frame 3: {DAMAGED}")


def test_an_error_of_any_class_becomes_one_line_with_its_class_and_a_remedy() -> None:
    assert line_of(lambda: {}["D"]).startswith("file.x: frame 3: cannot be read (KeyError: 'D'): check its form")
    assert "ZeroDivisionError" in line_of(lambda: 1 / 0)
    assert "is no JSON: Expecting value" in line_of(lambda: json.loads("nothing"))
    assert "is not text in utf-8, or damaged (byte 1): save it as UTF-8" in line_of(lambda: b"a\xff".decode())
    assert "needs a package that is not installed: pip install no_such_package" in line_of(
        lambda: __import__("no_such_package")
    )
    several_lines = line_of(lambda: int("x\ny"))
    assert "\n" not in several_lines


def test_the_readers_own_line_and_errors_that_are_let_pass_stay_as_they_are() -> None:
    with pytest.raises(DatasetError, match=r"^mine: field$"), dataset_faults("other"):
        raise DatasetError("mine: field")
    with pytest.raises(LookupError, match=r"^missing$"), dataset_faults("other", LookupError):
        raise LookupError("missing")
    with pytest.raises(KeyboardInterrupt), dataset_faults("other"):
        raise KeyboardInterrupt


def test_the_traceback_of_an_unforeseen_error_is_kept_for_debug() -> None:
    with pytest.raises(DatasetError) as refused, dataset_faults("file.x"):
        [].pop()
    assert isinstance(refused.value.__cause__, IndexError)
