"""Layers that are a tar to one reader, and to another a compressed tar with other files.

The header of the outer tar is where a decompressor skips bytes or copies them: in bzip2 among selectors that no block
uses, in xz in a chunk that is stored as it is, in zstd in a skippable frame. The compressed tar goes on in the content
of the outer tar's only file. All are deterministic.
"""

from __future__ import annotations

import bz2
import io
import lzma
import random
import struct
import tarfile
import zlib
from collections.abc import Callable, Mapping
from itertools import count

HIDDEN = "hidden"
_BLOCK, _NAME = 512, 100  # bytes of a header of tar, and of the name at its beginning
_CONTENT = random.Random(0).randbytes(3000)  # bzip2 uses its six code tables from 2400 symbols on


def bzip2_layer() -> bytes:
    """A tar that bzip2 unpacks to a tar with HIDDEN."""
    bits = _bits(bz2.compress(_tar(HIDDEN, _CONTENT)))
    number = _after_symbols(bits) + 3  # three bits: how many code tables there are
    first, n_selectors = number + 15, int(bits[number : number + 15], 2)
    end = first
    for _ in range(n_selectors):  # each selector is a row of ones and a zero
        end = bits.index("0", end) + 1
    end_of_stream = bits.rindex(f"{0x177245385090:048b}") + 48 + 32
    data = _bytes(bits[end:end_of_stream])
    data += _bz2_padding(_BLOCK + -len(data) % _BLOCK)
    # Every zero in the header ends one more selector. How many there are depends on the checksum of the header.
    for more in count():
        name = _bytes(bits[:number] + f"{n_selectors + more:015b}" + bits[first:end])
        header = _header(name, len(data))
        if _bits(header)[end:].count("0") == more:
            return header + data
    raise AssertionError


def xz_layer() -> bytes:
    """A tar that xz unpacks to a tar with HIDDEN, after a file that holds the outer header."""
    flags = b"\0\0"  # no checksum of the content
    block = struct.pack("<BBBBB3x", 2, 0, 0x21, 1, 16)  # 12 bytes; one filter: LZMA2, with a dictionary of 1 MiB
    start = b"\xfd7zXZ\0" + flags + _crc(flags) + block + _crc(block)
    for n_copied in count():  # bytes of the outer header that are the content of the inner tar's first file
        before = start + _lzma2(_header(b"copied", n_copied)) + struct.pack(">BH", 2, max(0, n_copied - 1))
        if len(before) + n_copied == _BLOCK:
            break
    inner = bytes(-n_copied % _BLOCK) + _tar(HIDDEN, _CONTENT)
    data = _lzma2(inner) + b"\0"
    n_packed = _BLOCK + len(data) - len(start)
    index = b"\0\1" + _varint(n_packed + 12) + _varint(_BLOCK + n_copied + len(inner))
    index += bytes(-len(index) % 4)
    end = struct.pack("<I", len(index) // 4) + flags
    data += bytes(-n_packed % 4) + index + _crc(index) + _crc(end) + end + b"YZ"
    data += bytes(-len(data) % _BLOCK)
    return _header(before, len(data)) + data


def zstd_layer() -> bytes:
    """A tar that zstd unpacks to a tar with HIDDEN; it begins with a skippable frame."""
    inner = _tar(HIDDEN, _CONTENT)
    data = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(inner))  # one segment, and its size in four bytes
    data += (len(inner) << 3 | 1).to_bytes(3, "little") + inner  # the last block, not compressed
    n_left = 8 + (-len(data) - 8) % _BLOCK
    data += _skippable(n_left) + bytes(n_left - 8)
    return _header(_skippable(_BLOCK), len(data)) + data


POLYGLOTS: Mapping[str, Callable[[], bytes]] = {"bzip2": bzip2_layer, "xz": xz_layer, "zstd": zstd_layer}


def honest_layer() -> bytes:
    """An ordinary tar."""
    return _tar("shown", _CONTENT)


def root_link_layer() -> bytes:
    """A tar with the link `root -> .`, and with the link `root/tmp`, which engines write to /tmp."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, target in (("root", "."), ("root/tmp", "/proc/1")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return buffer.getvalue()


def _header(name: bytes, size: int) -> bytes:
    info = tarfile.TarInfo(name.decode(errors="surrogateescape"))
    info.size = size
    return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "surrogateescape")


def _tar(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _bits(data: bytes) -> str:
    return f"{int.from_bytes(data):0{8 * len(data)}b}"


def _bytes(bits: str) -> bytes:
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8)


def _after_symbols(bits: str) -> int:
    """Where the map of used bytes ends: after "BZh9", the magic and the checksum of the block, a flag and a pointer."""
    start = 32 + 48 + 32 + 1 + 24
    return start + 16 + 16 * bits[start : start + 16].count("1")


def _bz2_padding(n_bytes: int) -> bytes:
    """Streams of bzip2 of `n_bytes` in all, with nothing or with the letter x."""
    empty, x = bz2.compress(b""), bz2.compress(b"x")
    n_x = next(n for n in count() if (n_bytes - n * len(x)) % len(empty) == 0)
    return x * n_x + empty * ((n_bytes - n_x * len(x)) // len(empty))


def _lzma2(data: bytes) -> bytes:
    """`data` in chunks of LZMA2, without the byte that ends them."""
    return lzma.compress(data, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}])[:-1]


def _crc(data: bytes) -> bytes:
    return struct.pack("<I", zlib.crc32(data))


def _varint(number: int) -> bytes:
    low, high = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(high) if high else bytes([low])


def _skippable(n_bytes: int) -> bytes:
    """The beginning of a skippable frame of `n_bytes` in all."""
    return struct.pack("<II", 0x184D2A50, n_bytes - 8)
