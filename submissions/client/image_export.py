"""The layers of an image as gzipped parts, one after the other: no more than one part lies on the disk at a time.

The same layer gives the same parts, so that an upload can go on with the part that was not finished.
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
from submissions.client.image_archive import CHUNK, LayerFile, Pulled, archive_faults, open_archive

LEVEL = 6
_GZIP = 16 + zlib.MAX_WBITS  # zlib's own gzip header: no name, no time


class Part(NamedTuple):
    """A part of a gzipped layer, in a file that is gone as soon as the next one is asked for.

    Args:
        source_bytes: of the layer's file that it was made from.
    """

    path: Path
    n_bytes: int
    sha256: str
    source_bytes: int


def layer_parts(
    archive: Iterable[bytes], wanted: Collection[LayerFile], folder: Path, max_bytes: int
) -> Iterator[tuple[LayerFile, Iterator[Part]]]:
    """Each wanted layer, in the order of the archive, with its parts, which are to be gone through before the next.

    Args:
        folder: where a part lies while it is at hand.
        max_bytes: of a part.

    Raises:
        SubmissionFault: IMAGE_INVALID: a layer is not what its diff ID says.
    """
    by_name = {file.name: file for file in wanted}
    with open_archive(archive) as tar:
        for member in tar:
            file = by_name.get(member.name)
            if file is not None and member.isreg():
                with cast(BinaryIO, tar.extractfile(member)) as source:
                    yield file, _parts(source, file, folder / "part", max_bytes)
                del by_name[file.name]
            if not by_name:
                return  # what follows is not wanted


def _parts(source: BinaryIO, file: LayerFile, path: Path, max_bytes: int) -> Iterator[Part]:
    counted = Pulled(iter(lambda: source.read(CHUNK), b""))
    layer = _uncompressed(counted, file)
    pieces = _gzipped(layer, file.diff_id)
    rest, before, ended = b"", 0, False
    try:
        while not ended:
            rest, n_bytes, sha256, ended = _write_part(path, rest, pieces, max_bytes)
            yield Part(path, n_bytes, sha256, counted.n_bytes - before)
            before = counted.n_bytes
    finally:
        path.unlink(missing_ok=True)


def _write_part(path: Path, rest: bytes, pieces: Iterator[bytes], max_bytes: int) -> tuple[bytes, int, str, bool]:
    """What is left for the next part; length and sha256 of the one written; whether it is the last."""
    seen, n_bytes = hashlib.sha256(), 0
    with _disk_faults(path), path.open("wb") as file:
        while True:
            piece, rest = rest[: max_bytes - n_bytes], rest[max_bytes - n_bytes :]
            file.write(piece)
            seen.update(piece)
            n_bytes += len(piece)
            if not rest:
                rest = next(pieces, b"")
            if not rest or n_bytes == max_bytes:
                return rest, n_bytes, seen.hexdigest(), not rest


@contextmanager
def _disk_faults(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "free some space, or set XDG_CACHE_HOME to where there is some"
        raise JudgeFault(FaultCause.DISK, f"{path}: {error.strerror or error}: {remedy}") from error


def _gzipped(layer: BinaryIO, diff_id: str) -> Iterator[bytes]:
    """The gzipped layer, in pieces none of which is empty."""
    packer, seen = zlib.compressobj(LEVEL, zlib.DEFLATED, _GZIP), hashlib.sha256()
    while True:
        with archive_faults():
            chunk = layer.read(CHUNK)
        if not chunk:
            break
        seen.update(chunk)
        if piece := packer.compress(chunk):
            yield piece
    if f"sha256:{seen.hexdigest()}" != diff_id:
        raise invalid(f"The engine saves other bytes than those of the layer {diff_id}: pull or build it again.")
    yield packer.flush()


def _uncompressed(source: Pulled, file: LayerFile) -> BinaryIO:
    """The layer's tar, which some engines keep compressed."""
    buffered = io.BufferedReader(source, CHUNK)
    with archive_faults():
        start = buffered.peek(4)[:4]
    if start[:2] == b"\x1f\x8b":
        return cast(BinaryIO, gzip.GzipFile(fileobj=buffered))
    if start == b"\x28\xb5\x2f\xfd":
        raise invalid(
            f"The layer {file.diff_id} is kept as zstd, which is not read here: build the image with gzip "
            "(--output type=image,compression=gzip), or push it and submit it by reference."
        )
    return cast(BinaryIO, buffered)
