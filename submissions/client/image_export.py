"""The layers of an image as gzipped parts. At most one part is on the disk at a time.

The same layer gives the same parts, so that an interrupted upload can continue with the unfinished part.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from sandbox.image.image_check import invalid
from sandbox.verdict import FaultCause, JudgeFault
from submissions.client.image_archive import CHUNK, IteratorFile, LayerFile, archive_faults, open_archive

LEVEL = 6
_GZIP = 16 + zlib.MAX_WBITS  # zlib's own gzip header: no name, no time


class LayerPart(NamedTuple):
    """A part of a gzipped layer, in a file that is removed before the next part is made.

    Args:
        source_bytes: of the layer's file that it was made from.
    """

    path: Path
    n_bytes: int
    sha256: str
    source_bytes: int


def layer_parts(
    archive: Iterable[bytes], files: Collection[LayerFile], folder: Path, max_bytes: int
) -> Iterator[tuple[LayerFile, Iterator[LayerPart]]]:
    """Each layer of `files` in the order of the archive, with its parts. Use the parts before the next layer.

    Args:
        folder: for the file of the current part.
        max_bytes: of a part.

    Raises:
        SubmissionFault: IMAGE_INVALID: a layer is not what its diff ID says.
    """
    by_name = {file.name: file for file in files}
    with open_archive(archive) as tar:
        for member in tar:
            file = by_name.get(member.name)
            if file is not None and member.isreg():
                with cast(BinaryIO, tar.extractfile(member)) as source:
                    yield file, _parts(source, file, folder / "part", max_bytes)
                del by_name[file.name]
            if not by_name:
                return  # nothing else is needed


def _parts(source: BinaryIO, file: LayerFile, path: Path, max_bytes: int) -> Iterator[LayerPart]:
    counted = IteratorFile(iter(lambda: source.read(CHUNK), b""))
    layer = _uncompressed(counted, file)
    pieces = _gzipped(layer, file.diff_id)
    rest, before, ended = b"", 0, False
    try:
        while not ended:
            rest, n_bytes, sha256, ended = _write_part(path, rest, pieces, max_bytes)
            yield LayerPart(path, n_bytes, sha256, counted.n_bytes - before)
            before = counted.n_bytes
    finally:
        path.unlink(missing_ok=True)


def _write_part(path: Path, rest: bytes, pieces: Iterator[bytes], max_bytes: int) -> tuple[bytes, int, str, bool]:
    """Writes a part. The bytes left for the next one, length and sha256 of this one, and whether it is the last."""
    sha256, n_bytes = hashlib.sha256(), 0
    with _disk_faults(path), path.open("wb") as file:
        while True:
            piece, rest = rest[: max_bytes - n_bytes], rest[max_bytes - n_bytes :]
            file.write(piece)
            sha256.update(piece)
            n_bytes += len(piece)
            if not rest:
                rest = next(pieces, b"")
            if not rest or n_bytes == max_bytes:
                return rest, n_bytes, sha256.hexdigest(), not rest


@contextmanager
def _disk_faults(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "free some space, or set XDG_CACHE_HOME to a folder on a larger disk"
        raise JudgeFault(FaultCause.DISK, f"{path}: {error.strerror or error}: {remedy}") from error


def _gzipped(layer: BinaryIO, diff_id: str) -> Iterator[bytes]:
    """The gzipped layer, in pieces that are not empty."""
    packer, sha256 = zlib.compressobj(LEVEL, zlib.DEFLATED, _GZIP), hashlib.sha256()
    while True:
        with archive_faults():
            chunk = layer.read(CHUNK)
        if not chunk:
            break
        sha256.update(chunk)
        if piece := packer.compress(chunk):
            yield piece
    if f"sha256:{sha256.hexdigest()}" != diff_id:
        raise invalid(f"The engine saves other bytes than the layer {diff_id} has: pull or build it again.")
    yield packer.flush()


def _uncompressed(source: IteratorFile, file: LayerFile) -> BinaryIO:
    """The layer's tar, which some engines keep compressed."""
    buffered = io.BufferedReader(source, CHUNK)
    with archive_faults():
        start = buffered.peek(4)[:4]
    if start[:2] == b"\x1f\x8b":
        return cast(BinaryIO, gzip.GzipFile(fileobj=buffered))
    if start == b"\x28\xb5\x2f\xfd":
        raise invalid(
            f"The layer {file.diff_id} is compressed with zstd, which lambench-submit cannot read: build the image "
            "with gzip (--output type=image,compression=gzip), or push it and submit it by reference."
        )
    return cast(BinaryIO, buffered)
