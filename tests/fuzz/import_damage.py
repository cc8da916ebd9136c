"""Random damage of one file of a sound input: bytes, lines, numbers, words, JSON, arrays, encodings, compression."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.mutations import changed, mangled

# What stands in place of a number or of a word.
TOKENS = (
    "nan", "NaN", "inf", "-inf", "1e300", "-1e300", "1e-300", "1e10", "0", "-1", "-0.0", "7", "0.5", "9" * 20,
    "abc", "", "1,5", "\uff11", "1_0", "0x10", "1d-3", "T", "None", "null", "[]", "Xx", "D", "Cu1", "29", "H", "\x00",
    "é",
)  # fmt: skip
WORD = re.compile(rb"[A-Za-z_][\w.\-]*")
NUMBER = re.compile(rb"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
PACKED = {".gz": gzip, ".bz2": bz2, ".xz": lzma}


def damage(random: Random, root: Path) -> str:
    """Damages one file under `root` (or `root`, if it is a file) in one to three ways; what was done, in words."""
    files = sorted(path for path in [root, *root.rglob("*")] if path.is_file())
    path = random.choice(files)
    done = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        done.append(_damaged(random, path))
        if not path.is_file():
            break
    return f"{path.relative_to(root.parent)}: {', '.join(done)}"


def _damaged(random: Random, path: Path) -> str:
    pick = random.random()
    if pick < 0.03:
        return _without(random, path)
    if path.suffix in PACKED and pick < 0.7:
        return _repacked(random, path)
    if path.suffix in (".npy", ".npz") and pick < 0.7:
        return _other_array(random, path)
    data = path.read_bytes()
    if not data:
        return "nothing"
    damaged, name = _other_bytes(random, data, path.suffix)
    path.write_bytes(damaged)
    return name


def _without(random: Random, path: Path) -> str:
    """The file is not there, is empty, or is a folder."""
    path.unlink()
    pick = random.randrange(3)
    if pick == 0:
        path.write_bytes(b"")
    elif pick == 1:
        path.mkdir()
    return ("empty", "a folder", "removed")[pick]


def _repacked(random: Random, path: Path) -> str:
    """The content is damaged and compressed again."""
    packing: Any = PACKED[path.suffix]
    try:
        content = packing.decompress(path.read_bytes())
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error):
        return "nothing"
    damaged, name = _other_bytes(random, content, Path(path.stem).suffix) if content else (b"{}", "nothing")
    path.write_bytes(packing.compress(damaged))
    return f"{name} within {path.suffix}"


def _other_bytes(random: Random, data: bytes, suffix: str) -> tuple[bytes, str]:
    ways: list[Callable[[Random, bytes], bytes]] = [mangled, cut, encoded]
    if suffix not in (".npy", ".npz", ".db", ".traj", ".xlsx"):
        ways += [*[other_number] * 3, *[scaled_number] * 4, other_word, other_lines, other_lines]
    if suffix == ".json":
        ways = [mangled, cut, encoded, other_number, other_number, *[scaled_number] * 3, *[other_json] * 5]
    way = random.choice(ways)
    return way(random, data), way.__name__


def cut(random: Random, data: bytes) -> bytes:
    """The beginning, or the data without a long part."""
    first, second = sorted(random.randrange(len(data) + 1) for _ in range(2))
    return data[:first] if random.random() < 0.6 else data[:first] + data[second:]


def encoded(random: Random, data: bytes) -> bytes:
    """In another encoding, with other ends of lines, with a byte order mark or a zero byte."""
    text = data.decode("utf-8", "replace")
    ways: list[Callable[[], bytes]] = [
        lambda: b"\xef\xbb\xbf" + data,
        lambda: text.encode("utf-16"),
        lambda: text.encode("utf-32"),
        lambda: data.replace(b"\n", b"\r\n"),
        lambda: data.replace(b"\n", b"\r"),
        lambda: data.replace(b" ", "\u00a0".encode(), 3),
        lambda: b"\x00" + data,
        lambda: data + b"\xff\xfe\x00garbage",
    ]
    return random.choice(ways)()


def other_number(random: Random, data: bytes) -> bytes:
    """One number, or all equal ones, replaced."""
    return _replaced(random, data, NUMBER)


def scaled_number(random: Random, data: bytes) -> bytes:
    """One number times a factor, as of another unit or sign."""
    found = [match.span() for match in NUMBER.finditer(data[:200_000])]
    if not found:
        return mangled(random, data)
    start, end = random.choice(found)
    value = float(data[start:end]) * random.choice((-1.0, 0.0, 1e-3, 0.5, 1.001, 2.0, 3.0, 10.0, 27.2, 1e3, 1e6))
    whole = data[start:end].lstrip(b"+-").isdigit() and value == int(value)
    return data[:start] + (str(int(value)) if whole else repr(value)).encode() + data[end:]


def other_word(random: Random, data: bytes) -> bytes:
    """One word replaced by a token, or by another word of the data."""
    return _replaced(random, data, WORD)


def _replaced(random: Random, data: bytes, pattern: re.Pattern[bytes]) -> bytes:
    found = [match.span() for match in pattern.finditer(data[:200_000])]
    if not found:
        return mangled(random, data)
    start, end = random.choice(found)
    new = random.choice(TOKENS).encode()
    if random.random() < 0.2:
        other = random.choice(found)
        new = data[other[0] : other[1]]
    if random.random() < 0.1:
        return data.replace(data[start:end], new)
    return data[:start] + new + data[end:]


def other_lines(random: Random, data: bytes) -> bytes:
    """Two lines exchanged, or one removed, doubled, or emptied."""
    lines = data.split(b"\n")
    i, j = random.randrange(len(lines)), random.randrange(len(lines))
    pick = random.randrange(4)
    if pick == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif pick == 1:
        del lines[i]
    elif pick == 2:
        lines.insert(j, lines[i])
    else:
        lines[i] = b""
    return b"\n".join(lines)


def other_json(random: Random, data: bytes) -> bytes:
    """One to three parts changed, removed, doubled or added."""
    try:
        node = json.loads(data)
    except (ValueError, RecursionError):
        return mangled(random, data)
    for _ in range(random.choice((1, 1, 2, 3))):
        node = changed(random, node)
    return json.dumps(node).encode("utf-8", "surrogatepass")


def _other_array(random: Random, path: Path) -> str:
    """An array of another type or shape, with a number that is none, or with text in place of numbers."""
    try:
        loaded: Any = np.load(path)
        arrays = dict(loaded) if path.suffix == ".npz" else {"": loaded}
    except Exception:  # noqa: BLE001 - it is damaged already
        return "nothing"
    if not arrays:
        return "nothing"
    name = random.choice(sorted(arrays))
    array, way = _changed_array(random, np.array(arrays[name]))
    buffer = io.BytesIO()
    if path.suffix == ".npz":
        remaining = {key: value for key, value in arrays.items() if key != name}
        np.savez(buffer, **(remaining if random.random() < 0.1 else {**remaining, name: array}))
    else:
        np.save(buffer, array)
    path.write_bytes(buffer.getvalue())
    return f"{name} {way}"


def _changed_array(random: Random, array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], str]:
    pick = random.randrange(7)
    if pick < 3 and array.size and array.dtype.kind in "fiu":
        value = random.choice((np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0, -1.0, 255.0, 1e10))
        with np.errstate(invalid="ignore", over="ignore"):
            array.reshape(-1)[random.randrange(array.size)] = np.array(value).astype(array.dtype)
        return array, f"has {value}"
    if pick == 3:
        kind = random.choice(("float32", "int64", "complex128", "U8", "bool", "uint8", "float16", "datetime64[s]"))
        try:
            with np.errstate(all="ignore"):
                return array.astype(kind), kind
        except (TypeError, ValueError):
            return np.zeros(0, kind), kind
    if pick == 4:
        return array.reshape(-1), "flat"
    if pick == 5:
        return array[: random.randrange(len(array) + 1)] if array.ndim else array, "shorter"
    return array[..., None], "of one more dimension"
