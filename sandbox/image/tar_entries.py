"""The entries of a tar, read from its headers alone, so that a hostile tar costs neither memory nor disk.

Engines read a tar with Go's archive/tar. If two readers differ on where an entry ends or what it is called, a header
can hide from one of them. So only the forms that image builders write are accepted. Refused are: headers older than
POSIX and of star, sparse files, headers of the whole archive, sizes of entries without data, names stated twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.image.image_check import invalid
from sandbox.verdict import SubmissionFault

BLOCK = 512
MAX_EXTENSION = 1024**2  # as in Go's reader
MAX_ENTRIES = 4_000_000
MAX_EXTENSIONS = 256 * 1024**2
DAMAGED = "A layer of the image is damaged (%s): push or save the image again."

_OCTAL = re.compile(rb"[ \0]*([0-7]*)[ \0]*")
_PAX_LENGTH = re.compile(rb"([0-9]{1,7}) ")
_PAX_TIME = re.compile(rb"-?[0-9]{1,12}(\.[0-9]{0,30})?")
_PAX_NUMBERS = (b"uid", b"gid", b"size")
_PAX_TIMES = (b"mtime", b"atime", b"ctime")
_PAX_TEXTS = (b"path", b"linkpath", b"uname", b"gname")
_XATTR = b"SCHILY.xattr."
_XATTRS = (b"user.", b"security.", b"system.")
MAX_XATTRS = 2048  # file systems keep one block of them, and report a full disk beyond it
_POSIX, _GNU = b"ustar\x0000", b"ustar  \0"
# The number fields of every header: mode, user, group, size, time; major and minor number of a device.
_NUMBERS = ((100, 108), (108, 116), (116, 124), (124, 136), (136, 148), (329, 337), (337, 345))
_MAX_ID = (1 << 32) - 2  # the next number means "nobody" to the kernel
_WITH_DATA, _WITHOUT_DATA = b"0\0", b"123456"
LINK, SYMBOLIC_LINK, CHARACTER, BLOCK_DEVICE, FOLDER = b"1", b"2", b"3", b"4", b"5"


class TarEntry(NamedTuple):
    """A file of the tar: its names as stored, and `kind`, the letter of its type."""

    name: bytes
    kind: bytes
    link: bytes
    major: int
    minor: int


@dataclass
class TarBudget:
    """How many headers the tars of one image may have together: each costs time.

    Args:
        entries: headers.
        extension_bytes: bytes of long names and PAX records.
    """

    entries: int = MAX_ENTRIES
    extension_bytes: int = MAX_EXTENSIONS

    def take(self, extension_bytes: int = 0, n_entries: int = 1) -> None:
        """Counts headers.

        Raises:
            SubmissionFault: the image has too many.
        """
        self.entries -= n_entries
        self.extension_bytes -= extension_bytes
        if self.entries < 0 or self.extension_bytes < 0:
            raise invalid(f"The image has more than {MAX_ENTRIES:,} files, or too long names: use fewer.")


@dataclass
class ByteStream:
    """A stream of bytes from pieces of any length."""

    pieces: Iterator[bytes]
    _piece: memoryview = field(default_factory=lambda: memoryview(b""))

    def some(self, n_bytes: int) -> memoryview:
        """At least one and at most `n_bytes`; none at the end."""
        while not self._piece:
            piece = next(self.pieces, None)
            if piece is None:
                return memoryview(b"")
            self._piece = memoryview(piece)
        some, self._piece = self._piece[:n_bytes], self._piece[n_bytes:]
        return some

    def take(self, n_bytes: int) -> bytes:
        """`n_bytes` bytes; fewer at the end."""
        taken = bytearray(self.some(n_bytes))
        while len(taken) < n_bytes and (some := self.some(n_bytes - len(taken))):
            taken += some
        return bytes(taken)

    def skip(self, n_bytes: int) -> None:
        """Skips `n_bytes` bytes.

        Raises:
            SubmissionFault: the stream has fewer.
        """
        while n_bytes:
            some = self.some(n_bytes)
            if not some:
                raise invalid(DAMAGED % "it is cut off")
            n_bytes -= len(some)


def tar_entries(stream: ByteStream, budget: TarBudget) -> Iterator[TarEntry]:
    """The entries of the tar, in order; the stream is read to its end.

    Raises:
        SubmissionFault: the stream is no tar, or a tar that engines do not read, or one with two readings.
    """
    extensions: dict[bytes, bytes] = {}  # PAX records and long names that precede an entry's own header
    while header := _next_header(stream):
        kind, size = header[156:157], _number(header[124:136])
        if kind in (b"L", b"K", b"x"):
            data = _extension(stream, size, budget)
            if extensions and (kind == b"x" or kind in extensions or b"x" in extensions):
                raise _odd("says twice what an entry is called")
            extensions[kind] = data if kind == b"x" else _c_string(data)
            continue
        budget.take()
        pax = _pax_records(extensions.get(b"x", b""))
        if kind not in _WITH_DATA + _WITHOUT_DATA or any(key.startswith(b"GNU.sparse") for key in pax):
            raise invalid("A layer of the image holds a sparse file, or one of an unknown kind: copy it plainly.")
        size = int(pax.get(b"size", b"%d" % size))
        entry = TarEntry(
            extensions.get(b"L") or pax.get(b"path") or _name(header),
            kind,
            extensions.get(b"K") or pax.get(b"linkpath") or header[157:257].partition(b"\0")[0],
            _number(header[329:337]) if kind in (CHARACTER, BLOCK_DEVICE) else 0,
            _number(header[337:345]) if kind in (CHARACTER, BLOCK_DEVICE) else 0,
        )
        if kind in _WITHOUT_DATA and size:
            raise _odd("gives data to what has none")
        if kind in _WITH_DATA and entry.name.endswith(b"/"):
            raise _odd("calls a file as folders are called")
        stream.skip(_padded(size))
        yield entry
        extensions = {}
    if extensions:
        raise invalid(DAMAGED % "it is cut off")


def _odd(what: str) -> SubmissionFault:
    """The fault of a tar with two readings."""
    return invalid(f"A layer of the image {what}, as no builder of images does: build it with `docker build`.")


def _next_header(stream: ByteStream) -> bytes:
    """The next header; empty at the end, after which only zeros may follow."""
    header = stream.take(BLOCK)
    if not header:
        return b""
    if len(header) < BLOCK:
        raise invalid(DAMAGED % "it is cut off")
    if not any(header):
        while rest := stream.some(1024**2):
            if any(rest):
                raise invalid(DAMAGED % "something follows its end")
        return b""
    blank = header[:148] + b" " * 8 + header[156:]
    stated = _octal(header[148:156])
    if stated not in (sum(blank), sum(byte - 256 if byte > 127 else byte for byte in blank)):
        raise invalid(DAMAGED % "it is no tar")
    # Older and other kinds of tar read these bytes as a part of the name, or as times.
    if not (
        (header[257:265] == _POSIX and not any(header[500:])) or (header[257:265] == _GNU and not any(header[345:]))
    ):
        raise _odd("is a tar of another kind")
    numbers = [_number(header[start:end]) for start, end in _NUMBERS]
    if max(numbers[1:3]) > _MAX_ID:
        raise _odd("has an invalid user or group number")
    return header


def _extension(stream: ByteStream, size: int, budget: TarBudget) -> bytes:
    if size > MAX_EXTENSION:
        raise invalid("A layer of the image holds a name of more than a megabyte: shorten it.")
    budget.take(size)
    data = stream.take(size)
    stream.skip(_padded(size) - len(data))
    return data


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _number(field_: bytes) -> int:
    """A number in a header: octal digits, or binary if the first bit is set."""
    if not field_[0] & 0x80:
        return _octal(field_)
    number = int.from_bytes(bytes([field_[0] & 0x7F]) + field_[1:])
    if field_[0] & 0x40 or number >= 1 << 63:
        raise invalid(DAMAGED % "a number is negative, or too large")
    return number


def _octal(field_: bytes) -> int:
    digits = _OCTAL.fullmatch(field_)
    if not digits:
        raise invalid(DAMAGED % "it is no tar")
    return int(digits[1] or b"0", 8)


def _name(header: bytes) -> bytes:
    name = header[:100].partition(b"\0")[0]
    prefix = header[345:500].partition(b"\0")[0]
    return prefix + b"/" + name if prefix else name


def _c_string(data: bytes) -> bytes:
    text, _, rest = data.partition(b"\0")
    if any(rest):
        raise invalid(DAMAGED % "a name holds a zero byte")
    if not text:
        raise _odd("has an empty name")
    return text


def _pax_records(data: bytes) -> dict[bytes, bytes]:
    """Records `LENGTH KEY=VALUE\\n`; the length includes its own digits."""
    records, at = {}, 0
    while at < len(data):
        length = _PAX_LENGTH.match(data, at)
        end = at + int(length[1]) if length else 0
        if not length or not length.end() < end <= len(data) or data[end - 1 : end] != b"\n":
            raise invalid(DAMAGED % "its PAX records cannot be read")
        key, equals, value = data[length.end() : end - 1].partition(b"=")
        if not key or not equals or b"\0" in key or key in records:
            raise invalid(DAMAGED % "its PAX records cannot be read")
        _check_record(key, value)
        records[key] = value
        at = end
    if sum(len(key) + len(value) for key, value in records.items() if key.startswith(_XATTR)) > MAX_XATTRS:
        raise invalid(f"A file of the image has more than {MAX_XATTRS} bytes of extended attributes: remove them.")
    return records


def _check_record(key: bytes, value: bytes) -> None:
    if key in _PAX_NUMBERS:
        limit = _MAX_ID if key != b"size" else (1 << 63) - 1
        if not re.fullmatch(rb"[0-9]{1,19}", value) or int(value) > limit:
            raise invalid(DAMAGED % "a size, user or group is no number")
    elif key in _PAX_TIMES and not _PAX_TIME.fullmatch(value):
        raise invalid(DAMAGED % "a time is no number")
    elif key in _PAX_TEXTS and (b"\0" in value or (not value and key in (b"path", b"linkpath"))):
        raise invalid(DAMAGED % "its PAX records cannot be read")
    # With overlay's own attributes a layer could show files of another place. No file accepts unknown kinds.
    elif key.startswith(_XATTR) and not key.startswith(tuple(_XATTR + kind for kind in _XATTRS)):
        raise _odd("has extended attributes of a kind that is the engine's")
