"""The hashes of an image's layer, and whether it may be unpacked, in one pass and without unpacking it.

A layer comes from a stranger. Its bytes pass once, piece by piece: they are hashed both compressed and uncompressed,
counted against the image's budget, and the headers of the tar in them are read. A layer that would make an engine
write outside the image's own folder, or that takes more room than it states, never reaches an engine.

Engines detect the compression of a layer by its first bytes, and ignore its stated type. A tar may begin with the magic
number of bzip2; an engine then unpacks other files than those that were checked. So a layer with another magic number
than gzip's is refused, and engines get the judge's own gzip of the tar (`rewrite_layer`).
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from sandbox.events import plain
from sandbox.image.image_check import invalid
from sandbox.image.image_links import ImageLinks
from sandbox.image.tar_entries import (
    BLOCK_DEVICE,
    CHARACTER,
    DAMAGED,
    FOLDER,
    LINK,
    SYMBOLIC_LINK,
    ByteStream,
    TarBudget,
    TarEntry,
    tar_entries,
)
from sandbox.limits import GIB
from sandbox.verdict import SubmissionFault, Verdict

PIECE = 16 * 1024  # the rest of a piece is copied once for each gzip member in it, so pieces are short
UNPACKED_PIECE = 256 * 1024
MAX_MEMBERS = 1_000_000
MAX_RATIO, RATIO_FROM = 200, GIB
MAX_PATH, MAX_NAME = 4096, 255
# With a link there the engine would mount the sandbox's folder at another place, and might not start the container.
_MOUNTED = (b"lambench", b"tmp")
_WHITEOUTS_OF_FOLDERS = (b".wh.", b".wh..", b".wh...")

_GZIP = b"\x1f\x8b"
# The magic numbers that engines know, as in moby's go-archive and in containers/image. Frames of zstd may be skippable.
_COMPRESSIONS = {
    "gzip": re.compile(re.escape(_GZIP)),
    "bzip2": re.compile(rb"BZh"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
}
_MAGIC_BYTES = 6
# The devices that every container has: null, zero, full, random, urandom; tty, console, ptmx.
_PLAIN_DEVICES = frozenset({(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 1), (5, 2)})


class CheckedLayer(NamedTuple):
    """A layer that may be unpacked.

    Args:
        digest: `sha256:…` of the bytes as received.
        n_bytes: as received.
        diff_id: `sha256:…` of the tar in them.
    """

    digest: str
    n_bytes: int
    diff_id: str
    unpacked_bytes: int


@dataclass
class ImageBudget:
    """How much the layers of one image may have together.

    Args:
        max_bytes: unpacked.
        packed_bytes: as received, so far.
        links: of the layers that were read.
    """

    max_bytes: int
    packed_bytes: int = 0
    unpacked_bytes: int = 0
    members: int = 0
    tar: TarBudget = field(default_factory=TarBudget)
    links: ImageLinks = field(default_factory=ImageLinks)

    def count(self, packed_bytes: int, unpacked_bytes: int) -> None:
        """Counts bytes of a layer.

        Raises:
            SubmissionFault: the image is too large, or unpacks to too many times its size.
        """
        self.packed_bytes += packed_bytes
        self.unpacked_bytes += unpacked_bytes
        if self.unpacked_bytes > self.max_bytes:
            raise too_large(self.max_bytes)
        if self.unpacked_bytes > RATIO_FROM and self.unpacked_bytes > MAX_RATIO * self.packed_bytes:
            raise _refused(f"The image unpacks to more than {MAX_RATIO} times its size: leave the zeros out.")


@dataclass
class _Side:
    """The count and the hash of bytes, before or after decompression."""

    n_bytes: int = 0
    sha256: hashlib._Hash = field(default_factory=hashlib.sha256)

    def count(self, data: bytes) -> None:
        self.n_bytes += len(data)
        self.sha256.update(data)

    @property
    def digest(self) -> str:
        return f"sha256:{self.sha256.hexdigest()}"


def check_layer(
    chunks: Iterable[bytes], budget: ImageBudget, keep: Callable[[bytes], object] = lambda piece: None
) -> CheckedLayer:
    """The checked layer whose bytes, a tar or a gzipped tar, are `chunks`; all of them are read.

    Args:
        keep: called with each piece of the tar, also if the layer is refused later.

    Raises:
        SubmissionFault: IMAGE_INVALID: damaged, cut off, compressed in another way, or with bytes after its end.
            POLICY_VIOLATION: too large, a decompression bomb, a path out of the image, a device.
    """
    packed, tar = _Side(), _Side()
    start, pieces = _beginning(_short_pieces(chunks, packed))
    compression = _compression(start)
    if compression not in ("", "gzip"):
        raise invalid(f"A layer of the image is compressed with {compression}: push it with gzip.")
    start, unpacked = _beginning(_gunzipped(pieces, budget) if compression else pieces)
    if inner := _compression(start):
        raise invalid(f"A layer of the image begins like {inner} once it is unpacked: build it with `docker build`.")
    for entry in tar_entries(ByteStream(_counted(unpacked, packed, tar, budget, keep)), budget.tar):
        _check_entry(entry)
        _check_place(entry, budget.links)
    if not tar.n_bytes:
        raise invalid(DAMAGED % "it is empty")
    return CheckedLayer(packed.digest, packed.n_bytes, tar.digest, tar.n_bytes)


def too_large(max_bytes: int) -> SubmissionFault:
    """The fault of an image whose layers have more than `max_bytes`."""
    return _refused(f"The image has more than {max_bytes / GIB:.3g} GiB: make it smaller.")


def _refused(sentence: str) -> SubmissionFault:
    return SubmissionFault(Verdict.POLICY_VIOLATION, sentence)


def _beginning(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes of `pieces`, at least as many as a magic number has; and all pieces."""
    start = b""
    while len(start) < _MAGIC_BYTES and (piece := next(pieces, None)) is not None:
        start += piece
    return start, chain([start], pieces)


def _compression(start: bytes) -> str:
    """The compression that engines detect by the first bytes of a stream; empty for none."""
    return next((name for name, magic in _COMPRESSIONS.items() if magic.match(start)), "")


def _short_pieces(chunks: Iterable[bytes], packed: _Side) -> Iterator[bytes]:
    for chunk in chunks:
        packed.count(chunk)
        for start in range(0, len(chunk), PIECE):
            yield chunk[start : start + PIECE]


def _gunzipped(pieces: Iterable[bytes], budget: ImageBudget) -> Iterator[bytes]:
    """The content of one or more gzip members, in pieces of a bounded length."""
    member = None
    for piece in pieces:
        rest, full = piece, False
        while rest or full:
            if member is None:
                member = zlib.decompressobj(wbits=31)
                budget.members += 1
            try:
                data = member.decompress(rest, UNPACKED_PIECE)
            except zlib.error:
                raise invalid(DAMAGED % "its gzip stream cannot be read, or something follows its end") from None
            if budget.members > MAX_MEMBERS:
                raise invalid(f"The image's layers have more than {MAX_MEMBERS:,} gzip members: use fewer.")
            yield data
            rest, full = member.unconsumed_tail, len(data) == UNPACKED_PIECE  # then there may be more inside
            if member.eof:
                rest, full, member = member.unused_data, False, None
    if member is not None:
        raise invalid(DAMAGED % "it is cut off")


def _counted(
    pieces: Iterable[bytes], packed: _Side, tar: _Side, budget: ImageBudget, keep: Callable[[bytes], object]
) -> Iterator[bytes]:
    counted = 0
    for piece in pieces:
        tar.count(piece)
        budget.count(packed.n_bytes - counted, len(piece))
        counted = packed.n_bytes
        if tar.n_bytes > RATIO_FROM and tar.n_bytes > MAX_RATIO * packed.n_bytes:
            raise _refused(
                f"A layer of the image unpacks to more than {MAX_RATIO} times its size: leave the zeros out."
            )
        keep(piece)
        yield piece


def _check_entry(entry: TarEntry) -> None:
    _check_path(entry.name)
    parts = [part for part in entry.name.split(b"/") if part not in (b"", b".")]
    # Engines delete what an entry replaces and what a whiteout names. Neither may be the root or a folder above it.
    if (not parts and entry.kind != FOLDER) or (parts and parts[-1] in _WHITEOUTS_OF_FOLDERS):
        raise _refused(
            f"The image's layer names {_shown(entry.name)}, which is not a file of the image: "
            "build it from a Dockerfile."
        )
    if entry.kind == LINK:
        _check_path(entry.link)
    if entry.kind == SYMBOLIC_LINK and len(entry.link) > MAX_PATH:
        raise invalid(f"A link in the image is too long: {_shown(entry.name)}. Shorten it.")
    if entry.kind in (CHARACTER, BLOCK_DEVICE) and not _is_plain_device(entry):
        raise _refused(f"The image holds the device {_shown(entry.name)}: remove it.")


def _check_place(entry: TarEntry, links: ImageLinks) -> None:
    """Checks where the entry is once the links above it are followed, and keeps it if it is a link itself."""
    if entry.kind != FOLDER and entry.name.rstrip(b"/.").endswith(_MOUNTED):
        place = links.place_of(entry.name)
        if place in _MOUNTED:
            raise invalid(
                f"The image has a link or a file at /{place.decode()}, where the sandbox mounts a folder, by the name "
                f"{_shown(entry.name)}: make it a folder, or remove it."
            )
    if entry.kind == SYMBOLIC_LINK:
        links.add(entry.name, entry.link)
    elif entry.kind == LINK:
        links.add_hard_link(entry.name, entry.link)
    else:
        links.remove(entry.name)


def _is_plain_device(entry: TarEntry) -> bool:
    below_dev = entry.name.removeprefix(b"./").startswith(b"dev/")
    return entry.kind == CHARACTER and below_dev and (entry.major, entry.minor) in _PLAIN_DEVICES


def _check_path(path: bytes) -> None:
    if len(path) > MAX_PATH or any(len(part) > MAX_NAME for part in path.split(b"/")):
        raise invalid(f"A path in the image is too long: {_shown(path)}. Shorten it.")
    if b"\0" in path:
        raise invalid(DAMAGED % "a name holds a zero byte")
    if path.startswith(b"/") or b".." in path.split(b"/"):
        raise _refused(
            f"The image's layer names {_shown(path)}, which leads out of the image: build it from a Dockerfile."
        )


def _shown(path: bytes) -> str:
    return repr(plain(path.decode("utf-8", "backslashreplace"), 80))
